# SPDX-License-Identifier: Apache-2.0
"""Attacks that use up memory, connections, tunnels or processor time, within the limits for each source."""
import asyncio
import collections
import hashlib
import ipaddress
import random
import secrets
import time

from harness.async_waiting import at_once, require, standstill, within
from harness.websocket import HungUp, Line, Refused, frame, request
from load import PATIENCE
from pressure import MIB, standstill_gauge
from tunnels import close_all, converse_all, join_all, open_live, open_waiting, still_works

# Each source has as many connections as the relay's --source-open permits: both ends of half as many tunnels.
SOURCES, PER_SOURCE = 24, 64
PARTIAL, WITHHELD = 60 << 10, 64
# Limit for the bytes of all connections; the most that one may hold when it is reached; and the permitted growth of
# memory beyond both, for the allocator. docs/operations.md has the first two.
BUFFERED, HELD, OVERHEAD = 16 * MIB, 32 << 10, 16 * MIB
# Default limits of a /64, their multiple for a /48, and the share of connections that phones may take.
SOURCE_OPEN, PER_SUBNET, NETWORK_FACTOR = 64, 60, 8
PHONES_OF_A_48 = SOURCE_OPEN * NETWORK_FACTOR * 7 // 8
# Duration of the flood of handshakes in seconds, and the handshakes that the default rate permits: 240 connections a
# minute, of which each wrong token costs 12, for a minute at once and for the duration; and those that are under way
# when the rate is reached.
HANDSHAKE_SECONDS, LOOPS = 5, 8
# Failures cost 12 until half of the rate of 240 is used up, then 1; the rate returns meanwhile.
HANDSHAKES = 120 // 12 + 120 + 240 * HANDSHAKE_SECONDS // 60 + 1 + LOOPS
# Most bytes that the relay reads after a refusal, and the kernel's buffers on both sides, which the relay does not see.
AFTER_REFUSAL, SOCKET_BUFFERS = 256 << 10, 768 << 10
# Connections of a small relay, phones that wait for real clients, and further connections that are never used.
CONNECTIONS, WAITING, SILENT = 400, 20, 600


async def partial_frames(env):
    """Sends all but the last bytes of a frame on every connection, then one byte at a time; at the same time over TLS,
    whose library holds more.
    """
    plain, tls = await asyncio.gather(_partial_frames(env), _partial_frames(env, certificates=env.certificates))
    return f"{plain}; over TLS: {tls}"


