# SPDX-License-Identifier: Apache-2.0
"""Sockets of all cases: their source addresses, and the values used, which no log may contain."""
import asyncio
import ipaddress
import secrets
import socket
import ssl
import struct

from harness.async_waiting import Failed, within
from harness.websocket import End, HungUp, Line, Refused, request

# Seconds for a response, on a machine that is busy.
PATIENCE = 30
# Connections and tunnels per address; below each of the relay's default limits per source.
PER_SOURCE = 48


def proxy_header(source, version):
    """Returns a PROXY header (version 1 or 2) for a connection from `source`."""
    address = ipaddress.ip_address(source)
    there = ipaddress.ip_address("192.0.2.1" if address.version == 4 else "2001:db8::1")
    port = 1024 + secrets.randbelow(60000)
    if version == 1:
        return f"PROXY TCP{address.version} {address} {there} {port} 443\r\n".encode()
    body = address.packed + there.packed + struct.pack("!HH", port, 443)
    family = 0x11 if address.version == 4 else 0x21
    return b"\r\n\r\n\0\r\nQUIT\n" + bytes((0x21, family)) + struct.pack("!H", len(body)) + body


class Load:
    """Opens and tracks connections.

    The relay runs with its default limits per source, and exempts connections from its own machine. The load therefore
    uses PROXY headers, like a balancer, with so many addresses that none reaches a limit. A balancer counts its own
    machine too, so connections to it come from as many loopback addresses.
    """

    def __init__(self):
        self._lines = set()
        self._handed_out = 0
        #: None of these values may occur in a log.
        self.tunnel_ids, self.routing_ids, self.secrets, self.addresses = set(), set(), set(), set()

    def source(self, first="100.64.0.1"):
        """Returns an address for one more connection."""
        number, self._handed_out = self._handed_out // PER_SOURCE, self._handed_out + 1
        return self.named(ipaddress.IPv4Address(first) + number)

    def local_source(self):
        """Returns a loopback address for one more connection to a door that counts the addresses of its peers."""
        return self.source("127.64.0.1")

    def fresh_source(self):
        """Returns an address that no other connection uses."""
        number = self._handed_out // PER_SOURCE + 1
        self._handed_out = (number + 1) * PER_SOURCE
        return self.named(ipaddress.IPv4Address("100.64.0.1") + number)

    def named(self, address):
        """Registers an address that a header contains; returns it as text."""
        self.addresses.add(str(address))
        return str(address)

    def tunnel_id(self):
        tunnel = secrets.token_hex(16)
        self.tunnel_ids.add(tunnel)
        return tunnel

    def secret(self):
        """Returns a new bearer token."""
        token = secrets.token_urlsafe(32)
        self.secrets.add(token)
        return token

    # Connections

    async def connect(self, make, door, *, source=None, header=True, bind=None, first=b"", tls=True, narrow=False):
        """Opens a connection to a door (a relay, or a balancer) and sends `first`.

        If the door expects PROXY headers and `header` is true, sends one first, for `source` or for any address.
        `bind` is the local address; if the door counts its peers' addresses, the default is one of many loopback
        addresses. `tls=False` uses no TLS although the door expects it. A `narrow` connection has small buffers and
        the segment size of a real network, because the kernel would buffer megabytes on the loopback interface.
        """
        loop = asyncio.get_running_loop()
        raw = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            raw.setblocking(False)
            if narrow:
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 14)
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
                raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1400)
            if bind or door.counts_peers:
                raw.bind((bind or self.local_source(), 0))
            await loop.sock_connect(raw, door.address)
            if door.is_proxied and header:
                await loop.sock_sendall(raw, proxy_header(source or self.source(), 1 + self._handed_out % 2))
            context = door.tls if tls else None
            _, line = await loop.create_connection(make, sock=raw, ssl=context,
                                                   server_hostname="localhost" if context else None)
        except ConnectionRefusedError:
            raw.close()
            raise Failed("the connection was refused; expected a listener") from None
        except OSError as error:
            raw.close()
            if isinstance(error, (ConnectionError, TimeoutError, ssl.SSLError)):
                raise HungUp(f"before the request: {error!r}") from None
            raise
        except BaseException:
            raw.close()
            raise
        self._lines.add(line)
        line.over.add_done_callback(lambda _: self._lines.discard(line))
        if first:
            line.write(first)
        return line

    def opener(self, door, **options):
        """Returns a function of a protocol factory and of the first bytes to send, as harness.contact needs it."""
        async def connect(make, first):
            return await self.connect(make, door, first=first, **options)

        return connect

    async def line(self, door, **options):
        return await self.connect(Line, door, **options)

    async def ask(self, door, path, *, token=None, stalls=False, keeps=True, **options):
        """Returns an end whose request was granted; raises Refused or HungUp otherwise."""
        end = await self.connect(lambda: End(stalls=stalls, keeps=keeps), door,
                                 first=request(path, token=token), **options)
        try:
            await within(PATIENCE, "a response", end.answered)
        except BaseException:
            end.transport.abort()
            raise
        return end

    async def phone(self, door, tunnel=None, **options):
        """Opens the tunnel of an authenticator that waits for its client; returns the end, the tunnel ID and the
        routing ID.
        """
        tunnel = tunnel or self.tunnel_id()
        end = await self.ask(door, f"/cable/new/{tunnel}", **options)
        routing = end.fields.get("x-cable-routing-id", "")
        if len(routing) != 6 or not set(routing.lower()) <= set("0123456789abcdef"):
            raise Failed(f"expected a routing ID and found {routing!r}")
        self.routing_ids.add(routing.lower())
        return end, tunnel, routing

    async def client(self, door, tunnel, routing, **options):
        return await self.ask(door, f"/cable/connect/{routing}/{tunnel}", **options)

    async def status(self, door, path, **options):
        """Returns the status of the relay's response; 0 if the relay closes. Closes the tunnel again if one was
        opened.
        """
        try:
            end = await self.ask(door, path, **options)
        except Refused as refusal:
            return refusal.status
        except HungUp:
            return 0
        end.hang_up()
        return 101

    def drop_all(self):
        """Closes all open connections."""
        for line in list(self._lines):
            if not line.is_over:
                line.transport.abort()

    @property
    def open(self):
        return len(self._lines)


def raise_descriptor_limit(needed):
    """Raises the descriptor limit as far as possible; returns True if it suffices."""
    import resource
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < needed:
        return False
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed if most == resource.RLIM_INFINITY else most, most))
    return True
