# SPDX-License-Identifier: Apache-2.0
"""Two regions, each with two relay nodes and two balancers: in use, and with a node, a balancer and a region lost."""
import asyncio
import collections
import errno
import random
import re
import signal
import socket
import subprocess
import time

import privacy
from balancer import DEPLOY, HAProxy, Node, setting
from harness.async_waiting import Failed, at_once, require, until, within
from harness.relay_process import Certificates, Prober
from harness.websocket import HungUp, Refused
from load import PATIENCE, Load
from phones import Phones
from tunnels import SIZES, Tunnel, close_all, converse_all, none_ended, open_live

REGIONS, NODES, BALANCERS = 2, 2, "ab"
# Linked phones of each region.
PHONES = 100
# Seconds that a phone listens: longer than this test, so that phones do not move by themselves.
LIFETIME = 3600
# Seconds until balancers have noticed that a node, or a region, is up or down.
NOTICED = 30
AT_ONCE = 20


def _reserved():
    """Returns a socket that reserves a loopback port, on which balancers can listen nevertheless."""
    taken = socket.socket()
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    taken.bind(("127.0.0.1", 0))
    return taken


class Region:
    """Nodes and balancers of a region. Both balancers listen on the region's link address, as with a floating one."""

    def __init__(self, number, cluster):
        self.number, self._cluster = number, cluster
        self._reservations = {name: _reserved() for name in ("link", *BALANCERS)}
        self.link = "127.0.0.1:%d" % self._reservations["link"].getsockname()[1]
        self.nodes, self.balancers = [], {}
        self.map = cluster.map(f"nodes.map of region {number}")
        self._starts = 0

    def node(self, number, *, program=None, replaces=None):
        self._starts += 1
        return Node(number, program or self._cluster.program, self._cluster.folder, "--region", str(self.number),
                    name=f"region-{self.number}-start-{self._starts}", lifetime=LIFETIME, replaces=replaces)

    def balancer(self, name, replaces=None):
        cluster = self._cluster
        self._starts += 1
        port = {peer: self._reservations[peer].getsockname()[1] for peer in BALANCERS}
        more = {"RELAY_PEER": name, "RELAY_PEER_A": f"127.0.0.1:{port['a']}", "RELAY_PEER_B": f"127.0.0.1:{port['b']}",
                "RELAY_REGIONS_MAP": str(cluster.map("regions.map of all regions")), "RELAY_LINK_BIND": self.link, "RELAY_LINK_FROM": "127.0.0.1 127.0.0.2",
                "RELAY_LINK_CRT": str(cluster.folder / "link.pem"), "RELAY_LINK_CA": str(cluster.folder / "link-ca.pem"),
                "RELAY_ADMIN_SOCKET": str(self.socket(name))}
        more |= {f"RELAY_LINK_{region.number}": region.link for region in cluster.regions}
        return HAProxy(self.nodes, cluster.certificates, cluster.folder, more=more, map_file=self.map,
                       name=f"haproxy-{self.number}{name}-{self._starts}", socket_of=replaces)

    def socket(self, name):
        return self._cluster.folder / f"admin-{self.number}{name}.sock"

    async def begin(self):
        self.nodes = [self.node(number) for number in range(1, NODES + 1)]
        for node in self.nodes:
            await node.listens()

    def open_doors(self):
        self.balancers = {name: self.balancer(name, self.balancers.get(name)) for name in BALANCERS}

    async def restart_node(self, index, program=None):
        old = self.nodes[index]
        node = self.nodes[index] = self.node(old.number, program=program, replaces=old)
        return await node.listens()

    async def upgrade_node(self, index, program=None):
        """Drains a node, and starts the version of a program in its place."""
        self.nodes[index].signal(signal.SIGTERM)
        await self.nodes[index].ended(90)
        await self.restart_node(index, program)

    async def come_back(self):
        for index in range(NODES):
            await self.restart_node(index)
        self.open_doors()

    def command(self, name, text):
        """Sends a command to a balancer's admin socket, as an operator does; returns the answer."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(self.socket(name)))
            connection.sendall(text.encode() + b"\n")
            connection.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: connection.recv(1 << 16), b"")).decode()

    @property
    def doors(self):
        return [balancer for balancer in self.balancers.values() if balancer.status is None]

    def processes(self):
        return [*self.nodes, *self.balancers.values()]


class Nearest:
    """The door of a device that resolves the one host name: a balancer of its region, or of any other if that is lost."""

    is_proxied, counts_peers = False, True

    def __init__(self, cluster, region):
        self._cluster, self._region = cluster, region
        self.tls = cluster.certificates.trust

    @property
    def address(self):
        doors = self._region.doors or [door for region in self._cluster.regions for door in region.doors]
        return random.choice(doors).address


class Regions:
    """All regions, and the load."""

    def __init__(self, program, previous, folder):
        self.program, self.previous, self.folder, self.load = program, previous, folder, Load()
        self.certificates = Certificates(folder, 1)
        self.phones = []
        self._plan = subprocess.run(
            [program, "domain", "plan", "266", "--regions", str(REGIONS), "--nodes", str(NODES)], check=True,
            capture_output=True, text=True).stdout
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-out", folder / "link-ca.pem", "-keyout", folder / "link-key.pem", "-subj", "/CN=hybrid-link", "-addext",
             "subjectAltName=DNS:hybrid-link"], check=True, capture_output=True)
        (folder / "link.pem").write_bytes((folder / "link-ca.pem").read_bytes() + (folder / "link-key.pem").read_bytes())
        self.regions = []
        for number in range(REGIONS):
            self.regions.append(Region(number, self))
        self.near = [Nearest(self, region) for region in self.regions]

    async def begin(self):
        for region in self.regions:
            await region.begin()
        for region in self.regions:
            region.open_doors()
        await self.all_serve()
        return f"{REGIONS} regions, each with {NODES} nodes and {len(BALANCERS)} balancers"

    async def all_serve(self):
        """Waits until a sign-in works through each pair of balancers."""
        for region in self.regions:
            for door in region.doors:
                await door.serves(self.load)
        pairs = [(a, b) for a in self._all_doors() for b in self._all_doors()]
        for phone, client in pairs:
            async def look():
                try:
                    await sign_in(self.load, phone, client)
                except (Failed, HungUp, Refused):
                    return False
                return True

            await until(f"a sign-in through {phone.name} and {client.name}", look, NOTICED)

    def map(self, title):
        """Returns a file with a map that `hybrid-relay domain plan` prints for operators."""
        file = self.folder / title.replace(" ", "-")
        # A balancer may be reading it.
        if file.exists():
            return file
        text = re.search(rf"^# {title}\n(?:.+\n?)+", self._plan, flags=re.MULTILINE)
        require(text, f"expected {title} in the plan; found {self._plan}")
        file.write_text(text[0])
        return file

    def _all_doors(self):
        return [door for region in self.regions for door in region.doors]

    async def end(self):
        for phones in self.phones:
            phones.end()
        self.load.drop_all()
        for region in self.regions:
            for node in region.nodes:
                await node.is_empty()
                status = await node.stop()
                require(status == 0, f"expected exit status 0 of {node.name}; found {status}")
            for balancer in region.balancers.values():
                balancer.kill()
        lines, tunnels = privacy.search(self.folder, self.load)
        return f"all nodes empty, exit 0; {lines} log lines of {tunnels} tunnels contain no address and no ID"

    def kill(self):
        for phones in self.phones:
            phones.end()
        for region in self.regions:
            for process in region.processes():
                process.kill()


async def sign_in(load, phone_door, client_door):
    """Signs in with the two ends at two doors; returns the node's routing ID."""
    tunnel = Tunnel(phone_door, *await load.phone(phone_door))
    tunnel.client = await load.client(client_door, tunnel.id, tunnel.routing)
    await tunnel.converse(SIZES[:-1])
    await tunnel.close(by="client")
    return int(tunnel.routing[:4], 16)


