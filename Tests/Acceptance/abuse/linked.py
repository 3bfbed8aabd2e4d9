# SPDX-License-Identifier: Apache-2.0
"""Attacks on linked phones and their contacts, and the return of a thousand phones after a restart."""
import asyncio
import collections
import secrets
import time

from fido2 import cbor
from harness.async_waiting import at_once, require, until, within
from harness.contact import (JOINED, LISTEN, PAYLOAD, POLICY, ContactKey, base64url, closed_with, contact,
                             contact_request, listen, open_listener)
from harness.websocket import BINARY, CONTINUATION, PING, TEXT, HungUp, Refused, frame, frame_head, masked, request
from load import PATIENCE
from phones import Phone, Phones, new_key, new_payload
from tunnels import still_works

# Defaults of the relay: time for the proof, listeners of one source, and the time that a contact is held. The relay
# checks its connections once a second; the rest is for the load.
PROOF_TIME, SOURCE_LISTENERS, HOLD, LATE = 5, 32, 8, 20
FLOOD = 400
UNPROVEN, PER_SOURCE = 300, 10
HELD_PER_SOURCE = 4
# The most contacts that one relay holds, and the attempts.
MOST_HELD, CONTACTS = 50, 200
# Close codes for a violation: of WebSocket, of the text encoding, of a rule, too long.
VIOLATIONS = {1002, 1003, 1007, 1008, 1009}
RESTARTED, RESTART_SECONDS = 1_000, 60


async def listener_flood(env):
    """Opens many listeners from one source, each with a valid proof; others are not affected."""
    load, door = env.load, env.tls
    source, answers, held = load.fresh_source(), collections.Counter(), []

    async def one(_):
        try:
            held.append(await listen(load.opener(door, source=source), new_key(load)))
            answers["101"] += 1
        except Refused as refusal:
            answers[str(refusal.status)] += 1
        except HungUp:
            answers["closed"] += 1

    async def others():
        rounds = 0
        while not flood.done() or not rounds:
            phone = Phone(load, door, source=load.fresh_source())
            try:
                await until("the phone of another source to listen", lambda: phone.since, PATIENCE)
                await phone.ring()
            finally:
                phone.end()
            await still_works(load, door)
            rounds += 1
        return rounds

    flood = asyncio.ensure_future(at_once(50, one, range(FLOOD)))
    try:
        rounds = await others()
        await flood
    finally:
        flood.cancel()
    figures = f"{FLOOD} from one source: {_listed(answers)}; {rounds} phones of others meanwhile, none affected"
    require(len(held) == SOURCE_LISTENERS, f"expected {SOURCE_LISTENERS} listeners: {figures}")
    require(answers["429"] and set(answers) <= {"101", "429", "closed"}, f"expected 429 for others: {figures}")
    # An early end frees a place, once the source has a budget again.
    held.pop().hang_up()

    async def is_admitted():
        try:
            (await listen(load.opener(door, source=source), new_key(load))).hang_up()
        except (Refused, HungUp):
            return False
        return True

    await until("the source to be admitted again", is_admitted, 60, pause=0.5)
    return figures


