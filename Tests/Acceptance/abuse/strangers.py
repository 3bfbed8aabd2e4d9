# SPDX-License-Identifier: Apache-2.0
"""Those who never come to have a tunnel, or want too many of them."""
import asyncio
import collections
import ipaddress
import random
import secrets
import time

from load import PATIENCE, proxy_header
from tunnels import close_all, converse_all, none_ended, open_live, still_works
from waiting import at_once, require, until, within
from websocket import HungUp, Refused, request

# The relay's defaults.
HEAD_TIME = 5
SOURCE_OPEN, SOURCE_NEW = 64, 60
# The relay looks at its connections once a second, and hangs up one look after its answer; the rest is for the load.
LATE = 20
# The beginning of a TLS handshake.
HALF_HELLO = bytes.fromhex("160301020001000001fc0303")


async def half_requests(stage):
    """Slow and silent connections, 1,000 at once, from many sources; real tunnels go on."""
    load = stage.load
    whole = request(f"/cable/new/{load.tunnel_id()}")
    header = proxy_header(load.named("203.0.113.7"), 2)
    # What, how many, where, what is sent at once, what is sent a byte a second, whether a 408 can be seen.
    halves = (
        ("silent", 250, stage.plain, {}, b"", True),
        ("a byte a second", 250, stage.plain, {}, whole, True),
        ("no last line", 200, stage.plain, {"first": whole[:-2]}, b"", True),
        ("half a PROXY header", 100, stage.plain, {"first": header[:20], "header": False}, b"", False),
        ("half a TLS handshake", 100, stage.tls, {"first": HALF_HELLO, "tls": False}, b"", False),
        ("a byte a second by TLS", 100, stage.tls, {}, whole, True),
    )
    before = {relay.name: await relay.metrics() for relay in stage.lasting}
    tunnels = [*await open_live(load, stage.plain, 25), *await open_live(load, stage.tls, 25)]

    async def one(half):
        what, _, door, options, drip, is_answered = half
        # The relay's clock begins between these two.
        start = time.monotonic()
        line = await load.line(door, **options)
        connected = time.monotonic()
        for byte in drip:
            line.write(bytes((byte,)))
            done, _ = await asyncio.wait({line.over}, timeout=1)
            if done:
                break
        await within(PATIENCE, f"{what!r} to be hung up on", asyncio.shield(line.over))
        end = time.monotonic()
        seconds = end - start
        answer = bytes(line.heard[:13])
        if is_answered:
            require(answer == b"HTTP/1.1 408 ", f"{what!r} was answered {answer!r}, not 408")
        require(seconds >= HEAD_TIME and end - connected <= HEAD_TIME + LATE,
                f"{what!r} was hung up on after {seconds:.1f} s")
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
    proxies = await stage.plain.value("hybrid_relay_connections_refused_total", reason="proxy") \
        - before["plain"]("hybrid_relay_connections_refused_total", reason="proxy")
    require(proxies == 100, f"{proxies} connections were counted as refused for their PROXY header, not 100")
    return (f"{len(everybody)} hung up on after {min(seconds):.1f} to {max(seconds):.1f} s, "
            f"{sum(half[1] for half in halves if half[5])} of them with 408; 50 tunnels carried "
            f"{rounds * 50 * 6} messages meanwhile, the slowest took {slowest * 1e3:.0f} ms")


async def odd_requests(stage):
    """Requests that are refused, each with its status."""
    load = stage.load
    tunnel = load.tunnel_id()
    good = request(f"/cable/new/{tunnel}")
    contact = secrets.token_urlsafe(16)
    load.secrets.add(contact)
    odd = (
        (request("/"), 404), (request(f"/cable/contact/{contact}"), 404), (request("/cable/new/abc"), 400),
        (request(f"/cable/connect/fade00/{tunnel}"), 404), (request(f"/cable/connect/fade/{tunnel}"), 400),
        (good.replace(b"GET", b"POST"), 405), (good.replace(b"Upgrade: websocket\r\n", b""), 426),
        (good.replace(b"fido.cable", b"chat"), 400), (good.replace(b"Version: 13", b"Version: 8"), 426),
        (good.replace(b"HTTP/1.1", b"HTTP/1.0"), 400), (good.replace(b"Host: localhost\r\n", b""), 400),
        (good[:-2] + b"X: " + b"x" * 9000 + b"\r\n\r\n", 431), (b"\0\r\n\r\n", 400),
    )

    async def one(case):
        door, sent, wanted, options = case
        line = await load.line(door, first=sent, **options)
        await within(PATIENCE, "an answer to an odd request", asyncio.shield(line.over))
        seen = bytes(line.heard.partition(b"\r\n")[0])
        require(seen.startswith(b"HTTP/1.1 %d " % wanted), f"{sent[:40]!r} was answered {seen!r}, not {wanted}")

    everything = [(door, *case, {}) for door in stage.lasting for case in odd]
    # Whoever is not the balancer must not say who he is.
    header = proxy_header(load.named("203.0.113.8"), 1)
    everything += [(door, header + good, 400, {"header": False, "bind": "127.0.0.2"}) for door in (stage.plain,)]
    await at_once(len(everything), one, everything)
    return f"{len(everything)} requests, each refused with its status"


