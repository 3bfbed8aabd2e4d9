# SPDX-License-Identifier: Apache-2.0
"""Cases of linked phones, one function each. They raise Failed with what was expected and found."""
import secrets
import time

import cbor
import linking
from attacks import (guests, hostile_relay, replayed, ssh_key, stranger, stranger_ssh_key, thief, unknown_link,
                     withheld)
from connections import duplicate_listener, foreign_host, wrong_signature
from environment import OurClient, PythonClient, PythonPhone
from harness.relay import HOST
from harness.waiting import must
from latency import latency
from observer import FixedAnswer, Observer
from push import PUSH_CASES
from website import from_base64url, to_base64url


def pair(env):
    """hybrid-client and hybrid-auth: a link, then three sign-ins without a code, each with a notification."""
    client, phone = OurClient(env), env.phone
    credential = env.register(client, phone)
    name = client.link(phone, credential)
    must(client.sessions() == [], f"expected no TLS session before a contact; found {client.sessions()}")
    phone.listening()
    _three_sign_ins(env, client, credential)
    must(client.sessions() == ["600"], f"expected one TLS session for the user only; found {client.sessions()}")
    note = f"{len(client.phones())} phone"
    client.forget(name)
    must(client.sessions() == [], f"expected no TLS session without a link; found {client.sessions()}")
    return note


def restarted(env):
    """The relay loses the keys of its TLS tickets: both devices send their requests again, and nobody notices."""
    client, phone = OurClient(env), env.phone
    credential = env.register(client, phone)
    client.link(phone, credential)
    phone.listening()
    client.sign_in(credential)
    phone.heard(f'answered the request of "{phone.label}"')
    env.waiting.forget(env.relay.program)
    began = time.monotonic()
    must(not env.relay.stop(), "expected the relay to end")
    env.relay.start()
    if time.monotonic() - began > 0.9:
        return "not checked: the machine is too busy, and a phone returns later to a relay that was away for a second"
    # The phone returns within 5 s, for which the relay keeps the request.
    for count in (2, 3):
        client.sign_in(credential)
        phone.heard(f'answered the request of "{phone.label}"', count)
    return None


def python_client(env):
    """client.py and hybrid-auth."""
    client, phone = PythonClient(env), env.phone
    credential = env.register(client, phone)
    client.link(phone, credential)
    must(client.stored.proves, "expected linking information that announces the proof (key 1000)")
    phone.listening()
    _three_sign_ins(env, client, credential)


def python_phone(env):
    """hybrid-client and authenticator.py."""
    client, phone, credential = _linked(env)
    listener = phone.listen("--sign-ins", "3")
    for _ in range(3):
        client.sign_in(credential)
    env.ended(listener)


def _three_sign_ins(env, client, credential):
    label, listener = env.phone.label, env.phone.listener
    answered = f'answered the request of "{label}"'
    for count in (1, 2, 3):
        before = len(env.notifications.questions)
        client.sign_in(credential)
        # The phone serves one computer at a time.
        env.phone.heard(answered, count)
        shown = env.notifications.questions[before:]
        must(len(shown) == 1 and label in shown[0].text and "sign in" in shown[0].text,
             f"expected one notification that names {label!r} and the request; found {shown}")
    must(listener.status is None, f"expected hybrid-auth to go on listening; it {listener.ending}")


def _linked(env):
    """Returns hybrid-client, a phone in Python and the ID of a passkey, all of them linked."""
    client, phone = OurClient(env), PythonPhone(env)
    credential = env.register(client, phone)
    client.link(phone, credential)
    return client, phone, credential


def _falls_back(env, client, phone, credential, code, words, stays=True):
    """Signs in: the contact fails with a code and words, and the QR code is answered in the same command."""
    options = env.request(credential)
    run = client.show(options)
    failure = run.event("link-failed")
    must(failure["code"] == code and words in failure["message"],
         f"expected the failure {code} with {words!r}; found {failure}")
    _scanned(env, run, phone, options)
    must(bool(client.phones()) == stays,
         f"expected the link to {'stay' if stays else 'be deleted'}; found {client.phones()}")
    return failure["message"]


