# SPDX-License-Identifier: Apache-2.0
"""Steps of a cluster's test: all nodes in use, one drained, another killed."""
import asyncio
import collections
import signal
import time

from balancer import by_node, node_of, setting
from harness.async_waiting import Failed, at_once, require, until, within
from harness.websocket import HungUp, Refused, request
from load import PATIENCE
from tunnels import Tunnel, close_all, converse_all, join_all, none_ended, open_live, open_waiting

# Tunnels of each kind, on all nodes together, that are open during a step.
STANDING = 90
AT_ONCE = 200
# The one address that floods, its silent connections and its further requests.
FLOODER, SILENT, REQUESTS = "127.0.0.2", 150, 300
# Phones, and other requests, that nginx permits an address at once; one phone a second, and four other requests, are
# added during the flood.
NEW, GUESSES = 60 + 2, 120 + 40
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
                         ("/cable/new/abc", 400), (f"/cable/contact/{load.secret()}", 400)):
        await _is_closed_after(load, door, path, wanted)
    return "unknown nodes, unknown tunnels, unknown paths: 404; malformed IDs: 400; each connection closed"


async def _is_closed_after(load, door, path, wanted, **options):
    """Checks that a request gets a status, and that its connection ends because of the response, not of a timeout."""
    line = await load.line(door, first=request(path), **options)
    await within(PATIENCE, f"the connection to be closed after {path}", asyncio.shield(line.over))
    head = bytes(line.heard.partition(b"\r\n\r\n")[0])
    require(head.startswith(b"HTTP/1.1 %d " % wanted) and b"\r\nconnection: close" in head.lower(),
            f"expected {wanted} and \"connection: close\" for {path}; found {head!r}")


async def _flooded(cluster, door, attack):
    """Runs an attack while others open and use tunnels; returns its figures, and the others'."""
    traffic = Traffic(cluster.load, door)
    others = set(range(1, len(cluster.nodes) + 1))
    try:
        await traffic.more(20, others, "tunnels before the flood")
        figures = await attack()
        await traffic.more(20, others, "tunnels during the flood")
        await traffic.stop()
    finally:
        traffic.cancel()
    require(not traffic.failed and not traffic.refused,
            f"expected no failed tunnels of others; found {dict(traffic.failed)} {dict(traffic.refused)}")
    return f"{figures}; {traffic.finished.total()} tunnels of others meanwhile, none affected"


async def _requests(load, door, path):
    """Sends requests from the flooding address; returns the number of each status, 0 for closed connections."""
    return collections.Counter(await at_once(20, lambda _: load.status(door, path(), bind=FLOODER), range(REQUESTS)))


async def flood(cluster):
    """Floods HAProxy from one address: silent connections, then requests; both limits are reached."""
    load, door = cluster.load, cluster.balancer
    load.named(FLOODER)
    most, rate = setting("RELAY_SOURCE_OPEN"), setting("RELAY_SOURCE_PER_MINUTE")

    async def attack():
        lines = []

        async def silent(_):
            try:
                lines.append(await load.line(door, tls=False, bind=FLOODER))
            except HungUp:
                pass

        await at_once(20, silent, range(SILENT))
        await until("the connections above the limit to be closed", lambda: _open(lines) <= most, 5)
        held = _open(lines)
        require(held == most, f"expected {most} silent connections to stay open; found {held}")
        seen = await _requests(load, door, lambda: f"/cable/new/{load.tunnel_id()}")
        require(set(seen) == {0}, f"expected all other connections of the address to be closed; found {dict(seen)}")
        for line in lines:
            line.transport.abort()
        # Rejected connections count too, so the address has used up its rate.
        late = await _requests(load, door, lambda: "/")
        require(set(late) == {0}, f"expected more than {rate} connections in a minute to be closed; found {dict(late)}")
        return (f"{SILENT + 2 * REQUESTS} connections of one address: {held} could stay, none could send a request; "
                "after those, closed too")

    return await _flooded(cluster, door, attack)


async def flood_nginx(cluster):
    """Floods nginx from one address: new tunnels, then unknown ones; an unknown path closes the connection."""
    load, door = cluster.load, cluster.nginx
    await door.serves(load)

    async def attack():
        phones, clients, answers = [], [], collections.Counter()

        async def hold(opening, ends):
            try:
                ends.append(await opening)
                answers[101] += 1
            except Refused as refusal:
                answers[refusal.status] += 1

        start = time.monotonic()
        await at_once(50, lambda _: hold(load.phone(door, bind=FLOODER), phones), range(REQUESTS))
        opened, allowed = len(phones), NEW + int(time.monotonic() - start)
        await at_once(50, lambda phone: hold(load.client(door, *phone[1:], bind=FLOODER), clients), phones)
        most = setting("RELAY_SOURCE_OPEN")
        require(set(answers) == {101, 429} and opened <= allowed and answers[101] == most,
                f"expected at most {allowed} phones, {most} connections, and 429 for the others; found {opened} "
                f"phones, {dict(answers)}")
        for end in [*clients, *(phone[0] for phone in phones)]:
            end.hang_up()
        seen = await _requests(load, door, lambda: f"/cable/connect/000100/{load.tunnel_id()}")
        require(set(seen) == {404, 429} and seen[404] <= GUESSES,
                f"expected 404 for at most {GUESSES} unknown tunnels, and 429 for the others; found {dict(seen)}")
        await _is_closed_after(load, door, "/", 404, bind=FLOODER)
        return (f"one address: {opened} phones and {len(clients)} clients could stay, {_listed(answers)}; unknown "
                f"tunnels {_listed(seen)}")

    return await _flooded(cluster, door, attack)


def _open(lines):
    return sum(not line.is_over for line in lines)


def _listed(answers):
    return ", ".join(f"{number} × {status}" for status, number in sorted(answers.items()))


async def _standing(cluster, nodes):
    """Returns live and waiting tunnels on each of the nodes."""
    live = by_node(await open_live(cluster.load, cluster.balancer, STANDING), nodes)
    waiting = by_node(await open_waiting(cluster.load, cluster.balancer, STANDING, early=100), nodes)
    return live, waiting


async def _is_stale(cluster, tunnels, node):
    """Checks that clients for tunnels of a node that is gone get 404 from any node."""
    async def status(tunnel):
        path = f"/cable/connect/{tunnel.routing}/{tunnel.id}"
        seen = await cluster.load.status(cluster.balancer, path)
        # The moment that HAProxy marks the node as down, it ends the requests that are on their way to it, with or
        # without a response.
        return await cluster.load.status(cluster.balancer, path) if seen in {0, 502} else seen

    seen = collections.Counter(await at_once(10, status, tunnels))
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
