# SPDX-License-Identifier: Apache-2.0
"""More load than an end, or the relay, can process."""
import asyncio
import random
import secrets
import time

from harness.async_waiting import at_once, require, standstill, until, within
from harness.websocket import PING, frame
from load import PATIENCE
from tunnels import close_all, converse_all, join_all, none_ended, open_live, open_waiting

MIB = 1 << 20
# Bytes that each flooding authenticator sends; more than windows and sockets can buffer.
FLOOD = 4 * MIB
PAIRS = 200
# Limit in MiB for 200 stalled tunnels: a window of 128 KiB each plus one socket read; and the permitted growth of
# memory for that, including the allocator's overhead.
STALLED_BUFFERED, STALLED_MEMORY = 75, 160
# The same with --max-buffered 4MiB: only one read per tunnel is added.
CAPPED_BUFFERED = 4 + PAIRS * 80 / 1024
PONGS_A_SECOND = 10


def _blocks():
    """Messages of several sizes and their frames; the largest are forwarded in parts."""
    messages = [secrets.token_bytes(size) for size in (100, 4_000, 30_000, 65_535, 65_536, 65_537, 200_000, 300_000)]
    return messages, [frame(message) for message in messages]


async def _pour(end, blocks):
    """Sends the flood as fast as the socket accepts it, in an order of its own."""
    messages, frames = blocks
    chance = random.Random(secrets.randbits(64))
    while end.sent_bytes < FLOOD and not end.is_over:
        number = chance.randrange(len(messages))
        end.write(frames[number])
        end.note_sent(messages[number])
        await end.drained()


async def stalled_readers(env):
    """Floods a relay without a client, then a client that does not read; nothing is lost."""
    return await _stall(env.load, env.plain, STALLED_BUFFERED)


async def stalled_in_all(env):
    """The same with a limit for all tunnels that is below the sum of their windows."""
    async with env.own_relay("budget", "--max-buffered", str(4 * MIB), proxied=True) as relay:
        figures = await _stall(env.load, relay, CAPPED_BUFFERED)
        await relay.is_empty()
    return f"at most 4 MiB in all: {figures}"


async def _stall(load, door, limit):
    blocks = _blocks()
    before = door.resident() / 1024
    tunnels = await open_waiting(load, door, PAIRS, narrow=True)
    pouring = [asyncio.ensure_future(_pour(tunnel.phone, blocks)) for tunnel in tunnels]

    def taken():
        return sum(tunnel.phone.sent_bytes - tunnel.phone.unsent for tunnel in tunnels)

    async def look():
        """Waits until no more bytes move; returns buffered and resident MiB."""
        await standstill("the flood to stall", taken, looks=16)
        done = sum(task.done() for task in pouring)
        # The kernel decides how much it buffers for a socket; it may accept everything from some authenticators.
        require(done <= PAIRS // 2, f"{done} authenticators could send everything although no client reads; expected "
                                    "at most half of them")
        # The gauge is updated once a second.
        buffered = await standstill_gauge(door)
        return buffered / MIB, door.resident() / 1024

    try:
        waiting = await look()
        await at_once(PAIRS, lambda tunnel: tunnel.join(load, stalls=True, keeps=False, narrow=True), tunnels)
        stalled = await look()
        # Other tunnels are not affected.
        others = await open_live(load, door, 20)
        slowest = await converse_all(others)
        await close_all(others)
        for tunnel in tunnels:
            tunnel.client.read_on()
        await within(300, "the flood to end", asyncio.gather(*pouring))
    finally:
        for task in pouring:
            task.cancel()
    await until("all clients to receive everything", lambda: all(
        tunnel.client.received_bytes >= tunnel.phone.sent_bytes or tunnel.client.is_over for tunnel in tunnels), 300)
    total = sum(tunnel.client.received_bytes for tunnel in tunnels)
    for tunnel in tunnels:
        tunnel.compare()
        tunnel.client.keeps = True
    await converse_all(tunnels)
    await close_all(tunnels)
    buffered, highest = max(waiting[0], stalled[0]), max(waiting[1], stalled[1])
    require(buffered <= limit, f"expected at most {limit:.1f} MiB buffered for {PAIRS} stalled tunnels; found "
                               f"{buffered:.1f} MiB")
    require(highest - before <= STALLED_MEMORY,
            f"expected the relay's memory to grow by at most {STALLED_MEMORY} MiB; it grew from {before:.0f} to "
            f"{highest:.0f} MiB")
    return (f"{PAIRS} pairs: buffered {waiting[0]:.1f} MiB before the clients connected, {stalled[0]:.1f} MiB with "
            "them; "
            f"RSS {before:.0f} -> {waiting[1]:.0f} -> {stalled[1]:.0f} MiB; a message in another tunnel meanwhile took "
            f"{slowest * 1e3:.0f} ms at most; then {total / MIB:.0f} MiB read, nothing lost")


