# SPDX-License-Identifier: Apache-2.0
"""Three relay nodes behind a real HAProxy: in use, one drained, one killed.

See ../README.md; scripts/cluster starts this program with its dependencies. Sockets and relays are those of ../abuse.
"""
import argparse
import asyncio
import logging
import os
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

import privacy
from balancer import CONNECTIONS, Balancer, Node
from load import Load, raise_descriptor_limit
from relay import Certificates
from steps import ceremonies, drain, kill, strangers
from waiting import Failed, Interrupted, interruptible

REPOSITORY = Path(__file__).resolve().parents[3]
TOOLS = ("haproxy", "openssl", "setpriv")
NODES = 3
USAGE, UNAVAILABLE = 64, 69


class Arguments(argparse.ArgumentParser):
    def error(self, message):
        print(f"cluster: {message}", file=sys.stderr)
        sys.exit(USAGE)


def arguments():
    parser = Arguments(prog="cluster", description=__doc__.splitlines()[0])
    parser.add_argument("--bin-dir", type=Path, default=REPOSITORY / ".build/release", metavar="DIR",
                        help="folder of hybrid-relay; default .build/release of this repository")
    parser.add_argument("--tunnels", type=_count, default=1000, metavar="N", help="default 1000")
    parser.add_argument("--keep", action="store_true", help="keep all files even if everything passed")
    return parser.parse_args()


def _count(text):
    if not text.isdecimal() or int(text) < NODES:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of tunnels (at least {NODES})")
    return int(text)


def unavailable(sentence):
    print(f"cluster: {sentence}", file=sys.stderr)
    sys.exit(UNAVAILABLE)


def say(line):
    print(line, flush=True)


class Cluster:
    """The nodes, the balancer and the load."""

    def __init__(self, program, folder):
        self.load = Load()
        self.folder = folder
        self._program = program
        self._certificates = Certificates(folder, 1)
        self.nodes = []
        self.balancer = None

    async def begin(self):
        for number in range(1, NODES + 1):
            self.nodes.append(Node(number, self._program, self.folder))
        for node in self.nodes:
            await node.listens()
        self.balancer = Balancer(self.nodes, self._certificates, self.folder)
        await self.balancer.serves(self.load)
        return f"{NODES} nodes behind haproxy"

    async def end(self):
        """Checks that the last node is empty and ends with status 0."""
        self.load.drop_all()
        last = self.nodes[-1]
        await last.is_empty()
        status = await last.stop()
        if status != 0:
            raise Failed(f"expected exit status 0 of {last.name}; found {status}")
        self.balancer.kill()
        lines, tunnels = privacy.search(self.folder, self.load)
        return f"the last node empty, exit 0; {lines} log lines of {tunnels} tunnels contain no address and no ID"

    def kill(self):
        for process in filter(None, (self.balancer, *self.nodes)):
            process.kill()


async def run(options, program, folder):
    """Runs the steps in order until the first failure. Returns True if all passed."""
    cluster = Cluster(program, folder)
    steps = (("start", cluster.begin), ("ceremonies", lambda: ceremonies(cluster, options.tunnels)),
             ("strangers", lambda: strangers(cluster)), ("drain", lambda: drain(cluster)),
             ("kill", lambda: kill(cluster)), ("end", cluster.end))
    passed = 0
    try:
        for name, step in steps:
            start = time.monotonic()
            try:
                async with asyncio.timeout(900):
                    outcome, figures = "ok", await step()
                passed += 1
            except (Failed, OSError, TimeoutError) as problem:
                outcome, figures = "FAILED", str(problem) or repr(problem)
            except Exception as problem:
                traceback.print_exc()
                outcome, figures = "FAILED", repr(problem)
            say(f"{name:11} {outcome:6} {time.monotonic() - start:5.1f} s  {figures}")
            if outcome != "ok":
                break
    finally:
        cluster.kill()
    say(f"{passed} passed, {len(steps) - passed} failed or not reached")
    return passed == len(steps)


def main():
    options = arguments()
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        unavailable(f"not installed: {', '.join(missing)}")
    program = options.bin_dir.resolve() / "hybrid-relay"
    if not os.access(program, os.X_OK):
        unavailable(f"there is no {program}; build it first")
    if not raise_descriptor_limit(2 * CONNECTIONS + 500):
        unavailable(f"a process cannot open {2 * CONNECTIONS + 500} sockets; raise the limit (ulimit -Hn)")
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    folder = Path(tempfile.mkdtemp(prefix="hybrid-cluster-"))
    try:
        passed = asyncio.run(interruptible(run(options, program, folder)))
    except Interrupted as interruption:
        say(f"cluster: {interruption}; the files so far are in {folder}")
        return 128 + interruption.number
    if options.keep or not passed:
        say(f"logs and final metrics are in {folder}")
    else:
        shutil.rmtree(folder)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
