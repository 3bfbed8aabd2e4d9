# SPDX-License-Identifier: Apache-2.0
"""Cases of attackers: a relay that knows link IDs, a thief of the link secret, and a stranger's phone."""
import secrets
import time

import keys
import linking
import noise
from environment import OurClient, PythonClient, PythonPhone
from harness.relay import HOST
from harness.waiting import must, poll


def _linked(env):
    """Returns a link of hybrid-auth, which listens, and the state that the user sees before an attack."""
    client, phone = PythonClient(env), env.phone
    client.link(phone, env.register(client, phone))
    phone.listening()
    return client.stored, phone


def _contact(env, link, payload):
    """Contacts the phone as soon as the relay's rate for its contact ID permits."""
    def attempt():
        try:
            return linking.contact(link.contact, HOST, payload, env.address, env.authority)
        except linking.TunnelFailed as failure:
            must(failure.status == 429, f"expected a tunnel; found {failure}")
            return None

    return env.waiting.until("the relay's rate to permit a contact", attempt, 60, pause=1)


def _ignored(env, link, phone, payloads, reason):
    """Contacts the phone, which must neither ask its user nor answer the relay."""
    questions = len(env.notifications.questions)
    tunnels = [_contact(env, link, payload) for payload in payloads]
    # One line a minute.
    phone.heard(f'ignored a wake-up for "{phone.label}": {reason}')
    env.notifications.answer = "decline"
    _declined(_contact(env, link, link.payload(secrets.token_bytes(16), "ga")))
    must(len(env.notifications.questions) == questions + 1, "expected one notification, for the last wake-up")
    for tunnel in tunnels:
        try:
            must(False, f"expected nothing from the phone; found {tunnel.receive(0.1)}")
        except linking.TunnelFailed as nothing:
            must(nothing.code is None, f"expected the relay to keep the tunnel; found {nothing}")
        tunnel.close()


def _state(link, phone):
    return next(known["state"] for known in phone.links() if known["id"] == link.link_id.hex())


def hostile_relay(env):
    """A relay knows the IDs and past payloads: without the proof it can neither ring nor mute the link."""
    link, phone = _linked(env)
    nonces = [secrets.token_bytes(16) for _ in range(3)]
    own = linking.payload(link.link_id, link.secret, nonces[2], "mc", HOST)
    payloads = [
        linking.payload(link.link_id, None, nonces[0], "ga", HOST),
        linking.payload(link.link_id, secrets.token_bytes(32), nonces[1], "ga", HOST),
        # The proof of another type of request.
        own.replace(b"bmc", b"bga"),
    ]
    must(payloads[2] != own, "expected a changed payload")
    _ignored(env, link, phone, payloads, "no proof that the computer sent it")
    must(_state(link, phone) == "active", "expected the link not to be muted")


def unknown_link(env):
    """A payload with another link ID."""
    link, phone = _linked(env)
    payload = linking.payload(secrets.token_bytes(8), link.secret, secrets.token_bytes(16), "ga", HOST)
    _ignored(env, link, phone, [payload], "no proof that the computer sent it")


def replayed(env):
    """A relay repeats a payload that the user has declined."""
    link, phone = _linked(env)
    payload = link.payload(secrets.token_bytes(16), "ga")
    env.notifications.answer = "decline"
    _declined(_contact(env, link, payload))
    _ignored(env, link, phone, [payload], "it was repeated")


def withheld(env):
    """A relay keeps requests and delivers them later, or more than 1,024 requests later: no question, no decline."""
    link, phone = _linked(env)
    now, number = time.time(), time.time_ns()
    claims = [
        linking.claims(number, now - 660), linking.claims(number + 1, now - 30 * 86_400),
        linking.claims(number + 2, now + 660),
    ]
    payloads = [link.payload(secrets.token_bytes(16), "ga", claimed) for claimed in claims]
    _ignored(env, link, phone, payloads, "it is old, or the clocks of both devices differ")
    must(_state(link, phone) == "active", "expected the link not to be muted")