async def _rate(cluster, count, doors):
    """Makes sign-ins through doors; returns the number that succeeded, nodes, and the failures."""
    seen, failures = collections.Counter(), collections.Counter()

    async def one(_):
        phone, client = doors()
        try:
            seen[await sign_in(cluster.load, phone, client)] += 1
        except (Failed, Refused, HungUp) as failure:
            failures[str(failure)] += 1

    await at_once(AT_ONCE, one, range(count))
    return seen, failures


def _listed(seen):
    return ", ".join(f"{number} on region {node >> 10} node {node & 0x3FF}" for node, number in sorted(seen.items()))


async def across(cluster, count):
    """Signs in with the phone in one region and the client in the other; each request reaches one node."""
    async def connections():
        values = [await node.value("hybrid_relay_connections_total") for region in cluster.regions
                  for node in region.nodes]
        return sum(values)

    before = await connections()
    directions = [(0, 1), (1, 0)]
    seen, failures = await _rate(cluster, count, lambda: [cluster.near[end] for end in random.choice(directions)])
    require(not failures, f"expected no failure of {count} sign-ins; found {dict(failures)}")
    require(len(seen) == REGIONS * NODES, f"expected sign-ins on every node; found {_listed(seen)}")
    made = await connections() - before
    require(made == 2 * count, f"expected {2 * count} connections to nodes, so no detour; found {made:.0f}")
    return f"{count} of {count} sign-ins across regions succeeded ({_listed(seen)}), with one connection for each end"