def _scanned(env, run, phone, options):
    scan = phone.scan(run.code)
    env.accepted(run, options)
    env.ended(scan)


def not_listening(env):
    """404: the relay holds the request for 8 seconds; then the code."""
    return _falls_back(env, *_linked(env), "linked-phone-unreachable",
                       '"Counterpart" could not be reached; scan the code instead')


def relay_unreachable(env):
    """The relay is down; it is back before the code is scanned."""
    client, phone, credential = _linked(env)
    options = env.request(credential)
    env.relay.die()
    try:
        run = client.show(options)
        failure = run.event("link-failed")
        must(failure["message"].startswith('"Counterpart" could not be') and
             failure["message"].endswith("; scan the code instead"), f"expected cause and remedy; found {failure}")
        code = run.code
    finally:
        env.relay.start()
    must(code == run.code, "expected one code; found another")
    _scanned(env, run, phone, options)
    must(len(client.phones()) == 1, "expected the link to stay")
    return failure["message"]


def revoked(env):
    """410 with the phone's signature: the link is deleted, and the code appears in the same command."""
    client, phone, credential = _linked(env)
    phone.listener().revoke()
    words = '"Counterpart" is no longer linked with this computer; scan the code instead'
    return _falls_back(env, client, phone, credential, "link-gone", words, stays=False)


def forgotten(env):
    """`hybrid-auth links forget`: the client gets a 410 that the key of the contact ID signed."""
    client, phone = PythonClient(env), env.phone
    client.link(phone, env.register(client, phone))
    phone.listening()
    link = client.stored
    phone.forget(link.link_id)
    head = _contact_refused(env, link, 410)
    key, signature = (from_base64url(head[f"X-Hybrid-Contact-{name}"]) for name in ("Key", "Gone"))
    public = linking.ed25519.Ed25519PublicKey.from_public_bytes(key)
    public.verify(signature, linking.gone_statement(HOST, link.contact))
    must(link.contact == linking.contact_id_of(key),
         "expected the key of the contact ID")


def _contact_refused(env, link, status):
    """Contacts a phone; returns the response's header fields."""
    data = link.payload(secrets.token_bytes(16), "ga")
    try:
        linking.contact(link.contact, HOST, data, env.address, env.authority)
    except linking.TunnelFailed as failure:
        must(failure.status == status, f"expected status {status}; found {failure}")
        return failure.fields
    must(False, f"expected status {status}; found a tunnel")


def unproved_410(env):
    """A relay answers 410 without a proof, and with that of another key: the link stays."""
    client, phone, credential = _linked(env)
    other = linking.new_contact_key()
    signed = other.sign(linking.gone_statement(HOST, linking.contact_id(other)))
    proof = "".join(f"X-Hybrid-Contact-{name}: {to_base64url(value)}\r\n"
                    for name, value in (("Key", linking.public_bytes(other)), ("Gone", signed)))
    for fields in ("", proof):
        answer = f"HTTP/1.1 410 Gone\r\n{fields}Content-Length: 0\r\nConnection: close\r\n\r\n"
        relay = env.keep(FixedAnswer(env.certificates, answer.encode()))
        run = client.show(env.request(credential), port=relay.port)
        failure = run.event("link-failed")
        must(failure["code"] == "linked-phone-unreachable", f"expected linked-phone-unreachable; found {failure}")
        must(run.code and len(client.phones()) == 1, "expected a code and the link; found neither or one")
        run.stop()


def declined(env):
    """The phone's user declines the tap: the relay closes with 1013, and the code appears at once."""
    client, phone, credential = _linked(env)
    listener = phone.listen("--tap", "no")
    words = 'the request was declined on "Counterpart"; scan the code instead'
    message = _falls_back(env, client, phone, credential, "linked-phone-declined", words)
    env.ended(listener)
    return message


def no_tap(env):
    """The user does not react: after 8 seconds the code is offered, too, and completes the sign-in."""
    client, phone, credential = _linked(env)
    phone.listen("--tap", "never")
    options = env.request(credential)
    run = client.show(options)
    run.event("phone-notified")
    _scanned(env, run, phone, options)
    must("link-failed" not in run.states, f"expected the contact to go on until the end; found {run.states}")