def guests(env):
    """A website that is declined three times mutes requests of websites, and not those of SSH."""
    link, phone = _linked(env)
    env.notifications.answer = "decline"
    number = time.time_ns()
    for count in range(3):
        claimed = linking.claims(number + count, guest=True)
        tunnel = _contact(env, link, link.payload(secrets.token_bytes(16), "ga", claimed))
        _declined(tunnel)
    must(_state(link, phone) == "muted-for-guests", f"expected guests to be muted; found {_state(link, phone)}")
    questions = len(env.notifications.questions)
    claimed = linking.claims(number + 3, guest=True)
    _declined(_contact(env, link, link.payload(secrets.token_bytes(16), "ga", claimed)))
    must(len(env.notifications.questions) == questions, "expected no question for a guest")
    _declined(_contact(env, link, link.payload(secrets.token_bytes(16), "ga")))
    must(len(env.notifications.questions) == questions + 1, "expected a question for a program")


def _declined(tunnel):
    try:
        must(False, f"expected the tunnel to be closed; found {tunnel.receive(30)}")
    except linking.TunnelFailed as end:
        must(end.code == 1013, f"expected close code 1013; found {end}")


def thief(env):
    """A thief of the link secret without radio contact: the user agrees, and the thief gets no byte of the phone."""
    link, phone = _linked(env)
    tunnel = _contact(env, link, link.payload(secrets.token_bytes(16), "ga"))
    linking.wait_for_phone(tunnel)
    identity = linking.ec.EllipticCurvePublicKey.from_encoded_point(linking.ec.SECP256R1(), link.phone_key)
    guessed = b"\0" + secrets.token_bytes(13) + b"\x0a\x01"
    tunnel.send(noise.LinkedInitiator(identity, keys.psk(link.secret, guessed)).message1)
    try:
        must(False, f"expected no byte of the phone; found {tunnel.receive(30)}")
    except linking.TunnelFailed as end:
        must(end.code is not None, f"expected the tunnel to be closed; found {end}")
    # The phone waits for the relay's end of the tunnel first.
    must(poll(lambda: not env.radio.adverts(), 30), "expected the advert to be withdrawn")


def stranger(env):
    """A stranger's phone answers a visible code with a passkey of its own: no link, and no question about one."""
    client, other = OurClient(env), PythonPhone(env, "Stranger")
    env.register(client, other)
    options = env.request()
    run = client.show(options, ["--link"])
    scan = other.scan(run.code, link=True)
    env.accepted(run, options)
    env.ended(scan)
    must(run.event("not-linked"), f"expected the notice not-linked; found {run.events}")
    notices = [event["notice"] for event in run.events if event["event"] == "notice"]
    must("link-offer" not in notices and not client.phones(), f"expected no link; found {client.phones()}")


def ssh_key(env):
    """hybrid-key link: the phone with the SSH key is linked after its signature has been verified."""
    client, phone = OurClient(env), PythonPhone(env)
    client.remember(phone.ssh_key())
    run = client.link_with_key()
    scan = phone.scan(run.code, link=True)
    offer = run.event("link-offer")
    must(offer["evidence"] == "verified" and "website" not in offer["message"], f"expected no condition; found {offer}")
    run.write("yes\n")
    env.ended(run)
    env.ended(scan)
    found = [(known["name"], known["evidence"], known["key"][:7]) for known in client.phones()]
    must(found == [(phone.name, "verified", "SHA256:")], f"expected one verified phone; found {found}")


def stranger_ssh_key(env):
    """A stranger's phone answers hybrid-key link with an invented signature: no link, and no question about one."""
    client, phone, other = OurClient(env), PythonPhone(env), PythonPhone(env, "Stranger")
    client.remember(phone.ssh_key())
    # Whoever scans the code learns relying party and credential ID from the request.
    other.forge_keys_of(phone)
    run = client.link_with_key()
    run.write("yes\n")
    scan = other.scan(run.code, link=True)
    env.ended(run, 65)
    env.ended(scan)
    must(run.events[-1].get("code") == "wrong-ssh-key", f"expected the error wrong-ssh-key; found {run.events[-1]}")
    notices = [event["notice"] for event in run.events if event["event"] == "notice"]
    must("link-offer" not in notices and not client.phones(), f"expected no link; found {client.phones()}")
    return run.events[-1]["message"]
