#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs thousands of tunnels through one relay, with correct and faulty ends, and checks for leaks.

Every ceremony's bytes must arrive complete and in order. When all ends have left, the relay must hold no more sockets
than at the start, and its memory must not grow with the number of tunnels: the run has ten parts, and the two halves of
the later ones may differ by half a kilobyte per tunnel at most.
"""
import argparse
import asyncio
import os
import pathlib
import random
import secrets
import shutil
import signal
import ssl
import statistics
import subprocess
import sys
import tempfile
import time

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

PARTS = 10
# Bytes per tunnel; less cannot be told from the allocator's variation in a run of some minutes.
LEAK = 512
ROOT = pathlib.Path(__file__).resolve().parents[3]
# Message sizes of a sign-in: handshake, getInfo, request, response; and a large one.
SIZES = (81, 81, 400, 300, 900, 60_000)
PHONE_LEAVES, CLIENT_LEAVES, SOCKET_CUT, NOBODY_CAME = "phone leaves", "client leaves", "socket cut", "no client"


class Relay:
    """The relay process, with its own certificate."""

    def __init__(self, program, folder):
        self.folder = folder
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
             "key.pem", "-out", "cert.pem", "-days", "2", "-subj", "/CN=localhost", "-addext",
             "subjectAltName=DNS:localhost"], cwd=folder, check=True, capture_output=True)
        self.log = open(folder / "relay.log", "w+")
        self.process = subprocess.Popen(
            [program, "serve", "--listen", "127.0.0.1:0", "--tls-cert", folder / "cert.pem", "--tls-key",
             folder / "key.pem"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log)
        self.port = None
        self.tls = ssl.create_default_context(cafile=folder / "cert.pem")

    def wait_for_port(self):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            for line in (self.folder / "relay.log").read_text().splitlines():
                if "listening on" in line:
                    self.port = int(line.rsplit(":", 1)[1])
                    return
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        sys.exit("soak: the relay does not listen:\n" + (self.folder / "relay.log").read_text())

    def connect(self, path):
        return connect(f"wss://localhost:{self.port}{path}", ssl=self.tls, subprotocols=["fido.cable"], proxy=None,
                       compression=None, host="127.0.0.1", ping_interval=None, open_timeout=60, close_timeout=30,
                       max_size=1 << 20, server_hostname="localhost")

    def resident(self):
        """Resident memory in KiB."""
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1])
        raise RuntimeError("no VmRSS")

    def sockets(self):
        count = 0
        for entry in pathlib.Path(f"/proc/{self.process.pid}/fd").iterdir():
            try:
                count += os.readlink(entry).startswith("socket:")
            except FileNotFoundError:
                pass
        return count

    def processor(self):
        """Processor time so far, in seconds."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return "killed after 30 s"


async def tunnel(relay, ending):
    """Runs one tunnel from opening to close."""
    tunnel_id = secrets.token_hex(16)
    async with relay.connect(f"/cable/new/{tunnel_id}") as phone:
        routing = phone.response.headers["X-caBLE-Routing-ID"]
        if ending == NOBODY_CAME:
            return
        early = secrets.token_bytes(100)
        await phone.send(early)
        async with relay.connect(f"/cable/connect/{routing}/{tunnel_id}") as client:
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


async def settled(relay, sockets):
    """Waits until the relay has closed all sockets of the load."""
    end = time.monotonic() + 60
    while relay.sockets() > sockets and time.monotonic() < end:
        await asyncio.sleep(0.05)
    return relay.sockets()


def positive(text):
    number = int(text)
    if number < 1:
        raise ValueError
    return number


async def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin-dir", default=ROOT / ".build/debug", type=pathlib.Path)
    parser.add_argument("--tunnels", default=1000, type=positive, help="tunnels in each of ten parts")
    parser.add_argument("--at-once", default=50, type=positive)
    options = parser.parse_args()
    program = options.bin_dir / "hybrid-relay"
    if not os.access(program, os.X_OK):
        sys.exit(f"soak: there is no {program}; build it first")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hybrid-soak-"))
    # The relay must not survive a signal.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    relay = Relay(program.resolve(), folder)
    problems, memory, left = [], [], []
    status = None
    try:
        relay.wait_for_port()
        idle, start = relay.sockets(), time.monotonic()
        for part in range(PARTS):
            await soak(relay, options.tunnels, options.at_once, part)
            left.append(await settled(relay, idle))
            memory.append(relay.resident())
        seconds, processor = time.monotonic() - start, relay.processor()
    except BaseExceptionGroup as problem:
        problems.append(f"a tunnel failed: {problem.exceptions[0]!r}")
    finally:
        status = relay.stop()
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
              f"({growth:+.0f} bytes per tunnel); sockets {idle} -> {left[-1]}")
    for problem in problems:
        print(f"soak: {problem}; the relay's log is in {folder}", file=sys.stderr)
    if not problems:
        shutil.rmtree(folder)
    print(f"{0 if problems else 1} passed, {1 if problems else 0} failed")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    asyncio.run(main())
