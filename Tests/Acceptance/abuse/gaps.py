# SPDX-License-Identifier: Apache-2.0
"""Attacks that the relay does not bound yet; they fail, and are no part of the default set.

Once the relay bounds one, its case moves to the default set and loses the prefix `gap-`.
"""
import asyncio
import collections
import hashlib
import ipaddress
import random
import secrets
import time

from harness.async_waiting import at_once, require, standstill, within
from load import PATIENCE
from pressure import MIB, standstill_gauge
from tunnels import close_all, converse_all, open_live, still_works
from websocket import HungUp, Line, Refused, frame, request

# Each source has as many connections as the relay's --source-open permits: both ends of half as many tunnels.
SOURCES, PER_SOURCE = 24, 64
# Number of such sources that use up --max-connections (21,000).
SOURCES_OF_A_FULL_RELAY = 315
PARTIAL, WITHHELD = 60 << 10, 64
# Limit for the bytes of all tunnels, and the permitted growth of memory beyond it, for the allocator.
BUFFERED, OVERHEAD = 16 * MIB, 16 * MIB
# Default of --max-tunnels, and the phones of one /64, which --source-new-per-minute permits at once.
TUNNELS, PER_SUBNET = 10_000, 60
# Users behind one address need 120 connections a minute for 60 sign-ins; five times as many are tolerated in a flood of
# HANDSHAKE_SECONDS.
HANDSHAKES, HANDSHAKE_SECONDS = 600, 10
# Most bytes that the relay and the kernel may accept after a refused head: two socket buffers and some reads.
AFTER_REFUSAL = 1 * MIB


async def partial_frames(env):
    """Sends all but the last bytes of a frame on every connection, then one byte at a time."""
    return await _partial_frames(env)


async def partial_frames_tls(env):
    """The same over TLS, whose library holds more."""
    return await _partial_frames(env, certificates=env.certificates)


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
        block = frame(secrets.token_bytes(PARTIAL))[:-WITHHELD]
        for end in ends:
            end.write(block)
        await standstill("the frames to be accepted", lambda: sum(end.unsent for end in ends), looks=16)
        # The drip shows that the ends are there; it outlives several of the relay's checks.
        for _ in range(3):
            for end in ends:
                end.write(b"\0")
            await standstill("the drip to be accepted", lambda: sum(end.unsent for end in ends), pause=0.1)
        held, buffered = await door.settled(), await standstill_gauge(door)
        others = await open_live(load, door, 20)
        slowest = await converse_all(others)
        await close_all(others)
        growth = (held - idle) << 10
        figures = (f"{len(ends)} connections of {SOURCES} sources, each {PARTIAL >> 10} KiB of an incomplete frame: "
                   f"RSS {idle / 1024:.0f} -> {held / 1024:.0f} MiB with --max-buffered {BUFFERED // MIB}MiB, the "
                   f"gauge of buffered bytes at {buffered / MIB:.1f} MiB; {growth / len(ends) / 1024:.0f} KiB each, so "
                   f"{SOURCES_OF_A_FULL_RELAY} sources would hold "
                   f"{growth / SOURCES * SOURCES_OF_A_FULL_RELAY / MIB:,.0f} MiB; a message of others took "
                   f"{slowest * 1e3:.0f} ms at most")
        require(growth <= BUFFERED + OVERHEAD,
                f"expected memory to grow by at most {(BUFFERED + OVERHEAD) // MIB} MiB; it grew by "
                f"{growth / MIB:.0f} MiB: {figures}")
        return figures


async def one_48(env):
    """Opens tunnels from the many /64s of one IPv6 /48; others must still be served."""
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
        while len(held) < TUNNELS and not answers.total() - len(held):
            source = load.named(ipaddress.ip_address(network + (subnets << 64) + 1))
            await at_once(PER_SUBNET, open_from, [source] * min(PER_SUBNET, TUNNELS - len(held)))
            subnets += 1
        seen = collections.Counter(await at_once(10, lambda source: load.status(
            door, f"/cable/new/{load.tunnel_id()}", source=source), [load.fresh_source() for _ in range(20)]))
        figures = (f"one /48 with {subnets} /64s opened {len(held)} of {TUNNELS} tunnels "
                   f"({', '.join(f'{number} × {what}' for what, number in answers.items())}); phones of 20 other "
                   f"sources got {', '.join(f'{number} × {status}' for status, number in seen.items())}")
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

        flood = asyncio.ensure_future(at_once(8, loop, range(8)))
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
        figures = (f"one source in {elapsed:.0f} s: "
                   f"{', '.join(f'{number} × {what}' for what, number in answers.items())}; relay at "
                   f"{(door.processor() - processor) / elapsed:.0%} of a core; {len(times)} tunnels of others "
                   f"meanwhile, the slowest open after {max(times) * 1e3:.0f} ms")
        require(handshakes <= HANDSHAKES, f"expected at most {HANDSHAKES} handshakes; found {handshakes}: {figures}")
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
    line = await load.connect(Pourer, door, first=request("/cable/new/abc")[:-2] + b"X: " + b"x" * 9000)
    block, sent, start = b"x" * MIB, 0, time.monotonic()
    while sent < 1024 * MIB and not line.is_over:
        line.write(block)
        sent += MIB
        await within(PATIENCE, "the relay to read, or to close the connection", line.drained())
    accepted = sent - line.unsent
    seconds = time.monotonic() - start
    answer = bytes(line.heard.partition(b"\r\n")[0]).decode("latin-1")
    figures = (f"{accepted / MIB:.1f} MiB accepted in {seconds:.1f} s after {answer!r}, relay at "
               f"{(door.processor() - processor) / seconds:.0%} of a core")
    require(answer.startswith("HTTP/1.1 431 "), f"expected 431: {figures}")
    require(accepted <= AFTER_REFUSAL, f"expected at most {AFTER_REFUSAL / MIB:.0f} MiB: {figures}")
    return figures