class Flood:
    """Many phones from one source, which keep what they get."""

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
                self.answers["hung up"] += 1
            else:
                self.answers[101] += 1
                self.held.append((end, tunnel, routing))

        await at_once(150, one, range(self._attempts))
        # A bucket of as many as a minute brings, and what flows back meanwhile.
        allowed = min(SOURCE_OPEN, SOURCE_NEW + 1 + int(time.monotonic() - start))
        require(len(self.held) <= allowed, f"one source has {len(self.held)} tunnels and may have {allowed}")
        require(len(self.held) >= SOURCE_NEW, f"one source got {len(self.held)} tunnels; {SOURCE_NEW} are its right")
        require(self.answers[429] and self.answers["hung up"] and set(self.answers) <= {101, 429, "hung up"},
                f"the flood was answered {dict(self.answers)}")

    async def let_go(self, options):
        """Leaves all tunnels; then the source is let in again."""
        for end, _, _ in self.held:
            end.hang_up()

        async def is_let_in():
            return await self._load.status(self._door, f"/cable/new/{self._load.tunnel_id()}", **options()) == 101

        await until("the source to be let in again", is_let_in, 20, pause=0.5)

    @property
    def told(self):
        return f"{self.answers[101]} × 101, {self.answers[429]} × 429, {self.answers['hung up']} hung up on"


async def _while_flooded(floods, others):
    """Runs floods, and `others` again and again meanwhile; returns how often that was."""
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


async def flood_by_tls(stage):
    """New tunnels from one IPv4 address, over TLS; others are not harmed."""
    load, door = stage.load, stage.tls
    source = load.fresh_source()
    before = await door.metrics()
    flood = Flood(load, door, 1_500)

    def options():
        return {"source": source}

    rounds = await _while_flooded([flood.run(options)], lambda: at_once(5, lambda _: still_works(load, door), range(5)))
    after = await door.metrics()
    for name, labels, wanted in (("hybrid_relay_refusals_total", {"status": "429"}, flood.answers[429]),
                                 ("hybrid_relay_connections_refused_total", {"reason": "source"},
                                  flood.answers["hung up"])):
        seen = after(name, **labels) - before(name, **labels)
        require(seen == wanted, f"{name} {labels} rose by {seen}, and {wanted} were seen")
    # What it holds are tunnels like others.
    _, tunnel, routing = flood.held[0]
    (await load.client(door, tunnel, routing)).hang_up()
    await flood.let_go(options)
    return f"1,500 from one source: {flood.told}; {rounds * 5} tunnels of others meanwhile, none harmed"


async def flood_by_proxy(stage):
    """The same without TLS, from an IPv4 address and an IPv6 /64, through the balancer of many others."""
    load, door = stage.load, stage.plain
    v4 = load.fresh_source()
    network = ipaddress.ip_address("2001:db8::") + (random.randrange(1 << 32) << 64)

    def from_v4():
        return {"source": v4}

    def from_v6():
        return {"source": load.named(network + random.randrange(1 << 64))}

    sources = []

    async def others():
        """A source of its own for each tunnel, every third with IPv6."""
        host = load.fresh_source() if len(sources) % 3 else \
            load.named(ipaddress.ip_address("2001:db8:ffff::") + (random.randrange(1 << 16) << 64) + 1)
        sources.append(host)
        options = {"source": host}
        phone, tunnel, routing = await load.phone(door, **options)
        client = await load.client(door, tunnel, routing, **options)
        phone.send(b"hello")
        require(await within(PATIENCE, "a message", client.receive()) == b"hello", "a message was changed")
        phone.hang_up()
        client.hang_up()

    floods = [Flood(load, door, 400), Flood(load, door, 400)]
    await _while_flooded([floods[0].run(from_v4), floods[1].run(from_v6)], others)
    for _ in range(50):
        await others()
    for flood, options in zip(floods, (from_v4, from_v6)):
        await flood.let_go(options)
    return (f"400 from one IPv4 address: {floods[0].told}; 400 from an IPv6 /64: {floods[1].told}; "
            f"{len(sources)} tunnels of others, none harmed")
