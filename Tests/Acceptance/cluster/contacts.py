# SPDX-License-Identifier: Apache-2.0
"""Steps with linked phones: contacts meet their phones on one node, a push fails, a node is lost, and it returns."""
import collections
import signal
import time

from balancer import LISTENER_LIFETIME, Node
from harness.async_waiting import require, until
from harness.contact import contact
from harness.websocket import Refused
from phones import AFTER_DRAIN, Phone, Phones, new_payload
from shares import subscribed

# Each phone is contacted twice, below the relay's limit on wake-ups.
PHONES, TIMES = 500, 2
# Seconds until HAProxy has noticed that a node is up, or down.
NOTICED = 5


def _shares(phones):
    return collections.Counter(phone.node for phone in phones)


def _listed(cluster, shares):
    return ", ".join(f"{shares[node.number]} on node {node.number}" for node in cluster.nodes)


def _slowest(times):
    return f"{max(times) * 1e3:.0f} ms at most, {sorted(times)[len(times) // 2] * 1e3:.0f} ms in the middle"


async def contacts(cluster):
    """Contacts phones through HAProxy: each contact must reach the node on which its phone listens."""
    phones = cluster.phones = Phones(cluster.load, cluster.balancer, PHONES)
    await phones.listen()
    first = await phones.ring()
    homes = {phone: phone.node for phone in phones.all}
    second = await phones.ring()
    moved = sum(phone.node != home for phone, home in homes.items())
    require(not moved, f"expected each phone to stay on one node; {moved} moved")
    shares = _shares(phones.all)
    require(set(shares) == {node.number for node in cluster.nodes},
            f"expected phones on every node; found {_listed(cluster, shares)}")
    woken = sum(phone.wakes for phone in phones.all)
    require(woken == PHONES * TIMES, f"expected {PHONES * TIMES} wake-ups; found {woken}")
    behind_nginx = Phone(cluster.load, cluster.nginx)
    try:
        await until("a phone to listen behind nginx", lambda: behind_nginx.since, 60)
        await behind_nginx.ring()
    finally:
        behind_nginx.end()
    return (f"{woken} contacts of {PHONES} phones met them: {_listed(cluster, shares)}; contact to phone "
            f"{_slowest(first + second)}; one through nginx, too")


async def push_failed(cluster):
    """Contacts a phone whose push server fails: nginx tries no other node, each of which would send a message."""
    load, door, server = cluster.load, cluster.nginx, cluster.push
    contact_id = await subscribed(load, door, server)
    server.status, before = 500, server.requests
    try:
        client = await contact(load.opener(door), contact_id, new_payload(load))
        client.hang_up()
        status = 101
    except Refused as refusal:
        status = refusal.status
    sent = server.requests - before
    require(status == 502 and sent == 1, f"expected 502 after one message; found {status} after {sent}")
    return "502 after one message, from one node"


async def node_lost(cluster):
    """Sends SIGKILL to a node: its phones listen on other nodes, and contacts reach them there."""
    phones, node = cluster.phones, cluster.nodes[-1]
    its_own = [phone for phone in phones.all if phone.node == node.number]
    start = time.monotonic()
    node.signal(signal.SIGKILL)
    returns = await phones.return_since(start, its_own)
    # The last phones may have connected before HAProxy noticed the end of the node.
    times = await phones.ring(its_own)
    lost = [phone for phone in its_own if phone.node == node.number]
    require(not lost, f"expected wake-ups from other nodes only; found {len(lost)} from node {node.number}")
    return (f"{len(its_own)} phones listened on other nodes after {returns[0] - start:.1f} to "
            f"{returns[-1] - start:.1f} s ({_listed(cluster, _shares(its_own))}); contacts reached all of them, "
            f"{_slowest(times)}")


async def node_returns(cluster):
    """Starts the node again: its phones return within the lifetime of their connections."""
    phones, old = cluster.phones, cluster.nodes[-1]
    before = {phone: phone.node for phone in phones.all}
    node = cluster.nodes[-1] = Node(old.number, cluster.program, cluster.folder, name="returned", replaces=old)
    await node.listens()
    start = time.monotonic()

    async def is_used():
        return await node.value("hybrid_relay_listeners") > 0

    await until("a phone to listen on the returned node", is_used, LISTENER_LIFETIME + 30)
    noticed = time.monotonic()
    returns = await phones.return_since(noticed, seconds=LISTENER_LIFETIME + AFTER_DRAIN[1] + NOTICED)
    times = await phones.ring()
    moved = [phone for phone, home in before.items() if phone.node != home]
    strays = [phone for phone in moved if phone.node != node.number]
    require(not strays, f"expected phones to move to node {node.number} only; {len(strays)} moved to others")
    require(moved, f"expected phones on node {node.number}; found none")
    phones.end()
    cluster.phones = None
    for each in cluster.nodes:
        await each.shows("hybrid_relay_listeners", 0)
    return (f"{len(moved)} phones returned to node {node.number} within {returns[-1] - start:.1f} s, with connections "
            f"of at most {LISTENER_LIFETIME} s; contacts reached all {len(phones.all)}, {_slowest(times)}")