async def _partial_frames(env, **more):
    load = env.load
    async with env.own_relay("partial", "--max-buffered", str(BUFFERED), proxied=True, **more) as door:
        async def pair(number):
            phone, tunnel, routing = await load.phone(door, source=sources[number % SOURCES])
            return phone, await load.client(door, tunnel, routing, source=sources[number % SOURCES])

        sources = [load.fresh_source() for _ in range(SOURCES)]
        pairs = await at_once(100, pair, range(SOURCES * PER_SOURCE // 2))
        ends = [end for pair in pairs for end in pair]
        idle = await door.settled()
        highest = idle
        block = frame(secrets.token_bytes(PARTIAL))[:-WITHHELD]
        for end in ends:
            end.write(block)

        def unsent():
            nonlocal highest
            highest = max(highest, door.resident())
            return sum(end.unsent for end in ends if not end.is_over)

        await standstill("the frames to be accepted, or their connections closed", unsent, looks=40, pause=0.2)
        # The drip shows that the ends are there; it outlives several of the relay's checks.
        for _ in range(3):
            for end in ends:
                if not end.is_over:
                    end.write(b"\0")
            await standstill("the drip to be accepted", unsent, pause=0.1)
        held, buffered = await door.settled(), await standstill_gauge(door)
        closed = sum(end.is_over for end in ends)
        others = await open_live(load, door, 20)
        slowest = await converse_all(others)
        await close_all(others)
        growth, most = (highest - idle) << 10, BUFFERED + len(ends) * HELD + OVERHEAD
        figures = (f"{len(ends)} connections of {SOURCES} sources, each {PARTIAL >> 10} KiB of an incomplete frame: "
                   f"RSS {idle / 1024:.0f} -> {highest / 1024:.0f} -> {held / 1024:.0f} MiB with --max-buffered "
                   f"{BUFFERED // MIB}MiB, the gauge of buffered bytes at {buffered / MIB:.1f} MiB; {closed} closed; a "
                   f"message of others took {slowest * 1e3:.0f} ms at most")
        require(growth <= most, f"expected memory to grow by at most {most // MIB} MiB; it grew by "
                                f"{growth / MIB:.0f} MiB: {figures}")
        require(buffered <= BUFFERED, f"expected at most {BUFFERED // MIB} MiB to be buffered in the end: {figures}")
        require((held - idle) << 10 <= BUFFERED + OVERHEAD,
                f"expected at most {(BUFFERED + OVERHEAD) // MIB} MiB more than at first to be in use in the end: "
                f"{figures}")
        return figures


async def one_48(env):
    """Opens tunnels from the many /64s of one IPv6 /48, which must not use up the relay."""
    load = env.load
    async with env.own_relay("one-48", proxied=True) as door:
        network = int(ipaddress.ip_address("2001:db8::")) + (random.randrange(1 << 16) << 80)
        answers, held = collections.Counter(), []

        async def open_from(source):
            try:
                end, _, _ = await load.phone(door, source=source)
                held.append(end)
                answers["101"] += 1
            except Refused as refusal:
                answers[str(refusal.status)] += 1
            except HungUp:
                answers["closed"] += 1

        subnets = 0
        while subnets < 2 * NETWORK_FACTOR:
            source = load.named(ipaddress.ip_address(network + (subnets << 64) + 1))
            await at_once(PER_SUBNET, open_from, [source] * PER_SUBNET)
            subnets += 1
        seen = collections.Counter(await at_once(10, lambda source: load.status(
            door, f"/cable/new/{load.tunnel_id()}", source=source), [load.fresh_source() for _ in range(20)]))
        figures = (f"one /48 with {subnets} /64s opened {len(held)} tunnels "
                   f"({', '.join(f'{number} × {what}' for what, number in answers.items())}); phones of 20 other "
                   f"sources got {', '.join(f'{number} × {status}' for status, number in seen.items())}")
        require(len(held) <= PHONES_OF_A_48, f"expected at most {PHONES_OF_A_48} tunnels: {figures}")
        require(len(held) >= PHONES_OF_A_48 // 2, f"expected more tunnels than one /64 may open: {figures}")
        require(set(answers) <= {"101", "429", "closed"}, f"expected only 101, 429 and closed connections: {figures}")
        require(set(seen) == {101}, f"expected 101 for all others: {figures}")
        return figures


async def handshake_loop(env):
    """Repeats handshakes and requests with a wrong token from one source, as fast as the relay answers."""
    load = env.load
    token, wrong = load.secret(), load.secret()
    tokens = env.folder / "handshake-tokens"
    tokens.write_text(f"battery {hashlib.sha256(token.encode()).hexdigest()}\n")
    async with env.own_relay("handshakes", "--new-token-file", tokens, proxied=True,
                             certificates=env.certificates) as door:
        source, answers = load.fresh_source(), collections.Counter()
        start, processor = time.monotonic(), door.processor()

        async def loop(_):
            while time.monotonic() - start < HANDSHAKE_SECONDS:
                status = await load.status(door, f"/cable/new/{load.tunnel_id()}", source=source, token=wrong)
                answers[str(status or "closed")] += 1

        flood = asyncio.ensure_future(at_once(LOOPS, loop, range(LOOPS)))
        times = []
        try:
            while not flood.done():
                began = time.monotonic()
                phone, tunnel, routing = await load.phone(door, token=token)
                client = await load.client(door, tunnel, routing)
                phone.hang_up()
                client.hang_up()
                times.append(time.monotonic() - began)
            await flood
        finally:
            flood.cancel()
        elapsed = time.monotonic() - start
        handshakes = answers.total() - answers["closed"]
        rejected = await door.value("hybrid_relay_connections_refused_total", reason="rate")
        figures = (f"one source in {elapsed:.0f} s: "
                   f"{', '.join(f'{number} × {what}' for what, number in answers.items())}, {rejected} rejected before "
                   f"their handshake; relay at {(door.processor() - processor) / elapsed:.0%} of a core; {len(times)} "
                   f"tunnels of others meanwhile, the slowest open after {max(times) * 1e3:.0f} ms")
        require(handshakes <= HANDSHAKES, f"expected at most {HANDSHAKES} handshakes; found {handshakes}: {figures}")
        require(rejected > handshakes, f"expected most connections to be rejected before their handshake: {figures}")
        return figures


async def room_for_clients(env):
    """Fills a small relay with phones and silent connections; the clients of phones that waited before must join."""
    load = env.load
    async with env.own_relay("room", "--max-connections", str(CONNECTIONS), "--event-loops", "1",
                             "--head-timeout", "60", proxied=True) as door:
        waiting = await open_waiting(load, door, WAITING)
        answers = collections.Counter()

        async def flood(_):
            try:
                await load.phone(door)
                answers["101"] += 1
            except Refused as refusal:
                answers[str(refusal.status)] += 1
            except HungUp:
                answers["closed"] += 1

        await at_once(50, flood, range(CONNECTIONS))
        silent = await at_once(50, lambda _: load.line(door), range(SILENT))
        await standstill("the relay to close the oldest of the silent connections",
                         lambda: sum(line.is_over for line in silent))
        await join_all(load, waiting)
        await converse_all(waiting)
        displaced = await door.value("hybrid_relay_connections_refused_total", reason="displaced")
        kept = sum(not line.is_over for line in silent)
        figures = (f"{CONNECTIONS} connections: phones got "
                   f"{', '.join(f'{number} × {what}' for what, number in answers.items())}, {kept} of {SILENT} silent "
                   f"connections stayed and {displaced} were replaced; all {WAITING} clients joined")
        require(answers["101"] + WAITING <= CONNECTIONS * 7 // 8,
                f"expected an eighth to be left for clients: {figures}")
        require(set(answers) == {"101", "503"}, f"expected 101, then 503: {figures}")
        require(displaced >= SILENT - CONNECTIONS // 8, f"expected most silent connections to be replaced: {figures}")
        return figures


class Pourer(Line):
    """A connection that keeps sending after the relay has closed its direction."""

    def eof_received(self):
        return True


async def refused_head(env):
    """Sends 1 GiB after a request head that is refused."""
    load, door = env.load, env.plain
    await still_works(load, door)
    processor = door.processor()
    line = await load.connect(Pourer, door, narrow=True, first=request("/cable/new/abc")[:-2] + b"X: " + b"x" * 9000)
    block, sent, start = b"x" * (16 << 10), 0, time.monotonic()
    while sent < 1024 * MIB and not line.is_over:
        line.write(block)
        sent += len(block)
        await within(PATIENCE, "the relay to read, or to close the connection", line.drained())
    accepted = sent - line.unsent
    seconds = time.monotonic() - start
    answer = bytes(line.heard.partition(b"\r\n")[0]).decode("latin-1")
    figures = (f"{accepted / MIB:.1f} MiB accepted in {seconds:.1f} s after {answer!r}, relay at "
               f"{(door.processor() - processor) / seconds:.0%} of a core")
    require(answer.startswith("HTTP/1.1 431 "), f"expected 431: {figures}")
    most = AFTER_REFUSAL + SOCKET_BUFFERS
    require(accepted <= most, f"expected at most {most / MIB:.1f} MiB, buffers of the kernel included: {figures}")
    return figures