async def strangers(cluster):
    """Requests tunnels of nodes and regions that do not exist."""
    load = cluster.load
    for door in cluster._all_doors():
        status = await load.status(door, "/cable/region")
        require(status == 200, f"expected {door.name} to state that its region has nodes; found {status}")
    for door in (region.doors[0] for region in cluster.regions):
        end, tunnel, routing = await load.phone(door)
        number = int(routing[:4], 16)
        others = {"another node": number ^ 0x03, "an unknown node here": number ^ 0x300,
                  "an unknown node elsewhere": number ^ 0x0700, "the other region": number ^ 0x0400,
                  "an unknown region": number ^ 0x8000}
        for what, other in others.items():
            for each in (region.doors[0] for region in cluster.regions):
                status = await load.status(each, f"/cable/connect/{other:04x}{routing[4:]}/{tunnel}")
                require(status == 404, f"expected 404 for {what}; found {status}")
        end.hang_up()
    await _guards_its_link(cluster)
    return f"{len(others)} wrong combinations of region and node, from both regions: 404; the link only for balancers"


async def _guards_its_link(cluster):
    """Connects to a link from an address that is no balancer's: the connection is closed before TLS."""
    host, port = cluster.regions[0].link.split(":")
    try:
        reader, writer = await asyncio.open_connection(host, port, local_addr=("127.99.0.9", 0))
        said = await within(AT_ONCE, "the link to close a stranger's connection", reader.read())
        writer.close()
    except ConnectionRefusedError:
        raise
    except OSError as closed:
        # It may be closed even before the end of connect().
        require(closed.errno == errno.ECONNRESET, f"expected the link to close the connection; found {closed}")
        said = b""
    require(not said, f"expected the link to say nothing to a stranger; found {said!r}")


async def contacts(cluster):
    """Phones of both regions listen; clients of the other region contact each of them."""
    cluster.phones = [Phones(cluster.load, near, PHONES) for near in cluster.near]
    for phones in cluster.phones:
        await phones.listen()
    times = await ring_all(cluster)
    shares = collections.Counter(phone.node for phone in _all_phones(cluster))
    require(len(shares) == REGIONS * NODES, f"expected phones on every node; found {_listed(shares)}")
    return f"{len(times)} contacts from the other region met their phones ({_listed(shares)}); {_slowest(times)}"