async def unproven_listeners(env):
    """Opens listeners that prove nothing, or prove it wrongly; none may count as a phone."""
    load, door = env.load, env.plain
    sources = [load.fresh_source() for _ in range(UNPROVEN // PER_SOURCE)]
    victim = Phone(load, door, source=load.fresh_source())
    await until("a phone to listen", lambda: victim.since, PATIENCE)

    async def wrong(listener, challenge, kind):
        """Sends one wrong proof."""
        other = ContactKey()
        right = listener.key.own(listener.host, challenge)
        if kind == "signature":
            listener.own(right[:-1] + bytes((right[-1] ^ 1,)))
        elif kind == "challenge":
            listener.own(listener.key.own(listener.host, secrets.token_bytes(32)))
        elif kind == "host":
            listener.own(listener.key.own("relay.invalid", challenge))
        elif kind == "key":
            listener.own(other.own(listener.host, challenge), other.public)
        elif kind == "gone":
            listener.revoke()

    kinds = ("signature", "challenge", "host", "key", "gone", "silent", "silent", "silent", "silent", "silent")

    async def one(number):
        kind = kinds[number % len(kinds)]
        # Wrong proofs for the ID of a phone that listens must not disturb it.
        key = new_key(load) if kind == "silent" else victim.key
        start = time.monotonic()
        listener = await open_listener(load.opener(door, source=sources[number // PER_SOURCE]), key)
        challenge = await listener.hello()
        if kind != "silent":
            await wrong(listener, challenge, kind)
        await closed_with(listener, POLICY, f"a listener with {kind} in place of its proof to be closed")
        seconds = time.monotonic() - start
        require(seconds < PROOF_TIME + LATE, f"expected a listener with {kind} to be closed within "
                                             f"{PROOF_TIME + LATE} s; it took {seconds:.1f} s")
        return seconds

    since = victim.since
    try:
        seconds = await at_once(UNPROVEN, one, range(UNPROVEN))
        require(victim.since == since, "expected the phone to keep its connection; it lost it")
        await victim.ring()
    finally:
        victim.end()
    return (f"{UNPROVEN} listeners without a proof closed with {POLICY}, the slowest after {max(seconds):.1f} s; a "
            "phone with the same contact ID kept its connection")


async def held_contacts(env):
    """Contacts phones that do not exist, more than the relay holds; tunnels and other contacts go on."""
    load, answers = env.load, collections.Counter()
    async with env.own_relay("held", "--max-held-contacts", str(MOST_HELD), proxied=True) as door:
        # As many as a source may hold.
        sources = [load.fresh_source() for _ in range(CONTACTS // HELD_PER_SOURCE)]
        phone = Phone(load, door, source=load.fresh_source())
        await until("a phone to listen", lambda: phone.since, PATIENCE)
        highest, times = 0, []

        async def one(number):
            start = time.monotonic()
            try:
                await contact(load.opener(door, source=sources[number // HELD_PER_SOURCE]), new_key(load).text,
                              new_payload(load))
                answers["101"] += 1
            except Refused as refusal:
                answers[str(refusal.status)] += 1
                if refusal.status == 404:
                    times.append(time.monotonic() - start)

        contacts = asyncio.ensure_future(at_once(CONTACTS, one, range(CONTACTS)))
        rounds = 0
        try:
            while not contacts.done():
                highest = max(highest, await door.value("hybrid_relay_contacts_held"))
                await still_works(load, door)
                # Below the limit on wake-ups of one phone.
                if rounds % 20 == 0 and rounds < 60:
                    await phone.ring()
                rounds += 1
            await contacts
        finally:
            contacts.cancel()
            phone.end()
        await door.shows("hybrid_relay_contacts_held", 0)
        figures = (f"{CONTACTS} contacts without a phone: {_listed(answers)}, held for {min(times):.1f} to "
                   f"{max(times):.1f} s, {highest} at once at most; {rounds} tunnels of others meanwhile")
        require(set(answers) == {"404", "503"} and answers["404"] == MOST_HELD and highest <= MOST_HELD,
                f"expected {MOST_HELD} to be held and 503 for others: {figures}")
        require(HOLD - 1 <= min(times) and max(times) <= HOLD + LATE, f"expected 404 after {HOLD} s: {figures}")
        return figures


async def odd_contacts(env):
    """Sends contacts with malformed IDs and payloads, up to 300 KiB; the phone must not be woken."""
    load = env.load
    for door in env.lasting:
        phone = Phone(load, door, source=load.fresh_source())
        await until("a phone to listen", lambda: phone.since, PATIENCE)
        text, good = phone.key.text, new_payload(load)
        push = base64url(b"\2" + secrets.token_bytes(80))
        load.secrets.add(push)
        odd = (
            (contact_request(text, b"\1" * (150 << 10)), 431), (contact_request(text, b"\1" * 257), 400),
            (contact_request(text, ""), 400), (contact_request(text, "abc"), 400), (contact_request(text, "zz"), 400),
            (contact_request(text, "é"), 400), (request(f"/cable/contact/{text}"), 400),
            (contact_request(text, good, fields=[(PAYLOAD, good.hex())]), 400),
            (contact_request(text + "=", good), 400), (contact_request("", good), 400),
            (contact_request("A" * 1367, good), 400), (contact_request(text + "/", good), 404),
            (contact_request(push, good), 404), (contact_request(secrets.token_urlsafe(16), good), 404),
            (request(f"/cable/listen/{text}"), 400), (request("/cable/listen/A", protocol=LISTEN), 400),
            (request(f"/cable/listen/{push}", protocol=LISTEN), 404),
            (contact_request(text, good).replace(b"fido.cable", LISTEN.encode()), 400),
            (contact_request(text, good).replace(b"GET", b"POST"), 405),
        )

        async def one(case):
            sent, wanted = case
            line = await load.line(door, first=sent, source=load.fresh_source())
            await within(PATIENCE, "a response to a malformed contact", asyncio.shield(line.over))
            seen = bytes(line.heard.partition(b"\r\n")[0])
            require(seen.startswith(b"HTTP/1.1 %d " % wanted),
                    f"expected {wanted} for {sent[:60]!r}, {len(sent)} bytes; found {seen!r}")

        try:
            await at_once(len(odd), one, odd)
            require(phone.wakes == 0, f"expected no wake-up; found {phone.wakes}")
            await phone.ring()
            require(phone.wakes == 1, f"expected one wake-up; found {phone.wakes}")
        finally:
            phone.end()
    return f"{2 * len(odd)} contacts, each refused with the expected status; the phones were not woken"


async def hostile_listeners(env):
    """Sends frames and messages that phones never send, before and after the proof."""
    load, door = env.load, env.plain
    key = new_key(load)
    own = cbor.encode({0: "own", 1: key.public, 2: bytes(64)})
    messages = (
        b"", b"\xa0", b"\xf6", b"{}", cbor.encode({0: "ok"}), cbor.encode({0: "hello", 1: bytes(32), 2: 55}),
        cbor.encode({0: "wake", 1: 1, 2: bytes(3), 3: bytes(16), 4: b"\1", 5: 1}), cbor.encode({0: "seal", 1: b"\1"}),
        cbor.encode({0: "decline"}), cbor.encode({0: "decline", 1: -1}), cbor.encode({0: "decline", 1: 1 << 40}),
        cbor.encode({0: "gone", 1: bytes(64)}), cbor.encode({0: "gone", 1: bytes(63)}), own, own + b"\0", own[:-1],
        # A key twice, an indefinite length, a length that is longer than needed.
        b"\xa2\x00\x62ok\x00\x62ok", b"\xbf\x00\x62ok\xff", b"\xa1\x18\x00\x62ok", b"\x9b" + b"\xff" * 8,
        b"\xa1" * 1000, cbor.encode({0: "decline", 1: 1, 2: bytes(900)}), bytes(1025),
    )
    frames = (
        frame(b"text", TEXT), frame(b"", CONTINUATION), frame(b"\1", BINARY, final=False) + frame(b"\1"),
        b"\x82\x01\1", b"\xc2" + frame(b"\1")[1:], frame(b"\1", 3), frame_head(1 << 20) + bytes(4),
        frame_head(1 << 62) + bytes(4), frame(bytes(126), PING), frame(b"\1", PING, final=False),
        frame(bytes(600), BINARY, final=False) + frame(bytes(600), CONTINUATION),
        b"".join(frame(b"\1", BINARY if number == 0 else CONTINUATION, final=False) for number in range(5000)),
        b"".join(frame(bytes(100), PING) for _ in range(5000)),
        b"\x82\x81\0\0\0\0" + masked(b"\1", bytes(4)),
    )
    codes = collections.Counter()

    async def one(case):
        sent, proves = case
        connect = load.opener(door, source=load.fresh_source())
        if proves:
            listener = await listen(connect, new_key(load))
        else:
            listener = await open_listener(connect, new_key(load))
            await listener.hello()
        listener.write(sent)
        what = f"a listener that sends {sent[:20].hex()} to be closed"
        code = await within(PATIENCE, what, listener.close_code())
        # The code can be lost if the relay disconnects while data is under way.
        require(code in VIOLATIONS or (code is None and len(sent) > 64 << 10),
                f"expected the close code of a violation for {sent[:20].hex()} {'after' if proves else 'before'} the "
                f"proof; found {listener.ending}")
        codes[str(code or "disconnected")] += 1

    victim = Phone(load, door, source=load.fresh_source())
    await until("a phone to listen", lambda: victim.since, PATIENCE)
    since = victim.since
    cases = [(sent, proves) for sent in (*map(frame, messages), *frames) for proves in (False, True)]
    try:
        await at_once(20, one, cases)
        # A number of no wake-up is ignored.
        listener = await listen(load.opener(door, source=load.fresh_source()), new_key(load))
        listener.decline(7)
        listener.write(frame(b"still", PING))
        await until("a pong after a decline of nothing", lambda: listener.last_pong == b"still", PATIENCE)
        listener.hang_up()
        await _hostile_tunnel(load, door)
        require(victim.since == since, "expected another phone to keep its connection; it lost it")
        await victim.ring()
    finally:
        victim.end()
    return f"{len(cases)} frames and messages, closed with {_listed(codes)}; another phone not affected"


async def _hostile_tunnel(load, door):
    """Lets a client send before its phone joins, and a third party try to join; the byte 00 must come first."""
    key, source = new_key(load), load.fresh_source()
    listener = await listen(load.opener(door, source=source), key)
    client = await contact(load.opener(door, source=source), key.text, new_payload(load))
    early = secrets.token_bytes(81)
    client.send(early)
    wake = await listener.wake()
    guess = f"/cable/connect/{wake.routing.hex()}/{secrets.token_hex(16)}"
    require(await load.status(door, guess) == 404, "expected 404 for another tunnel ID")
    phone = await load.ask(door, wake.path)
    require(await load.status(door, wake.path) == 404, "expected 404 for a second phone")
    phone.send(b"reply")
    require(await within(PATIENCE, "the client's early message", phone.receive()) == early,
            "expected the client's early message; found another")
    for wanted in (JOINED, b"reply"):
        seen = await within(PATIENCE, "the phone's arrival and reply", client.receive())
        require(seen == wanted, f"expected {wanted!r} for the client; found {seen!r}")
    for end in (phone, client, listener):
        end.hang_up()


async def restart(env):
    """Restarts a relay on which a thousand phones listen over TLS; they return as phones do."""
    load = env.load
    async with env.own_relay("restart", proxied=True, certificates=env.certificates) as door:
        phones = Phones(load, door, RESTARTED)
        try:
            await phones.listen()
            await door.shows("hybrid_relay_listeners", RESTARTED)
            resident = door.resident()
            start = time.monotonic()
            status = await door.stop()
            require(status == 0, f"expected exit status 0 of the relay; found {status}")
            stopped = time.monotonic() - start
            async with env.own_relay("restarted", proxied=True, certificates=env.certificates, replaces=door) as after:
                processor, began = after.processor(), time.monotonic()
                times = await phones.return_since(start, seconds=RESTART_SECONDS)
                # The relay counts a phone a moment before that phone knows.
                await after.shows("hybrid_relay_listeners", RESTARTED)
                used = after.processor() - processor
                busiest = max(sum(second <= moment < second + 1 for moment in times) for second in times)
                back = await phones.ring(phones.all[:50])
        finally:
            phones.end()
    return (f"{RESTARTED} phones over TLS, {resident / 1024:.0f} MiB; the relay ended after {stopped:.1f} s and "
            f"started again; all listened {times[-1] - start:.1f} s after the order to stop, {times[-1] - began:.1f} s "
            f"after the start; at most {busiest} handshakes in a second, {used / RESTARTED * 1e6:.0f} µs of processor "
            f"time each; contacts reached 50 of 50 phones, the slowest after {max(back) * 1e3:.0f} ms")


def _listed(answers):
    return ", ".join(f"{number} × {what}" for what, number in sorted(answers.items()))
