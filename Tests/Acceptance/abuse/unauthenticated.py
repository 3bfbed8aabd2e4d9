# SPDX-License-Identifier: Apache-2.0
"""Unauthenticated peers that never open a tunnel, or open too many."""
import asyncio
import collections
import ipaddress
import random
import secrets
import time

from harness.async_waiting import at_once, require, until, within
from harness.websocket import HungUp, Refused, request
from load import PATIENCE, proxy_header
from tunnels import close_all, converse_all, none_ended, open_live, still_works

# Defaults of the relay.
HEAD_TIME = 5
SOURCE_OPEN, SOURCE_NEW = 64, 60
# An eighth of a source's connections is reserved for clients.
SOURCE_PHONES = SOURCE_OPEN * 7 // 8
# The relay checks its connections once a second and closes one check after its response; the rest is for the load.
LATE = 20
# Beginning of a TLS handshake.
HALF_HELLO = bytes.fromhex("160301020001000001fc0303")


async def half_requests(env):
    """Opens 1,000 slow and silent connections from many sources, while real tunnels go on."""
    load = env.load
    whole = request(f"/cable/new/{load.tunnel_id()}")
    header = proxy_header(load.named("203.0.113.7"), 2)
    # Description, number, door, bytes sent at once, bytes sent one per second, True if a 408 is expected.
    halves = (
        ("silent", 250, env.plain, {}, b"", True),
        ("a byte a second", 250, env.plain, {}, whole, True),
        ("no last line", 200, env.plain, {"first": whole[:-2]}, b"", True),
        ("half a PROXY header", 100, env.plain, {"first": header[:20], "header": False}, b"", False),
        ("half a TLS handshake", 100, env.tls, {"first": HALF_HELLO, "tls": False}, b"", False),
        ("a byte a second by TLS", 100, env.tls, {}, whole, True),
    )
    before = {relay.name: await relay.metrics() for relay in env.lasting}
    tunnels = [*await open_live(load, env.plain, 25), *await open_live(load, env.tls, 25)]

    async def one(half):
        what, _, door, options, drip, is_answered = half
        # The relay's timeout begins between these two points.
        start = time.monotonic()
        line = await load.line(door, **options)
        connected = time.monotonic()
        for byte in drip:
            line.write(bytes((byte,)))
            done, _ = await asyncio.wait({line.over}, timeout=1)
            if done:
                break
        await within(PATIENCE, f"the relay to close {what!r}", asyncio.shield(line.over))
        end = time.monotonic()
        seconds = end - start
        answer = bytes(line.heard[:13])
        if is_answered:
            require(answer == b"HTTP/1.1 408 ", f"expected 408 for {what!r}; found {answer!r}")
        require(seconds >= HEAD_TIME and end - connected <= HEAD_TIME + LATE,
                f"expected {what!r} to be closed within {HEAD_TIME + LATE} s; found {seconds:.1f} s")
        return seconds

    everybody = [half for half in halves for _ in range(half[1])]
    halves_done = asyncio.ensure_future(at_once(len(everybody), one, everybody))
    rounds, slowest = 0, 0
    try:
        while not halves_done.done():
            slowest = max(slowest, await converse_all(tunnels))
            rounds += 1
        seconds = await halves_done
    finally:
        halves_done.cancel()
    none_ended(tunnels, "meanwhile")
    await close_all(tunnels)
    proxies = await env.plain.value("hybrid_relay_connections_refused_total", reason="proxy") \
        - before["plain"]("hybrid_relay_connections_refused_total", reason="proxy")
    require(proxies == 100, f"expected 100 connections refused for their PROXY header; found {proxies}")
    return (f"{len(everybody)} closed after {min(seconds):.1f} to {max(seconds):.1f} s, "
            f"{sum(half[1] for half in halves if half[5])} of them with 408; 50 tunnels carried "
            f"{rounds * 50 * 6} messages meanwhile, the slowest in {slowest * 1e3:.0f} ms")


async def odd_requests(env):
    """Checks the status of requests that must be refused."""
    load = env.load
    tunnel = load.tunnel_id()
    good = request(f"/cable/new/{tunnel}")
    contact = secrets.token_urlsafe(16)
    load.secrets.add(contact)
    odd = (
        (request("/"), 404), (request(f"/cable/contact/{contact}"), 400), (request("/cable/new/abc"), 400),
        (request(f"/cable/connect/fade00/{tunnel}"), 404), (request(f"/cable/connect/fade/{tunnel}"), 400),
        (good.replace(b"GET", b"POST"), 405), (good.replace(b"Upgrade: websocket\r\n", b""), 426),
        (good.replace(b"fido.cable", b"chat"), 400), (good.replace(b"Version: 13", b"Version: 8"), 426),
        (good.replace(b"HTTP/1.1", b"HTTP/1.0"), 400), (good.replace(b"Host: localhost\r\n", b""), 400),
        (good[:-2] + b"X: " + b"x" * 9000 + b"\r\n\r\n", 431), (b"\0\r\n\r\n", 400),
    )

    async def one(case):
        door, sent, wanted, options = case
        line = await load.line(door, first=sent, **options)
        await within(PATIENCE, "a response to a malformed request", asyncio.shield(line.over))
        seen = bytes(line.heard.partition(b"\r\n")[0])
        require(seen.startswith(b"HTTP/1.1 %d " % wanted), f"expected {wanted} for {sent[:40]!r}; found {seen!r}")

    everything = [(door, *case, {}) for door in env.lasting for case in odd]
    # Only the balancer may send an address.
    header = proxy_header(load.named("203.0.113.8"), 1)
    everything += [(door, header + good, 400, {"header": False, "bind": "127.0.0.2"}) for door in (env.plain,)]
    await at_once(len(everything), one, everything)
    return f"{len(everything)} requests, each refused with the expected status"


