# SPDX-License-Identifier: Apache-2.0
"""Attacks on what all users share: name lookups, places for push messages, and the rate of one address."""
import asyncio
import collections
import contextlib
import ipaddress
import random
import socket
import subprocess
import time

from fido2 import cbor
from harness.async_waiting import at_once, require, until, within
from harness.contact import base64url, contact, listen
from harness.push_server import PushServer
from harness.websocket import HungUp, Refused
from load import PATIENCE
from phones import new_key, new_payload

# Linked phones that are woken by push, each twice, for a contact ID may be woken three times at once.
WOKEN, TIMES = 10, 2
# Connections of the party with silent names, and its requests on each.
CONNECTIONS, SEALS = 12, 4
# Parties with a silent push server each, below the number that docs/operations.md names; and those of one /48.
PARTIES, SUBNETS = 24, 136
# Failed requests of one address, and the sign-ins of its neighbor.
FAILURES, SIGN_INS = 200, 30
# A loopback address for a name server that never answers.
SILENT = "127.0.0.66"


@contextlib.contextmanager
def _silent_sockets(count, kind=socket.SOCK_STREAM, address=("127.0.0.1", 0)):
    """Returns sockets that never answer."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket(socket.AF_INET, kind)) for _ in range(count)]
        for one in sockets:
            one.bind(address)
            if kind == socket.SOCK_STREAM:
                one.listen(64)
        yield sockets


@contextlib.asynccontextmanager
async def _push_relay(env, name, *options, **more):
    """Returns a relay with a push server, and the contact IDs of phones that are woken there."""
    server, settings = push_server(env.program, env.folder / f"{name}-push-keys", env.certificates)
    load = env.load
    try:
        async with env.own_relay(name, *settings, *options, proxied=True, **more) as door:
            yield door, server, [await subscribed(load, door, server, source=load.fresh_source()) for _ in range(WOKEN)]
    finally:
        server.close()


def push_server(program, keys, certificates):
    """Returns a push server, and the options of a relay that uses it, with new push keys in a file."""
    certificate, key = certificates.pairs[0]
    server = PushServer(certificate, key, host="localhost")
    keys.unlink(missing_ok=True)
    subprocess.run([program, "new-push-keys", keys], check=True, capture_output=True)
    return server, ("--push-key-file", keys, "--push-subject", "mailto:operator@example.org", "--push-cacert",
                    certificate, "--push-allow", f"localhost:{server.port}")


async def subscribed(load, door, server, **options):
    """Returns the contact ID of a new push subscription."""
    phone = await listen(load.opener(door, **options), new_key(load))
    subscription = server.subscribe()
    phone.say({0: "seal", 1: subscription.endpoint, 2: subscription.p256dh, 3: subscription.auth})
    message = await asyncio.to_thread(subscription.wait, PATIENCE)
    phone.say({0: "proof", 1: cbor.decode(message.content)[1]})
    answer = cbor.decode(await within(PATIENCE, "the contact ID", phone.receive()))
    require(answer[0] == "sealed", f"expected a contact ID; found {answer}")
    phone.hang_up()
    return base64url(answer[1])


async def _seals(load, door, source, endpoint, server, count=SEALS):
    """Requests contact IDs for an endpoint on one connection, which stays open."""
    phone = await listen(load.opener(door, source=source), new_key(load))
    decoy = server.subscribe()
    for _ in range(count):
        phone.say({0: "seal", 1: endpoint, 2: decoy.p256dh, 3: decoy.auth})


async def _woken(load, door, contacts):
    """Contacts all phones; returns the answers and the longest time of one."""
    answers, slowest = collections.Counter(), 0
    for contact_id in contacts * TIMES:
        start = time.monotonic()
        try:
            client = await contact(load.opener(door, source=load.fresh_source()), contact_id, new_payload(load))
            client.hang_up()
            answers["101"] += 1
        except Refused as refusal:
            answers[str(refusal.status)] += 1
        except HungUp:
            answers["closed"] += 1
        slowest = max(slowest, time.monotonic() - start)
    return answers, slowest


async def silent_names(env):
    """One address requests contact IDs for names whose server never answers; others' phones are still woken."""
    load = env.load
    resolver = env.folder / "silent-resolv.conf"
    resolver.write_text(f"nameserver {SILENT}\n")
    # Only in the mount namespace of this relay.
    mount = f'mount --bind "{resolver}" /etc/resolv.conf && exec "$@"'
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(_silent_sockets(1, socket.SOCK_DGRAM, (SILENT, 53)))
        except PermissionError:
            return "not run: only root may open a name server's port"
        async with _push_relay(env, "silent-names", before=("unshare", "--mount", "sh", "-c", mount, "sh")) as made:
            door, server, contacts = made
            source = load.fresh_source()
            for number in range(CONNECTIONS):
                await _seals(load, door, source, f"https://n{number}.silent-names.com/", server)
            await until("a proof to be on its way", lambda: _pending(door), PATIENCE)
            answers, slowest = await _woken(load, door, contacts)
            figures = f"{CONNECTIONS} connections with {SEALS} silent names each: {dict(answers)}, {slowest:.1f} s at most"
            require(set(answers) == {"101"}, f"expected all phones to be woken: {figures}")
            return figures