async def standstill_gauge(door):
    """Returns the gauge of buffered bytes, once it has not changed for longer than its update interval."""
    seen = []

    async def look():
        seen.append(await door.value("hybrid_relay_buffered_bytes"))
        return len(seen) > 15 and len(set(seen[-15:])) == 1

    await until("the gauge of buffered bytes to be stable", look, 30, pause=0.1)
    return seen[-1]


async def ping_flood(env):
    """Sends pings from both ends of ten tunnels as fast as possible for three seconds, while messages are
    exchanged.
    """
    load, door = env.load, env.plain
    tunnels = await open_live(load, door, 10)
    # Many small writes: even a relay that answers only the last ping of each read would answer hundreds.
    batch = b"".join(frame(secrets.token_bytes(4), PING) for _ in range(25))
    start, processor = time.monotonic(), door.processor()
    seconds, sent = 3, 0

    async def flood(end):
        nonlocal sent
        pings = 0
        while time.monotonic() - start < seconds:
            end.write(batch)
            pings += 25
            await end.drained()
            await asyncio.sleep(0.002)
        sent += pings
        last = secrets.token_bytes(8)
        end.write(frame(last, PING))
        await until("the pong for the last ping", lambda: end.last_pong == last or end.is_over, PATIENCE)
        elapsed = time.monotonic() - start
        require(end.last_pong == last, f"expected the tunnel to stay open; found {end.ending}")
        # The limit for each second that has begun, plus one second, since the relay's seconds begin at other times.
        allowed = PONGS_A_SECOND * (int(elapsed) + 2)
        require(end.pongs <= allowed, f"expected at most {allowed} pongs in {elapsed:.1f} s; found {end.pongs}")
        return end.pongs

    async def talk(tunnel):
        slowest = 0
        while time.monotonic() - start < seconds:
            slowest = max(slowest, await tunnel.converse((81, 900)))
            await asyncio.sleep(0.1)
        return slowest

    ends = [end for tunnel in tunnels for end in tunnel.ends]
    pongs, slowest = await asyncio.gather(at_once(len(ends), flood, ends), at_once(10, talk, tunnels))
    elapsed = time.monotonic() - start
    none_ended(tunnels, "by pings")
    await converse_all(tunnels)
    await close_all(tunnels)
    used = (door.processor() - processor) / elapsed
    counted = await _pings_are_counted(load, door)
    return (f"{sent} pings of {len(ends)} ends in {elapsed:.1f} s, {min(pongs)} to {max(pongs)} pongs per end, relay "
            "at "
            f"{used:.0%} of a core; messages meanwhile took {max(slowest) * 1e3:.0f} ms at most; {counted}")


async def _pings_are_counted(load, door):
    """Checks that pings use up the volume of a tunnel: 16 bytes each, of 16 MiB, then close code 1008."""
    tunnel, = await open_live(load, door, 1)
    before = await door.value("hybrid_relay_tunnel_ends_total", reason="exhausted")
    batch = frame(b"", PING) * 8192
    sent = 0
    while not tunnel.phone.is_over and sent < 2 * MIB:
        tunnel.phone.write(batch)
        sent += 8192
        await tunnel.phone.drained()
    codes = [await within(PATIENCE, "a close frame", end.close_code()) for end in tunnel.ends]
    # The flooding end may lose the relay's close frame, because its own bytes are no longer read.
    require(codes[1] == 1008, f"expected close code 1008 at the other end; found {tunnel.client.ending}")
    require(sent > MIB - 8192, f"expected {MIB} pings before the limit; the tunnel ended after {sent}")
    await door.shows("hybrid_relay_tunnel_ends_total", before + 1, reason="exhausted")
    return f"a tunnel with only pings ended with 1008 after {MIB} of them"


async def many_plain(env):
    """Opens 5,000 tunnels at the same time."""
    return await _many(env, env.plain, 5_000)


async def many_tls(env):
    """Opens 500 tunnels over TLS at the same time."""
    return await _many(env, env.tls, 500)


async def _many(env, door, count):
    before, start, processor = door.resident() / 1024, time.monotonic(), door.processor()
    tunnels = await open_waiting(env.load, door, count, early=81)
    await door.shows("hybrid_relay_tunnels_waiting", count)
    await join_all(env.load, tunnels)
    await door.shows("hybrid_relay_tunnels_open", count)
    opened = time.monotonic() - start
    slowest = await converse_all(tunnels)
    highest = door.resident() / 1024
    none_ended(tunnels, "meanwhile")
    total = sum(end.received_bytes for tunnel in tunnels for end in tunnel.ends)
    await close_all(tunnels)
    seconds, used = time.monotonic() - start, door.processor() - processor
    return (f"{count} at once, open after {opened:.1f} s; {total / MIB:.0f} MiB hashed on both sides, a message took "
            f"{slowest:.1f} s at most; {seconds:.1f} s in all, {used:.1f} s of relay CPU time; RSS {before:.0f} -> "
            f"{highest:.0f} MiB")