class Flood:
    """Many authenticators from one source, which keep their tunnels."""

    def __init__(self, load, door, attempts):
        self._load, self._door, self._attempts = load, door, attempts
        self.held = []
        self.answers = collections.Counter()

    async def run(self, options):
        start = time.monotonic()

        async def one(_):
            try:
                end, tunnel, routing = await self._load.phone(self._door, **options())
            except Refused as refusal:
                self.answers[refusal.status] += 1
            except HungUp:
                self.answers["closed"] += 1
            else:
                self.answers[101] += 1
                self.held.append((end, tunnel, routing))

        await at_once(150, one, range(self._attempts))
        # Bucket of one minute's quota, and what is added meanwhile.
        allowed = min(SOURCE_PHONES, SOURCE_NEW + 1 + int(time.monotonic() - start))
        require(len(self.held) == allowed, f"expected {allowed} tunnels for one source; found {len(self.held)}")
        require(self.answers[429] and self.answers["closed"] and set(self.answers) <= {101, 429, "closed"},
                f"expected only 101, 429 and closed connections; found {dict(self.answers)}")

    async def let_go(self, options):
        """Closes all tunnels; the source must then be admitted again."""
        for end, _, _ in self.held:
            end.hang_up()

        async def is_let_in():
            return await self._load.status(self._door, f"/cable/new/{self._load.tunnel_id()}", **options()) == 101

        await until("the source to be admitted again", is_let_in, 20, pause=0.5)

    @property
    def summary(self):
        return f"{self.answers[101]} × 101, {self.answers[429]} × 429, {self.answers['closed']} closed"


async def _while_flooded(floods, others):
    """Runs floods, and repeats `others` meanwhile; returns the number of repetitions."""
    flooding = asyncio.ensure_future(asyncio.gather(*floods))
    rounds = 0
    try:
        while not flooding.done() or not rounds:
            await others()
            rounds += 1
        await flooding
    finally:
        flooding.cancel()
    return rounds


async def flood_by_tls(env):
    """Floods from one IPv4 address, over TLS; other sources are not affected."""
    load, door = env.load, env.tls
    source = load.fresh_source()
    before = await door.metrics()
    flood = Flood(load, door, 1_500)

    def options():
        return {"source": source}

    rounds = await _while_flooded([flood.run(options)], lambda: at_once(5, lambda _: still_works(load, door), range(5)))
    after = await door.metrics()
    closed = "hybrid_relay_connections_refused_total"
    for name, labels, wanted in (("hybrid_relay_refusals_total", [{"status": "429"}], flood.answers[429]),
                                 (closed, [{"reason": "source"}, {"reason": "rate"}], flood.answers["closed"])):
        seen = sum(after(name, **one) - before(name, **one) for one in labels)
        require(seen == wanted, f"expected {name} {labels} to rise by {wanted}; it rose by {seen}")
    # The held tunnels work like others.
    _, tunnel, routing = flood.held[0]
    (await load.client(door, tunnel, routing)).hang_up()
    await flood.let_go(options)
    return f"1,500 from one source: {flood.summary}; {rounds * 5} tunnels of others meanwhile, none affected"


async def flood_by_proxy(env):
    """The same without TLS, from an IPv4 address and an IPv6 /64, through the balancer of many sources."""
    load, door = env.load, env.plain
    v4 = load.fresh_source()
    network = ipaddress.ip_address("2001:db8::") + (random.randrange(1 << 32) << 64)

    def from_v4():
        return {"source": v4}

    def from_v6():
        return {"source": load.named(network + random.randrange(1 << 64))}

    sources = []

    async def others():
        """Returns a new source for each tunnel; every third is IPv6."""
        host = load.fresh_source() if len(sources) % 3 else \
            load.named(ipaddress.ip_address("2001:db8:ffff::") + (random.randrange(1 << 16) << 64) + 1)
        sources.append(host)
        options = {"source": host}
        phone, tunnel, routing = await load.phone(door, **options)
        client = await load.client(door, tunnel, routing, **options)
        phone.send(b"hello")
        require(await within(PATIENCE, "a message", client.receive()) == b"hello", "expected the message that was "
                                                                                   "sent; found another")
        phone.hang_up()
        client.hang_up()

    floods = [Flood(load, door, 400), Flood(load, door, 400)]
    await _while_flooded([floods[0].run(from_v4), floods[1].run(from_v6)], others)
    for _ in range(50):
        await others()
    for flood, options in zip(floods, (from_v4, from_v6)):
        await flood.let_go(options)
    return (f"400 from one IPv4 address: {floods[0].summary}; 400 from an IPv6 /64: {floods[1].summary}; "
            f"{len(sources)} tunnels of others, none affected")