def _slowest(times):
    return f"{max(times) * 1e3:.0f} ms at most, {sorted(times)[len(times) // 2] * 1e3:.0f} ms in the middle"


async def ring_all(cluster, phones=None):
    """Contacts each phone once, through the region that is not its own; each gets exactly one wake-up."""
    pairs = [(phone, cluster.near[1 - region]) for region, group in enumerate(cluster.phones) for phone in group.all
             if phones is None or phone in phones]
    before = {phone: phone.wakes for phone, _ in pairs}
    times = await at_once(AT_ONCE, lambda pair: pair[0].ring(pair[1]), pairs)
    wrong = [phone for phone, _ in pairs if phone.wakes - before[phone] != 1]
    require(not wrong, f"expected one wake-up for each contact; {len(wrong)} phones had another number")
    return times


async def _peeks(nodes):
    return sum([await node.value("hybrid_relay_refusals_total", status="504") for node in nodes])


def _all_phones(cluster):
    return [phone for phones in cluster.phones for phone in phones.all]


async def second_choice(cluster):
    """Kills a node, and starts it again: contacts find the phones that have moved by their second choice."""
    region = cluster.regions[1]
    number = region.number << 10 | region.nodes[0].number
    moved = [phone for phone in _all_phones(cluster) if phone.node == number]
    require(moved, "expected phones on the node; found none")
    start = time.monotonic()
    region.nodes[0].signal(signal.SIGKILL)
    await region.nodes[0].ended(10)
    await cluster.phones[0].return_since(start, moved)
    times = await ring_all(cluster, moved)
    node = await region.restart_node(0)
    await _is_used(cluster, number)
    # The phones listen elsewhere. The returned node is the first choice of their contacts.
    again = await ring_all(cluster, moved)
    strays = [phone for phone in moved if phone.node == number]
    require(not strays, f"expected phones to stay where they are; {len(strays)} moved")
    missed = await _peeks([node])
    require(missed >= len(moved), f"expected at least {len(moved)} contacts to try the returned node; found {missed}")
    return (f"{len(moved)} phones of a killed node: all reached ({_slowest(times)}), and again after its return, by the "
            f"second choice ({_slowest(again)}), each with one wake-up")


async def _is_used(cluster, number):
    """Waits until every balancer sends phones to a node again."""
    for door in cluster._all_doors():
        if cluster.regions[number >> 10].doors.count(door) == 0:
            continue

        ends = []

        async def look():
            # They stay open, because a node with a small weight is used only if the others are busy.
            end, _, routing = await cluster.load.phone(door)
            ends.append(end)
            return int(routing[:4], 16) == number

        try:
            await until(f"{door.name} to use the node again", look, NOTICED)
        finally:
            for end in ends:
                end.hang_up()


async def balancer_lost(cluster):
    """Kills a balancer: sign-ins through the other one of its region go on."""
    region = cluster.regions[0]
    load, kept, lost = cluster.load, region.balancers["a"], region.balancers["b"]
    staying, ending = [], []
    # A sign-in with both ends at one balancer and its node in the same region does not use the link.
    for door, group in ((kept, staying), (lost, ending)):
        group += await open_live(load, door, 40)
    abroad = [Tunnel(cluster.near[1], *await load.phone(cluster.near[1])) for _ in range(20)]
    for tunnel in abroad:
        tunnel.client = await load.client(kept, tunnel.id, tunnel.routing)
    lost.signal(signal.SIGKILL)
    await lost.ended(10)
    for tunnel in ending:
        for end in tunnel.ends:
            await within(PATIENCE, "an end at the killed balancer to notice", asyncio.shield(end.over))
    await converse_all(staying)
    none_ended(staying, "with the other balancer")
    # These pass a balancer of region 1, which is alive.
    await converse_all(abroad, SIZES[:-1])
    none_ended(abroad, "through the other region")
    await close_all(staying + abroad)
    seen, failures = await _rate(cluster, 200, lambda: (random.choice(cluster.near), random.choice(cluster.near)))
    require(not failures, f"expected no failure after the loss; found {dict(failures)}")
    region.balancers["b"] = region.balancer("b", lost)
    await cluster.all_serve()
    return (f"{len(staying) + len(abroad)} sign-ins in progress elsewhere unaffected, {len(ending)} lost with their "
            f"balancer; then 200 of 200 new ones succeeded; back again")


