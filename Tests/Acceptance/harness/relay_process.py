# SPDX-License-Identifier: Apache-2.0
"""Relay processes: ports, metrics, memory, exit."""
import asyncio
import os
import re
import signal
import ssl
import subprocess
from pathlib import Path

from harness.async_waiting import Failed, require, standstill, until
from harness.programs import Program

# Gauges that are 0 when no tunnel and no connection is left.
GAUGES = ("hybrid_relay_tunnels_open", "hybrid_relay_tunnels_waiting", "hybrid_relay_connections_open",
          "hybrid_relay_buffered_bytes", "hybrid_relay_listeners", "hybrid_relay_contacts_held")
# The first byte of each routing ID is the node number; no decimal number in a log begins like that.
NODE = 0xFADE


class Metrics:
    """Content of /metrics."""

    def __init__(self, text):
        self.text = text
        self._values = {}
        for line in text.splitlines():
            if line and not line.startswith("#"):
                series, _, value = line.rpartition(" ")
                name, _, labels = series.partition("{")
                self._values[name, frozenset(re.findall(r'(\w+)="([^"]*)"', labels))] = float(value)

    def __call__(self, name, **labels):
        """Returns a value; 0 for a series that does not exist yet but whose metric does. Raises Failed if no series
        has that name.
        """
        series = name, frozenset(labels.items())
        if series not in self._values:
            require(any(known == name for known, _ in self._values), f"expected {name} in /metrics; found no series "
                                                                     "of that name")
            return 0
        return int(self._values[series])


class Certificates:
    """Certificates for localhost, each with its own key, and a TLS context that trusts all of them."""

    def __init__(self, folder, count):
        self.pairs = []
        self.trust = ssl.create_default_context()
        for number in range(count):
            pair = folder / f"certificate-{number}.pem", folder / f"key-{number}.pem"
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-out",
                 pair[0], "-keyout", pair[1], "-days", "2", "-subj", "/CN=localhost", "-addext",
                 "subjectAltName=DNS:localhost"], check=True, capture_output=True)
            self.trust.load_verify_locations(pair[0])
            self.pairs.append(pair)

    def encoded(self, number):
        """Returns a certificate as DER."""
        return ssl.PEM_cert_to_DER_cert(self.pairs[number][0].read_text())


def put(source, target):
    """Replaces a file atomically, as certificate renewal tools do."""
    fresh = target.with_name(target.name + ".new")
    fresh.write_bytes(source if isinstance(source, bytes) else source.read_bytes())
    os.replace(fresh, target)


def without_settings():
    """Returns this process's environment without the relay's variables."""
    return {name: value for name, value in os.environ.items() if not name.startswith("HYBRID_")}


