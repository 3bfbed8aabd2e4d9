# SPDX-License-Identifier: Apache-2.0
"""Steps of a cluster's test: all nodes in use, one drained, another killed."""
import asyncio
import collections
import signal
import time

from balancer import by_node, node_of
from harness.async_waiting import Failed, at_once, require, until, within
from load import PATIENCE
from tunnels import Tunnel, close_all, converse_all, join_all, none_ended, open_live, open_waiting
from websocket import HungUp, Refused

# Tunnels of each kind, on all nodes together, that are open during a step.
STANDING = 90
AT_ONCE = 200
# Time limit in seconds for an end to detect that its node is dead.
DEAD = 20


async def _whole(load, door, tunnel):
    """Runs one tunnel like a ceremony, from the authenticator's message on; clients write IDs in upper or lower
    case.
    """
    tunnel.phone.send(b"early")
    upper = len(load.tunnel_ids) % 2
    tunnel.client = await load.client(door, tunnel.id.upper() if upper else tunnel.id,
                                      tunnel.routing.upper() if upper else tunnel.routing)
    require(await within(PATIENCE, "an early message of the authenticator", tunnel.client.receive()) == b"early",
            "expected the early message of the authenticator; found another")
    await tunnel.converse()
    tunnel.compare()
    await tunnel.close(by="client" if upper else "phone")


class Epoch:
    """Results of tunnel requests made after a certain time, by node or by rejection."""

    def __init__(self):
        self.opened = collections.Counter()
        self.finished = collections.Counter()
        self.refused = collections.Counter()


class Traffic:
    """Tunnels that are opened, used and closed continuously during a step."""

    def __init__(self, load, door, workers=10):
        self._load, self._door = load, door
        self._is_wanted = True
        self._epoch = Epoch()
        self.finished = collections.Counter()
        self.refused = collections.Counter()
        self.failed = collections.defaultdict(list)
        self._workers = [asyncio.ensure_future(self._work()) for _ in range(workers)]

    async def _work(self):
        while self._is_wanted:
            # The result of an earlier request says nothing about later ones, even if it arrives late.
            epoch = self._epoch
            try:
                tunnel = Tunnel(self._door, *await self._load.phone(self._door))
            except (Refused, HungUp) as failure:
                self.refused[str(failure)] += 1
                epoch.refused[str(failure)] += 1
                continue
            node = node_of(tunnel.routing)
            epoch.opened[node] += 1
            try:
                await _whole(self._load, self._door, tunnel)
                self.finished[node] += 1
                epoch.finished[node] += 1
            except Failed as failure:
                self.failed[node].append(str(failure))

    async def more(self, count, nodes, what):
        """Waits until so many new tunnels have finished, on these nodes only.

        Returns the results of all requests made meanwhile.
        """
        epoch = self._epoch = Epoch()
        await until(what, lambda: epoch.finished.total() >= count, 60)
        others = set(epoch.opened) - set(nodes)
        require(not others, f"{what}: expected none on other nodes; found some on {others}")
        return epoch

    async def stop(self):
        self._is_wanted = False
        await asyncio.gather(*self._workers)

    def cancel(self):
        for worker in self._workers:
            worker.cancel()


async def ceremonies(cluster, count):
    """Runs many tunnels, AT_ONCE concurrently, each on the node that its authenticator reached."""
    load, door = cluster.load, cluster.balancer
    start, seen = time.monotonic(), collections.Counter()

    async def one(_):
        tunnel = Tunnel(door, *await load.phone(door))
        seen[node_of(tunnel.routing)] += 1
        await _whole(load, door, tunnel)

    await at_once(AT_ONCE, one, range(count))
    require(set(seen) == {node.number for node in cluster.nodes}, f"expected tunnels on every node; found {dict(seen)}")
    seconds = time.monotonic() - start
    shares = ", ".join(f"{seen[node.number]} on node {node.number}" for node in cluster.nodes)
    return (f"{count} tunnels, {min(AT_ONCE, count)} at once, {count / seconds:.0f} a second; {shares}; every byte "
            f"arrived")


async def unauthenticated(cluster):
    """Requests things that do not exist."""
    load, door = cluster.load, cluster.balancer
    tunnel = load.tunnel_id()
    for path, wanted in (("/", 404), ("/metrics", 404), ("/readyz", 404), (f"/cable/connect/00ff00/{tunnel}", 404),
                         (f"/cable/connect/000100/{tunnel}", 404), (f"/cable/connect/0001/{tunnel}", 400),
                         ("/cable/new/abc", 400), (f"/cable/contact/{load.secret()}", 404)):
        seen = await load.status(door, path)
        require(seen == wanted, f"expected {wanted} for {path}; found {seen}")
    return "unknown nodes, unknown tunnels, unknown paths: 404; malformed IDs: 400"


async def _standing(cluster, nodes):
    """Returns live and waiting tunnels on each of the nodes."""
    live = by_node(await open_live(cluster.load, cluster.balancer, STANDING), nodes)
    waiting = by_node(await open_waiting(cluster.load, cluster.balancer, STANDING, early=100), nodes)
    return live, waiting


