# SPDX-License-Identifier: Apache-2.0
"""Three relay nodes behind a real HAProxy: in use, with linked phones, flooded, one drained, one killed; and one behind
nginx, flooded. With --regions, two regions of two nodes and two balancers each, of which a node, a balancer and a region
are lost.

See ../README.md; scripts/cluster starts this program with its dependencies. Sockets and relays are those of ../abuse.
"""
import asyncio
import logging
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

from balancer import CONNECTIONS, HAProxy, Nginx, Node
from harness.async_waiting import Failed, Interrupted, interruptible
from harness.command import Arguments, count
from harness.relay_process import Certificates
from load import Load, raise_descriptor_limit
import privacy
from contacts import contacts, node_lost, node_returns, push_failed
from regions import Regions, region_steps
from shares import push_server
from steps import ceremonies, drain, flood, flood_nginx, kill, unauthenticated

TOOLS = ("haproxy", "nginx", "openssl", "setpriv")
NODES = 3


def arguments():
    parser = Arguments("cluster", __doc__.splitlines()[0], build="release")
    parser.add_argument("--tunnels", type=count(NODES, "tunnels"), default=1000, metavar="N", help="default 1000")
    parser.add_argument("--regions", action="store_true", help="two regions, each with two nodes and two balancers")
    parser.add_argument("--previous", metavar="PROGRAM", help="with --regions: an earlier hybrid-relay, for the canary")
    options = parser.parse_args()
    parser.require(TOOLS, "build balancer")
    programs = parser.programs(options.bin_dir, "relay")
    needed = 2 * CONNECTIONS + 500
    if not raise_descriptor_limit(needed):
        parser.unavailable(f"a process cannot open {needed} sockets; raise the limit (ulimit -Hn)")
    return options, programs.relay


def say(line):
    print(line, flush=True)


class Cluster:
    """The nodes, the balancer and the load."""

    def __init__(self, program, folder):
        self.load = Load()
        self.folder = folder
        self.program = program
        self._certificates = Certificates(folder, 1)
        self.nodes = []
        self.balancer = self.nginx = self._behind_nginx = self.phones = self.push = None

    async def begin(self):
        for number in range(1, NODES + 1):
            self.nodes.append(Node(number, self.program, self.folder))
        for node in self.nodes:
            await node.listens()
        self.balancer = HAProxy(self.nodes, self._certificates, self.folder)
        await self.balancer.serves(self.load)
        self.push, push = push_server(self.program, self.folder / "push-keys", self._certificates)
        self._behind_nginx = Node(1, self.program, self.folder, *push, name="behind-nginx", proxied=False)
        self.nginx = Nginx(await self._behind_nginx.listens(), self._certificates, self.folder)
        return f"{NODES} nodes behind haproxy, one behind nginx"

    async def end(self):
        """Checks that the last node is empty and ends with status 0."""
        self.load.drop_all()
        last = self.nodes[-1]
        await last.is_empty()
        status = await last.stop()
        if status != 0:
            raise Failed(f"expected exit status 0 of {last.name}; found {status}")
        self.balancer.kill()
        self.nginx.kill()
        self.push.close()
        lines, tunnels = privacy.search(self.folder, self.load)
        return f"the last node empty, exit 0; {lines} log lines of {tunnels} tunnels contain no address and no ID"

    def kill(self):
        if self.phones:
            self.phones.end()
        for process in filter(None, (self.balancer, self.nginx, self._behind_nginx, *self.nodes)):
            process.kill()


def cluster_steps(cluster, options):
    """Returns the steps of one region."""
    return (("start", cluster.begin), ("ceremonies", lambda: ceremonies(cluster, options.tunnels)),
            ("unauthenticated", lambda: unauthenticated(cluster)), ("contacts", lambda: contacts(cluster)),
            ("push-failed", lambda: push_failed(cluster)), ("node-lost", lambda: node_lost(cluster)),
            ("node-returns", lambda: node_returns(cluster)), ("flood", lambda: flood(cluster)),
            ("flood-nginx", lambda: flood_nginx(cluster)), ("drain", lambda: drain(cluster)),
            ("kill", lambda: kill(cluster)), ("end", cluster.end))


async def run(options, program, folder):
    """Runs the steps in order until the first failure. Returns True if all passed."""
    cluster = Regions(program, options.previous or program, folder) if options.regions else Cluster(program, folder)
    steps = region_steps(cluster, options.tunnels) if options.regions else cluster_steps(cluster, options)
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
            say(f"{name:15} {outcome:6} {time.monotonic() - start:5.1f} s  {figures}")
            if outcome != "ok":
                break
    finally:
        cluster.kill()
    say(f"{passed} passed, {len(steps) - passed} failed or not reached")
    return passed == len(steps)


def main():
    options, program = arguments()
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