async def region_lost(cluster):
    """Kills all of a region: devices use the other one, phones listen there, and contacts reach them."""
    lost, kept = cluster.regions[1], cluster.regions[0]
    staying = await open_live(cluster.load, kept.doors[0], 40)
    in_kept = [tunnel for tunnel in staying if int(tunnel.routing[:4], 16) >> 10 == kept.number]
    start = time.monotonic()
    for process in lost.nodes:
        process.signal(signal.SIGKILL)
    for door in lost.doors:
        async def has_no_node(door=door):
            return await cluster.load.status(door, "/cable/region") == 503

        # By this, DNS sends devices to another region.
        await until(f"{door.name} to state that its region has no nodes", has_no_node, NOTICED)
    for process in lost.balancers.values():
        process.signal(signal.SIGKILL)
    for process in lost.processes():
        await process.ended(10)
    await converse_all(in_kept)
    none_ended(in_kept, "in the other region")
    seen, failures = await _rate(cluster, 200, lambda: (random.choice(cluster.near), random.choice(cluster.near)))
    require(not failures and set(node >> 10 for node in seen) == {kept.number},
            f"expected sign-ins in the other region only; found {_listed(seen)} {dict(failures)}")
    away = [phone for phone in _all_phones(cluster) if phone.node >> 10 == lost.number]
    for phones in cluster.phones:
        its_own = [phone for phone in phones.all if phone in away]
        if its_own:
            await phones.return_since(start, its_own, seconds=90)
    await _settled(cluster)
    back = time.monotonic() - start
    times = await ring_all(cluster)
    await close_all(in_kept)
    return (f"{len(in_kept)} sign-ins of the other region unaffected; 200 of 200 new ones succeeded at once; "
            f"{len(away)} phones listened in the other region within {back:.0f} s; contacts reached all "
            f"{len(times)}, {_slowest(times)}")


async def _settled(cluster):
    """Waits until all phones listen."""
    await until("all phones to listen", lambda: all(phone.since for phone in _all_phones(cluster)), 90)


async def region_returns(cluster):
    """Starts the region again: contacts find phones that are still in the other one, by the second choice."""
    region = cluster.regions[1]
    await region.come_back()
    await cluster.all_serve()
    homes = {phone: phone.node for phone in _all_phones(cluster)}
    times = await ring_all(cluster)
    moved = sum(phone.node != home for phone, home in homes.items())
    require(not moved, f"expected phones to stay where they are; {moved} moved")
    missed = await _peeks(region.nodes)
    require(missed > 0, "expected contacts that tried the returned region first; found none")
    return (f"contacts reached all {len(times)} phones, {_slowest(times)}, {missed:.0f} answers 504 of the returned "
            "region; one wake-up each")


async def canary(cluster, count):
    """Gives one node a new version and a tenth of the weight, and rolls it back: docs/regions.md, "Canary".

    With an earlier version (--previous), that one runs before, and on the other node meanwhile.
    """
    region = cluster.regions[0]
    number = region.number << 10 | region.nodes[0].number
    doors = lambda: (random.choice(region.doors), random.choice(cluster.near))
    failures, shares = collections.Counter(), []

    async def part(what):
        seen, failed = await _rate(cluster, count, doors)
        failures.update(failed)
        shares.append(f"{what} {seen[number] / max(1, seen.total()):.0%}")
        return seen[number] / max(1, seen.total())

    def weight(share):
        for name in BALANCERS:
            answer = region.command(name, f"set server new/n0001 weight {share}")
            require(not answer.strip(), f"expected no objection to the weight; found {answer.strip()}")

    async def replaced(index, program):
        await region.upgrade_node(index, program)
        await _is_used(cluster, region.number << 10 | region.nodes[index].number)

    for index in range(NODES):
        await replaced(index, cluster.previous)
    await part("before")
    weight("10%")
    await replaced(0, cluster.program)
    small = await part("canary")
    await replaced(0, cluster.previous)
    weight("100%")
    await part("after the rollback")
    require(small < 0.35, f"expected the canary to get a small share; found {small:.0%}")
    for index in range(NODES):
        await replaced(index, cluster.program)
    await part("with the new version everywhere")
    require(not failures, f"expected no failed sign-in; found {dict(failures)}")
    await _settled(cluster)
    await ring_all(cluster)
    return f"share of the node: {', '.join(shares)}; {4 * count} of {4 * count} sign-ins succeeded"