async def _pending(door):
    return await door.value("hybrid_relay_pushes_pending") > 0


async def proof_flood(env):
    """Parties request contact IDs for push servers that never answer; others' phones are still woken."""
    sources = [env.load.fresh_source() for _ in range(PARTIES)]
    return await _proofs(env, "proof-flood", sources, connections=2, seals=SEALS)


async def two_48s(env):
    """The same from the /64s of two IPv6 /48s, each for one push server."""
    networks = [int(ipaddress.ip_address(f"2001:db8:{number:x}::")) for number in random.sample(range(1 << 16), 2)]
    sources = [env.load.named(ipaddress.ip_address(network + (subnet << 64) + 1))
               for network in networks for subnet in range(SUBNETS)]
    return await _proofs(env, "two-48s", sources, connections=1, seals=1)


async def _proofs(env, name, sources, connections, seals):
    load, listening = env.load, collections.Counter()
    with _silent_sockets(len(sources)) as silent:
        ports = [one.getsockname()[1] for one in silent]
        allowed = [text for port in ports for text in ("--push-allow", f"127.0.0.1:{port}")]
        async with _push_relay(env, name, *allowed) as (door, server, contacts):
            async def one(party):
                source, port = party
                for _ in range(connections):
                    try:
                        await _seals(load, door, source, f"https://127.0.0.1:{port}/", server, seals)
                        listening["listening"] += 1
                    except (Refused, HungUp):
                        listening["refused"] += 1

            await at_once(24, one, list(zip(sources, ports)))
            await until("proofs to be on their way", lambda: _pending(door), PATIENCE)
            pending = await door.value("hybrid_relay_pushes_pending")
            answers, slowest = await _woken(load, door, contacts)
            figures = (f"{len(sources)} parties, {dict(listening)}, {pending:.0f} proofs on their way: {dict(answers)}, "
                       f"{slowest:.1f} s at most")
            require(pending <= 64, f"expected proofs to have a quarter of 256 places: {figures}")
            require(set(answers) == {"101"}, f"expected all phones to be woken: {figures}")
            return figures


async def failing_neighbor(env):
    """One user of an address fails as often as possible; another user of the same address signs in."""
    load, door = env.load, env.plain
    source, answers = load.fresh_source(), collections.Counter()
    for _ in range(FAILURES):
        status = await load.status(door, f"/cable/connect/{'0' * 6}/{load.tunnel_id()}", source=source)
        answers[str(status or "closed")] += 1
        if answers["404"] >= 60:
            break
    signed_in = 0
    for _ in range(SIGN_INS):
        try:
            phone, tunnel, routing = await load.phone(door, source=source)
            client = await load.client(door, tunnel, routing, source=source)
        except (Refused, HungUp):
            break
        phone.hang_up()
        client.hang_up()
        signed_in += 1
    figures = f"after {dict(answers)}: {signed_in} of {SIGN_INS} sign-ins of the neighbor"
    require(signed_in == SIGN_INS, f"expected half of the rate to be left: {figures}")
    return figures
