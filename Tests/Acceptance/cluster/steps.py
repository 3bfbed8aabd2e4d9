# SPDX-License-Identifier: Apache-2.0
"""What is done to a cluster, one after the other: used, one node drained, another killed."""
import asyncio
import collections
import signal
import time

from balancer import by_node, node_of
from load import PATIENCE
from tunnels import Tunnel, close_all, converse_all, join_all, none_ended, open_live, open_waiting
from waiting import Failed, at_once, require, until, within
from websocket import HungUp, Refused

# Tunnels of each kind, on all nodes together, that stand while something happens to a node.
STANDING = 90
AT_ONCE = 200
# How soon an end must know that its node is dead.
DEAD = 20


async def _whole(load, door, tunnel):
    """One tunnel from its phone's message on, as a ceremony would use it; clients write IDs in either case."""
    tunnel.phone.send(b"early")
    upper = len(load.tunnel_ids) % 2
    tunnel.client = await load.client(door, tunnel.id.upper() if upper else tunnel.id,
                                      tunnel.routing.upper() if upper else tunnel.routing)
    require(await within(PATIENCE, "what a phone said early", tunnel.client.receive()) == b"early",
            "what a phone said early is not what arrived")
    await tunnel.converse()
    tunnel.compare()
    await tunnel.close(by="client" if upper else "phone")


class Epoch:
    """What became of the phones that asked for a tunnel after a certain moment, by node or by refusal."""

    def __init__(self):
        self.opened = collections.Counter()
        self.finished = collections.Counter()
        self.refused = collections.Counter()


class Traffic:
    """Tunnels that are opened, used and closed all the time, while something happens to a node."""

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
            # What comes of an earlier request tells nothing about later ones, however late it comes.
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
        """Waits until so many tunnels that are asked for from now on were finished, on nothing but these nodes.

        Returns what became of all that were asked for meanwhile.
        """
        epoch = self._epoch = Epoch()
        await until(what, lambda: epoch.finished.total() >= count, 60)
        others = set(epoch.opened) - set(nodes)
        require(not others, f"{what}: there were some on {others}")
        return epoch

    async def stop(self):
        self._is_wanted = False
        await asyncio.gather(*self._workers)

    def cancel(self):
        for worker in self._workers:
            worker.cancel()


async def ceremonies(cluster, count):
    """Many tunnels, AT_ONCE of them at any time, each on the node that its phone was sent to."""
    load, door = cluster.load, cluster.balancer
    start, seen = time.monotonic(), collections.Counter()

    async def one(_):
        tunnel = Tunnel(door, *await load.phone(door))
        seen[node_of(tunnel.routing)] += 1
        await _whole(load, door, tunnel)

    await at_once(AT_ONCE, one, range(count))
    require(set(seen) == {node.number for node in cluster.nodes}, f"the nodes' shares are {dict(seen)}")
    seconds = time.monotonic() - start
    shares = ", ".join(f"{seen[node.number]} on node {node.number}" for node in cluster.nodes)
    return (f"{count} tunnels, {min(AT_ONCE, count)} at once, {count / seconds:.0f} a second; {shares}; every byte "
            f"arrived")


async def strangers(cluster):
    """Requests for nothing that there is."""
    load, door = cluster.load, cluster.balancer
    tunnel = load.tunnel_id()
    for path, wanted in (("/", 404), ("/metrics", 404), ("/readyz", 404), (f"/cable/connect/00ff00/{tunnel}", 404),
                         (f"/cable/connect/000100/{tunnel}", 404), (f"/cable/connect/0001/{tunnel}", 400),
                         ("/cable/new/abc", 400), (f"/cable/contact/{load.secret()}", 404)):
        seen = await load.status(door, path)
        require(seen == wanted, f"{path} was answered {seen}, not {wanted}")
    return "unknown nodes, unknown tunnels, paths that are not ours: 404; malformed IDs: 400"


async def _standing(cluster, nodes):
    """Live and waiting tunnels on each of the nodes."""
    live = by_node(await open_live(cluster.load, cluster.balancer, STANDING), nodes)
    waiting = by_node(await open_waiting(cluster.load, cluster.balancer, STANDING, early=100), nodes)
    return live, waiting


async def _is_stale(cluster, tunnels, node):
    """Clients that come for tunnels of a node that is gone are answered 404, whoever answers."""
    seen = collections.Counter(await at_once(10, lambda tunnel: cluster.load.status(
        cluster.balancer, f"/cable/connect/{tunnel.routing}/{tunnel.id}"), tunnels))
    require(set(seen) == {404}, f"clients for node {node.number}, which is gone, were answered {dict(seen)}")
    return len(tunnels)


async def drain(cluster):
    """SIGTERM to a node: its waiting tunnels are joined through the balancer, nothing is cut, new ones go elsewhere."""
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
            """Several phones in a row that the node did not get, nor anybody refused."""
            seen = await traffic.more(30, {each.number for each in nodes}, "tunnels while a node drains")
            return not seen.refused and not seen.opened[node.number]

        await until("new tunnels to go elsewhere", is_left_alone, 60)
        noticed = time.monotonic() - start
        seen = await traffic.more(60, {each.number for each in others}, "tunnels on the other nodes only")
        require(not seen.refused, f"phones were refused: {dict(seen.refused)}")
        refused = traffic.refused.copy()
        require(set(refused) <= {"the relay answered 503"}, f"phones were refused: {dict(refused)}")
        its_own = live[node.number] + waiting[node.number]
        await join_all(load, waiting[node.number])
        await converse_all([tunnel for each in live.values() for tunnel in each] + waiting[node.number])
        none_ended([tunnel for group in (live, waiting) for each in group.values() for tunnel in each], "by the drain")
        require(node.status is None, "the node ended before its tunnels")
        await close_all(its_own)
        status = await node.ended(60)
        require(status == 0, f"the node ended with status {status}")
        stale = await _is_stale(cluster, its_own, node)
        await traffic.stop()
    finally:
        traffic.cancel()
    require(not traffic.failed, f"tunnels that were under way failed: {dict(traffic.failed)}")
    rest = [tunnel for each in others for tunnel in waiting[each.number]]
    await join_all(load, rest)
    await close_all(rest + [tunnel for each in others for tunnel in live[each.number]])
    return (f"{len(live[node.number])} live and {len(waiting[node.number])} waiting on the node: all finished, the "
            f"waiting ones joined through haproxy; new ones elsewhere after {noticed:.1f} s, "
            f"{refused.total()} phones got 503 until then; exit 0; {stale} stale routing IDs 404; "
            f"{traffic.finished.total()} other tunnels meanwhile, none failed")


async def kill(cluster):
    """SIGKILL to a node: its ends learn it, nobody else does, new tunnels go on."""
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
            await within(DEAD, "an end to learn that its node is dead", asyncio.shield(end.over))
            times.append(time.monotonic() - start)

        await at_once(len(ends), one, ends)
        stale = await _is_stale(cluster, gone, node)
        await traffic.more(100, {each.number for each in rest}, "tunnels on the node that is left")
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
    require(not failed, f"tunnels of other nodes failed: {failed}")
    refused = traffic.refused - before
    return (f"{len(ends)} ends of the dead node knew after {max(times):.2f} s at most; {len(untouched)} tunnels of "
            f"the third node untouched; {stale} stale routing IDs 404; 100 new tunnels after {recovered:.1f} s, "
            f"phones refused meanwhile: {dict(refused) or 'none'}; {len(traffic.failed[node.number])} ceremonies lost "
            f"with the node")