async def sources(cluster):
    """Floods one balancer from one address: the other one of the region rejects the address, too, and no other."""
    load, (first, second) = cluster.load, cluster.regions[1].doors
    rate, flooder, other = setting("RELAY_SOURCE_PER_MINUTE"), load.named("127.99.0.1"), load.named("127.99.0.2")

    async def status(door, address):
        return await load.status(door, "/", bind=address)

    require(await status(second, flooder) == 404, "expected the address to be served before the flood; it was not")
    seen = collections.Counter(await at_once(AT_ONCE, lambda _: status(first, flooder), range(rate + 40)))
    # HAProxy's threads may accept some at the same time.
    most = rate + AT_ONCE
    require(set(seen) == {0, 404} and seen[404] <= most, f"expected at most {most} answers; found {dict(seen)}")

    async def is_rejected():
        return await status(second, flooder) == 0

    await until("the other balancer to reject the address", is_rejected, 10)
    for door in (first, second):
        require(await status(door, other) == 404, "expected another address to be served; it was not")
    return f"{seen[404]} of {seen.total()} requests of one address answered, then none by either balancer; others served"


async def probers(cluster):
    """Runs probers whose ends arrive in different regions."""
    counts = []
    for phone, client in ((0, 1), (1, 0)):
        places = [cluster.regions[number].doors[0].address for number in (phone, client)]
        ends = ["localhost:443:{}:{}".format(*place) for place in places]
        prober = Prober(f"prober-{phone}", cluster.program, cluster.folder, "--cacert", cluster.certificates.pairs[0][0],
                        "--connect-to", ends[0], "--client-connect-to", ends[1], "wss://localhost")
        try:
            counts.append(await _probed(prober, phone))
        finally:
            prober.kill()
    return f"{counts[0]} and {counts[1]} sign-ins of probers across regions succeeded, none failed"


async def _probed(prober, region):
    """Waits for two sign-ins of a prober; returns their number."""
    await prober.listens()

    async def look():
        return await prober.value("hybrid_probe_sign_ins_total", result="ok") >= 2

    await until("two sign-ins of the prober", look, NOTICED)
    failed = await prober.value("hybrid_probe_sign_ins_total", result="failed")
    require(not failed, f"expected no failed sign-in; found {prober.said()}")
    joins = await prober.value("hybrid_probe_seconds_count", region=str(region), stage="join")
    require(joins >= 2, f"expected joins in region {region}; found {joins}")
    return int(joins)


def region_steps(cluster, count):
    """Returns the steps of several regions."""
    return (("start", cluster.begin), ("across", lambda: across(cluster, count)),
            ("strangers", lambda: strangers(cluster)), ("probers", lambda: probers(cluster)),
            ("sources", lambda: sources(cluster)), ("contacts", lambda: contacts(cluster)),
            ("second-choice", lambda: second_choice(cluster)), ("balancer-lost", lambda: balancer_lost(cluster)),
            ("region-lost", lambda: region_lost(cluster)), ("region-returns", lambda: region_returns(cluster)),
            ("canary", lambda: canary(cluster, count // 4)), ("end", cluster.end))