class Process(Program):
    """A program whose state is awaited, with its memory, processor time and descriptors."""

    def __init__(self, name, argv, folder, *, environment=None, pass_fds=()):
        super().__init__(name, argv, log=folder / f"{name}.log", environment=environment or without_settings(),
                         pass_fds=pass_fds)

    def signal(self, number):
        os.kill(self.pid, number)

    async def ended(self, seconds):
        """Waits for the end; returns the exit status."""
        await until(f"{self.name} to end", lambda: self.status is not None, seconds, pause=0.01)
        return self.status

    def resident(self):
        """Resident memory in KiB."""
        match = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.pid}/status").read_text())
        require(match, f"expected {self.name} to run; it is gone")
        return int(match[1])

    async def settled(self):
        """Returns resident memory in KiB, once it has not changed for longer than the relay takes to return memory."""
        return await standstill(f"the memory of {self.name} to be stable", self.resident, looks=40, pause=0.1)

    def processor(self):
        """Processor time so far, in seconds."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Monitored(Process):
    """A program with an admin listener, on a port that the system chooses."""

    address = admin = None
    #: False if the admin listener is the only one.
    has_address = True

    async def listens(self):
        """Waits until the program listens, and reads its ports."""
        def look():
            if self.status is not None:
                raise Failed(f"{self.name} ended with status {self.status}:\n{self.said()}")
            for is_admin, port in re.findall(r"(admin )?listening on 127\.0\.0\.1:(\d+)", self.said()):
                if is_admin:
                    self.admin = "127.0.0.1", int(port)
                else:
                    self.address = "127.0.0.1", int(port)
            return self.admin and (self.address or not self.has_address)

        await until(f"{self.name} to listen", look, 30, pause=0.02)
        return self

    async def get(self, path):
        """Returns status and body of a page of the admin listener."""
        async with asyncio.timeout(30):
            reader, writer = await asyncio.open_connection(*self.admin)
            writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            answer = (await reader.read()).decode()
            writer.close()
        head, _, body = answer.partition("\r\n\r\n")
        require(head.startswith("HTTP/1.1 "), f"expected an HTTP response for {path} from the admin listener of "
                                              f"{self.name}; found none")
        return int(head.split()[1]), body

    async def metrics(self):
        status, text = await self.get("/metrics")
        require(status == 200, f"expected 200 from /metrics of {self.name}; found {status}")
        self.log.with_suffix(".metrics").write_text(text)
        return Metrics(text)

    async def value(self, name, **labels):
        return (await self.metrics())(name, **labels)


class Prober(Monitored):
    """`hybrid-relay check --every`."""

    has_address = False

    def __init__(self, name, program, folder, *options):
        super().__init__(name, [program, "check", "--every", "5", "--metrics", "127.0.0.1:0", *options], folder)


class Relay(Monitored):
    """`hybrid-relay serve` with an admin listener, on ports that the system chooses, or on those of another relay that
    has ended.
    """

    #: Loopback peers have no source.
    counts_peers = False

    def __init__(self, name, program, folder, *options, certificates=None, pair=0, before=(), proxied=False,
                 replaces=None):
        self.tls, self.is_proxied = certificates.trust if certificates else None, proxied
        self.certificate, self.key = folder / f"{name}-certificate.pem", folder / f"{name}-key.pem"
        if certificates:
            put(certificates.pairs[pair][0], self.certificate)
            put(certificates.pairs[pair][1], self.key)
            options = ("--tls-cert", self.certificate, "--tls-key", self.key, *options)
        else:
            options = ("--plaintext", *options)
        if proxied:
            options = ("--proxy-protocol-from", "127.0.0.1/32", *options)
        ports = (replaces.address[1], replaces.admin[1]) if replaces else (0, 0)
        # A settings file of this machine must have no effect.
        (folder / "nothing.env").touch()
        super().__init__(name, [*before, program, "serve", "--config", folder / "nothing.env", "--listen",
                                f"127.0.0.1:{ports[0]}", "--admin-listen", f"127.0.0.1:{ports[1]}", *options], folder)

    async def descriptors(self):
        """Number of open descriptors. Only root could count them from outside."""
        # One is the connection of this request.
        return int(await self.value("process_open_fds")) - 1

    async def shows(self, name, wanted, seconds=20, **labels):
        """Waits until a metric has a value."""
        seen = None

        async def look():
            nonlocal seen
            seen = await self.value(name, **labels)
            return seen == wanted

        try:
            await until(f"{name} to be {wanted}", look, seconds)
        except Failed as failure:
            raise Failed(f"{failure}; found {seen}") from None

    async def is_empty(self, seconds=20):
        """Waits until no tunnel and no connection is left."""
        left = {}

        async def look():
            nonlocal left
            metrics = await self.metrics()
            left = {name: metrics(name) for name in GAUGES if metrics(name) != 0}
            return not left

        try:
            await until("the gauges to be 0", look, seconds)
        except Failed:
            what = ", ".join(f"{name} {value}" for name, value in left.items())
            raise Failed(f"expected all gauges at 0 within {seconds} s after the last connection to {self.name}; "
                         f"found {what}") from None

    async def stop(self):
        """Ends it with SIGTERM; returns its exit status. A relay without tunnels ends at once."""
        if self.status is None:
            self.signal(signal.SIGTERM)
            try:
                await self.ended(60)
            finally:
                self.kill()
        return self.status
