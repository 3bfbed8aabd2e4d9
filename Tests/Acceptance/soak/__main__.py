# SPDX-License-Identifier: Apache-2.0
"""Runs thousands of tunnels through one relay, with correct and faulty ends, and checks for leaks.

Every ceremony's bytes must arrive complete and in order. When all ends have left, the relay must hold no more sockets
than at the start, and its memory must not grow with the number of tunnels: the run has ten parts, and the two halves of
the later ones may differ by half a kilobyte per tunnel at most.
"""
import asyncio
import contextlib
import random
import secrets
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from harness.async_waiting import Failed, Interrupted, interruptible, until
from harness.command import Arguments, count
from harness.relay_process import Certificates, Relay
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

PARTS = 10
# Bytes per tunnel; less cannot be told from the allocator's variation in a run of some minutes.
LEAK = 512
# Message sizes of a sign-in: handshake, getInfo, request, response; and a large one.
SIZES = (81, 81, 400, 300, 900, 60_000)
PHONE_LEAVES, CLIENT_LEAVES, SOCKET_CUT, NOBODY_CAME = "phone leaves", "client leaves", "socket cut", "no client"


def connection(relay, path):
    return connect(f"wss://localhost:{relay.address[1]}{path}", ssl=relay.tls, subprotocols=["fido.cable"], proxy=None,
                   compression=None, host="127.0.0.1", ping_interval=None, open_timeout=60, close_timeout=30,
                   max_size=1 << 20, server_hostname="localhost")


async def tunnel(relay, ending):
    """Runs one tunnel from opening to close."""
    tunnel_id = secrets.token_hex(16)
    async with connection(relay, f"/cable/new/{tunnel_id}") as phone:
        routing = phone.response.headers["X-caBLE-Routing-ID"]
        if ending == NOBODY_CAME:
            return
        early = secrets.token_bytes(100)
        await phone.send(early)
        async with connection(relay, f"/cable/connect/{routing}/{tunnel_id}") as client:
            assert await client.recv() == early, "expected the early message of the authenticator; found another"
            for number, size in enumerate(SIZES):
                sender, receiver = (client, phone) if number % 2 == 0 else (phone, client)
                message = secrets.token_bytes(size)
                await sender.send(message)
                assert await receiver.recv() == message, "expected the message that was sent; found another"
            first, other = (phone, client) if ending == PHONE_LEAVES else (client, phone)
            if ending == SOCKET_CUT:
                first.transport.abort()
            else:
                await first.close(1000)
            try:
                await other.recv()
                raise AssertionError("expected no message after the end; found one")
            except ConnectionClosed as closed:
                code = closed.rcvd.code if closed.rcvd else None
                assert ending == SOCKET_CUT or code == 1000, f"expected close code 1000 at the other end; found {code}"


async def soak(relay, tunnels, at_once, seed):
    chance = random.Random(seed)
    finished = 0
    endings = [chance.choice([CLIENT_LEAVES] * 5 + [PHONE_LEAVES, SOCKET_CUT, NOBODY_CAME]) for _ in range(tunnels)]
    pending = iter(endings)

    async def worker():
        nonlocal finished
        for ending in pending:
            await asyncio.wait_for(tunnel(relay, ending), 120)
            finished += 1

    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(worker())
    assert finished == tunnels, f"expected {tunnels} finished tunnels; found {finished}"


async def closed(relay, descriptors):
    """Waits until the relay has closed all sockets of the load; returns the number of its descriptors."""
    async def look():
        return await relay.descriptors() <= descriptors

    with contextlib.suppress(Failed):
        await until("the relay to close its sockets", look, 60)
    return await relay.descriptors()


def arguments():
    parser = Arguments("soak", __doc__.splitlines()[0])
    parser.add_argument("--tunnels", default=1000, type=count(what="tunnels"), help="tunnels in each of ten parts")
    parser.add_argument("--at-once", default=50, type=count(what="tunnels"))
    options = parser.parse_args()
    return options, parser.programs(options.bin_dir, "relay").relay


async def run(options, program, folder):
    """Returns the errors found; prints the figures."""
    relay = Relay("relay", program, folder, certificates=Certificates(folder, 1))
    problems, memory, left = [], [], []
    try:
        await relay.listens()
        idle, start = await relay.descriptors(), time.monotonic()
        for part in range(PARTS):
            await soak(relay, options.tunnels, options.at_once, part)
            left.append(await closed(relay, idle))
            memory.append(relay.resident())
        seconds, processor = time.monotonic() - start, relay.processor()
    except BaseExceptionGroup as problem:
        problems.append(f"a tunnel failed: {problem.exceptions[0]!r}")
    finally:
        status = await relay.stop()
    if status != 0:
        problems.append(f"expected exit status 0 after SIGTERM; found {status}")
    if len(memory) == PARTS:
        if max(left) > idle:
            problems.append(f"expected no open sockets; found {max(left) - idle}")
        # The first parts warm up the allocator. Medians of each half, so that a single outlier has no effect.
        early, late = statistics.median(memory[2:6]), statistics.median(memory[6:])
        growth = (late - early) * 1024 / (4 * options.tunnels)
        if growth > LEAK:
            problems.append(f"memory grows by {growth:.0f} bytes per tunnel: {memory} KiB")
        total = PARTS * options.tunnels
        print(f"soak: {total} tunnels, {options.at_once} at once, {total / seconds:.0f} a second; "
              f"{processor / total * 1e3:.2f} ms of relay CPU time per tunnel; memory {memory[0]} -> {memory[-1]} KiB "
              f"({growth:+.0f} bytes per tunnel); descriptors {idle} -> {left[-1]}")
    return problems


def main():
    options, program = arguments()
    folder = Path(tempfile.mkdtemp(prefix="hybrid-soak-"))
    try:
        problems = asyncio.run(interruptible(run(options, program, folder)))
    except Interrupted as interruption:
        print(f"soak: {interruption}; the relay's log is in {folder}", file=sys.stderr)
        return 128 + interruption.number
    for problem in problems:
        print(f"soak: {problem}; the relay's log is in {folder}", file=sys.stderr)
    if options.keep or problems:
        print(f"soak: logs and final metrics are in {folder}")
    else:
        shutil.rmtree(folder)
    print(f"{0 if problems else 1} passed, {1 if problems else 0} failed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