def unknown_phone(env):
    """--phone with a name that is not linked: 66, without a code."""
    run = OurClient(env).show(env.request(), ["--phone", "Nokia 3310"])
    env.ended(run, 66)
    must(run.never_showed_code(), "expected no code")
    error = run.events[-1]
    must(error.get("code") == "unknown-phone", f"expected the error unknown-phone; found {error}")
    return error["message"]


def wrong_update(env):
    """An update with a wrong signature: no link, no failure, and the earlier link stays."""
    client, phone, credential = _linked(env)
    before = client.phones()
    options = env.request(credential)
    run = client.show(options, ["--link"])
    other = PythonPhone(env, "Impostor")
    other.use_keys_of(phone)
    scan = other.scan(run.code, link=True, options=["--wrong-link"])
    env.accepted(run, options)
    env.ended(scan)
    must(run.event("not-linked") and client.phones() == before, f"expected only {before}; found {client.phones()}")


def observed(env):
    """What a relay sees of a link and a sign-in: what docs/linked.md lists, and nothing else."""
    observer = env.keep(Observer(env.certificates, env.relay.port))
    client, phone = OurClient(env), env.phone
    credential = env.register(client, phone)
    name = client.link(phone, credential, observer.port)
    phone.listening(observer.port)
    client.sign_in(credential, observer.port)
    phone.heard(f'answered the request of "{phone.label}"')
    phone.stop()
    sizes, links = [], set()
    for connection in observer.connections:
        kind = connection.path.split("/")[2]
        must(kind in ("new", "connect", "contact", "listen"), f"expected no other request; found {connection.path}")
        if kind == "contact":
            payload = cbor.read(bytes.fromhex(connection.fields()["x-cable-client-payload"]))
            must({key: type(value) for key, value in payload.items()} == {1: bytes, 2: bytes, 3: str, 4: bytes}
                 and payload[3] == "ga", f"expected link ID, nonce, hint and proof; found {payload}")
            links.add(connection.path.split("/")[3])
        if kind == "listen":
            kinds = [cbor.read(message)[0] for _, message in connection.messages]
            expected = {"hello", "own", "ok", "wake", "gone"}
            must(set(kinds) <= expected, f"expected only messages of a listener; found {kinds}")
        elif kind != "new":
            frames = [message for _, message in connection.messages if message != b"\0"]
            must([len(frame) for frame in frames[:2]] == [81, 81], f"expected a handshake; found {frames[:2]}")
            must(all((len(frame) - 16) % 32 == 0 for frame in frames[2:]), "expected padded frames")
            sizes += [len(frame) for frame in frames[2:]]
    must(links and sizes, f"expected a contact and frames; found {links}, {sizes}")
    seen = b"".join([connection.head.encode("latin-1") + connection.response.encode("latin-1")
                     + b"".join(message for _, message in connection.messages) for connection in observer.connections])
    for what, secret in (("the RP ID", b"localhost"), ("the phone's name", cbor.canonical(name)),
                         ("the computer's name", phone.label.encode()),
                         ("the credential ID", from_base64url(credential)), ("the text of the ID", credential.encode()),
                         ("the version in the clear", b"FIDO_2")):
        must(secret not in seen, f"expected the relay not to see {what}; it did")
    return f"{len(observer.connections)} connections, frames of {min(sizes)} to {max(sizes)} bytes"


CASES = {
    "pair": pair, "restarted": restarted, "python-client": python_client, "python-phone": python_phone,
    "not-listening": not_listening, "relay-unreachable": relay_unreachable, "revoked": revoked, "forgotten": forgotten,
    "unproved-410": unproved_410, "declined": declined, "no-tap": no_tap, "unknown-phone": unknown_phone,
    "wrong-update": wrong_update, "stranger": stranger,
    "ssh-key": ssh_key, "stranger-ssh-key": stranger_ssh_key,
    "wrong-signature": wrong_signature, "foreign-host": foreign_host, "duplicate-listener": duplicate_listener,
    "unknown-link": unknown_link, "replayed": replayed, "hostile-relay": hostile_relay, "thief": thief,
    "withheld": withheld, "guests": guests,
    "observed": observed, "latency": latency, **PUSH_CASES,
}
