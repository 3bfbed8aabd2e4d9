# SPDX-License-Identifier: Apache-2.0
"""All the sockets of a battery: where they come from, and what they have used that no log may show."""
import asyncio
import ipaddress
import os
import secrets
import socket
import ssl
import struct

from waiting import Failed, within
from websocket import End, HungUp, Line, Refused, request

# How long an answer may take on a machine that does much else.
PATIENCE = 30
# Connections and tunnels that one address makes; less than any of the relay's defaults for one source.
PER_SOURCE = 48


def proxy_header(source, version):
    """A PROXY header for a connection from `source`, of version 1 or 2."""
    address = ipaddress.ip_address(source)
    there = ipaddress.ip_address("192.0.2.1" if address.version == 4 else "2001:db8::1")
    port = 1024 + secrets.randbelow(60000)
    if version == 1:
        return f"PROXY TCP{address.version} {address} {there} {port} 443\r\n".encode()
    body = address.packed + there.packed + struct.pack("!HH", port, 443)
    family = 0x11 if address.version == 4 else 0x21
    return b"\r\n\r\n\0\r\nQUIT\n" + bytes((0x21, family)) + struct.pack("!H", len(body)) + body


class Load:
    """Opens connections and remembers them.

    The relay counts by source, and runs with its defaults; connections of its own machine it does not count. The load
    therefore comes by PROXY headers, as from a balancer, from so many addresses that none has more than it may.
    """

    def __init__(self):
        self._lines = set()
        self._handed_out = 0
        #: Everything below must not stand in a log.
        self.tunnel_ids, self.routing_ids, self.secrets, self.addresses = set(), set(), set(), set()

    def source(self):
        """An address for one more connection."""
        number, self._handed_out = self._handed_out // PER_SOURCE, self._handed_out + 1
        return self.named(ipaddress.IPv4Address("100.64.0.1") + number)

    def fresh_source(self):
        """An address that nobody else gets."""
        number = self._handed_out // PER_SOURCE + 1
        self._handed_out = (number + 1) * PER_SOURCE
        return self.named(ipaddress.IPv4Address("100.64.0.1") + number)

    def named(self, address):
        """An address that a header names, as text."""
        self.addresses.add(str(address))
        return str(address)

    def tunnel_id(self):
        tunnel = secrets.token_hex(16)
        self.tunnel_ids.add(tunnel)
        return tunnel

    def secret(self):
        """A bearer token."""
        token = secrets.token_urlsafe(32)
        self.secrets.add(token)
        return token

    # Connections

    async def connect(self, make, door, *, source=None, header=True, bind=None, first=b"", tls=True, narrow=False):
        """A connection to a door (a relay, or a balancer) that has sent `first`.

        Before anything else stands a PROXY header for `source`, or else for any address, if the door takes such headers
        and `header` does not say no. `bind` is the address on this machine. `tls=False` speaks no TLS although the door
        expects it. A `narrow` connection has small buffers and the segments of a real network: with those of the
        loopback interface the kernel would keep megabytes.
        """
        loop = asyncio.get_running_loop()
        raw = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            raw.setblocking(False)
            if narrow:
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 14)
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
                raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1400)
            if bind:
                raw.bind((bind, 0))
            await loop.sock_connect(raw, door.address)
            if door.is_proxied and header:
                await loop.sock_sendall(raw, proxy_header(source or self.source(), 1 + self._handed_out % 2))
            context = door.tls if tls else None
            _, line = await loop.create_connection(make, sock=raw, ssl=context,
                                                   server_hostname="localhost" if context else None)
        except ConnectionRefusedError:
            raw.close()
            raise Failed("nobody listens there") from None
        except OSError as error:
            raw.close()
            if isinstance(error, (ConnectionError, TimeoutError, ssl.SSLError)):
                raise HungUp() from None
            raise
        except BaseException:
            raw.close()
            raise
        self._lines.add(line)
        line.over.add_done_callback(lambda _: self._lines.discard(line))
        if first:
            line.write(first)
        return line

    async def line(self, door, **options):
        return await self.connect(Line, door, **options)

    async def ask(self, door, path, *, token=None, stalls=False, keeps=True, **options):
        """An end whose request was granted; Refused or HungUp if it was not."""
        end = await self.connect(lambda: End(stalls=stalls, keeps=keeps), door,
                                 first=request(path, token=token), **options)
        try:
            await within(PATIENCE, "an answer", end.answered)
        except BaseException:
            end.transport.abort()
            raise
        return end

    async def phone(self, door, tunnel=None, **options):
        """A phone that waits for its client: the end, the tunnel ID and the routing ID."""
        tunnel = tunnel or self.tunnel_id()
        end = await self.ask(door, f"/cable/new/{tunnel}", **options)
        routing = end.fields.get("x-cable-routing-id", "")
        if len(routing) != 6 or not set(routing.lower()) <= set("0123456789abcdef"):
            raise Failed(f"{routing!r} is no routing ID")
        self.routing_ids.add(routing.lower())
        return end, tunnel, routing

    async def client(self, door, tunnel, routing, **options):
        return await self.ask(door, f"/cable/connect/{routing}/{tunnel}", **options)

    async def status(self, door, path, **options):
        """What the relay answers to a request, as a number; 0 if it hangs up. A tunnel that it opens is left again."""
        try:
            end = await self.ask(door, path, **options)
        except Refused as refusal:
            return refusal.status
        except HungUp:
            return 0
        end.hang_up()
        return 101

    def drop_all(self):
        """Ends whatever is still open."""
        for line in list(self._lines):
            if not line.is_over:
                line.transport.abort()

    @property
    def open(self):
        return len(self._lines)


def raise_descriptor_limit(needed):
    """As many sockets as this process may have; says whether that is enough."""
    import resource
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < needed:
        return False
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed if most == resource.RLIM_INFINITY else most, most))
    return True


def without_settings():
    """Our environment without the relay's variables."""
    return {name: value for name, value in os.environ.items() if not name.startswith("HYBRID_")}
