# SPDX-License-Identifier: Apache-2.0
"""Cases of attackers: a relay that knows link IDs, a thief of the link secret, and a stranger's phone."""
import secrets

import keys
import linking
import noise
from environment import OurClient, PythonClient, PythonPhone
from harness.relay import HOST
from harness.waiting import must


def _linked(env):
    """Returns a link of hybrid-auth, which listens, and the state that the user sees before an attack."""
    client, phone = PythonClient(env), env.phone
    client.link(phone, env.register(client, phone))
    phone.listening()
    return client.stored, phone


def _contact(env, link, payload):
    return linking.contact(link.contact, HOST, payload, env.address, env.authority)


def _ignored(env, link, phone, payloads, reason):
    """Contacts the phone, which must neither ask its user nor answer the relay."""
    ignored = f'ignored a wake-up for "{phone.label}": {reason}'
    questions, before = len(env.notifications.questions), phone.listener.said().count(ignored)
    tunnels = []
    for count, payload in enumerate(payloads, before + 1):
        tunnels.append(_contact(env, link, payload))
        phone.heard(ignored, count)
    must(len(env.notifications.questions) == questions, "expected no notification; found one")
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


def replayed_nonce(env):
    """A relay repeats a payload that the user has declined."""
    link, phone = _linked(env)
    payload = link.payload(secrets.token_bytes(16), "ga")
    env.notifications.answer = "decline"
    tunnel = _contact(env, link, payload)
    try:
        must(False, f"expected the tunnel to be closed; found {tunnel.receive(30)}")
    except linking.TunnelFailed as end:
        must(end.code == 1013, f"expected close code 1013; found {end}")
    _ignored(env, link, phone, [payload], "it was repeated")


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
    must(not env.radio.adverts(), "expected the advert to be withdrawn")


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