async def _is_stale(cluster, tunnels, node):
    """Checks that clients for tunnels of a node that is gone get 404 from any node."""
    seen = collections.Counter(await at_once(10, lambda tunnel: cluster.load.status(
        cluster.balancer, f"/cable/connect/{tunnel.routing}/{tunnel.id}"), tunnels))
    require(set(seen) == {404}, f"expected 404 for clients of node {node.number}, which is gone; found {dict(seen)}")
    return len(tunnels)


async def drain(cluster):
    """Sends SIGTERM to a node: its waiting tunnels are joined through the balancer, none is cut, new ones use other
    nodes.
    """
    load, door, nodes = cluster.load, cluster.balancer, cluster.nodes
    node, others = nodes[0], nodes[1:]
    live, waiting = await _standing(cluster, nodes)
    traffic = Traffic(load, door)
    try:
        await traffic.more(30, {each.number for each in nodes}, "tunnels before the drain")
        node.signal(signal.SIGTERM)
        start = time.monotonic()

        async def drains():
            return (await node.get("/readyz"))[0] == 404

        await until("/readyz to answer 404", drains, 60, pause=0.01)

        async def is_left_alone():
            """Returns True when several authenticators in a row reached another node and none was rejected."""
            seen = await traffic.more(30, {each.number for each in nodes}, "tunnels while a node drains")
            return not seen.refused and not seen.opened[node.number]

        await until("new tunnels to use other nodes", is_left_alone, 60)
        noticed = time.monotonic() - start
        seen = await traffic.more(60, {each.number for each in others}, "tunnels on the other nodes only")
        require(not seen.refused, f"expected no rejected authenticators; found {dict(seen.refused)}")
        refused = traffic.refused.copy()
        require(set(refused) <= {"expected 101 from the relay; found 503"},
                f"expected no rejection but 503; found {dict(refused)}")
        its_own = live[node.number] + waiting[node.number]
        await join_all(load, waiting[node.number])
        await converse_all([tunnel for each in live.values() for tunnel in each] + waiting[node.number])
        none_ended([tunnel for group in (live, waiting) for each in group.values() for tunnel in each], "by the drain")
        require(node.status is None, "expected the node to outlive its tunnels; it ended first")
        await close_all(its_own)
        status = await node.ended(60)
        require(status == 0, f"expected exit status 0 of the node; found {status}")
        stale = await _is_stale(cluster, its_own, node)
        await traffic.stop()
    finally:
        traffic.cancel()
    require(not traffic.failed, f"expected no failed tunnels; found {dict(traffic.failed)}")
    rest = [tunnel for each in others for tunnel in waiting[each.number]]
    await join_all(load, rest)
    await close_all(rest + [tunnel for each in others for tunnel in live[each.number]])
    return (f"{len(live[node.number])} live and {len(waiting[node.number])} waiting on the node: all finished, the "
            f"waiting ones joined through haproxy; new ones on other nodes after {noticed:.1f} s, "
            f"{refused.total()} authenticators got 503 until then; exit 0; {stale} stale routing IDs 404; "
            f"{traffic.finished.total()} other tunnels meanwhile, none failed")


async def kill(cluster):
    """Sends SIGKILL to a node: its ends detect it, other ends are unaffected, new tunnels work."""
    load, door = cluster.load, cluster.balancer
    node, rest = cluster.nodes[1], cluster.nodes[2:]
    live, waiting = await _standing(cluster, cluster.nodes[1:])
    traffic = Traffic(load, door)
    try:
        await traffic.more(30, {each.number for each in cluster.nodes[1:]}, "tunnels before the kill")
        gone = live[node.number] + waiting[node.number]
        ends = [end for tunnel in gone for end in tunnel.ends]
        before = traffic.refused.copy()
        node.signal(signal.SIGKILL)
        start = time.monotonic()
        times = []

        async def one(end):
            await within(DEAD, "an end to detect that its node is dead", asyncio.shield(end.over))
            times.append(time.monotonic() - start)

        await at_once(len(ends), one, ends)
        # A process that is killed closes its listening socket last.
        await node.ended(DEAD)
        stale = await _is_stale(cluster, gone, node)
        await traffic.more(100, {each.number for each in rest}, "tunnels on the remaining node")
        recovered = time.monotonic() - start
        await traffic.stop()
    finally:
        traffic.cancel()
    untouched = [tunnel for each in rest for tunnel in (*live[each.number], *waiting[each.number])]
    none_ended(untouched, "with another node")
    await join_all(load, [tunnel for each in rest for tunnel in waiting[each.number]])
    await converse_all(untouched)
    await close_all(untouched)
    failed = {number: texts for number, texts in traffic.failed.items() if number != node.number}
    require(not failed, f"expected no failed tunnels on other nodes; found {failed}")
    refused = traffic.refused - before
    return (f"{len(ends)} ends of the dead node detected it in {max(times):.2f} s at most; {len(untouched)} tunnels of "
            f"the third node unaffected; {stale} stale routing IDs 404; 100 new tunnels after {recovered:.1f} s, "
            f"authenticators rejected meanwhile: {dict(refused) or 'none'}; {len(traffic.failed[node.number])} "
            "ceremonies lost "
            f"with the node")
