# SPDX-License-Identifier: Apache-2.0
"""Cases of a phone's connection to the relay: proofs of other keys or for other hosts, and two connections."""
import secrets

import linking
from harness.relay import HOST
from harness.waiting import must

# The proof does not verify, or a newer connection of the same contact ID has replaced this one.
POLICY_VIOLATION = 1008


def _refused(env, **wrong):
    try:
        linking.Listener(linking.new_contact_key(), HOST, env.address, env.authority, **wrong)
    except linking.TunnelFailed as end:
        must(end.code == POLICY_VIOLATION, f"expected close code {POLICY_VIOLATION}; found {end}")
        return
    must(False, "expected the relay to refuse the proof; it accepted")


def wrong_signature(env):
    """Another key signs; another phone's contact ID is claimed."""
    _refused(env, signer=linking.new_contact_key())
    other = linking.contact_id(linking.new_contact_key())
    _refused(env, contact=other)


def foreign_host(env):
    """A signature that was made for another relay."""
    _refused(env, signed_host="cable.my4kstlhndi4c.net")


def duplicate_listener(env):
    """The newer connection replaces the older, and gets a wake-up that is still pending, once."""
    link = linking.PhoneLink.new(266)

    def listener():
        return linking.Listener(link.contact_key, HOST, env.address, env.authority)

    first = listener()
    data = linking.payload(link.link_id, link.secret, secrets.token_bytes(16), "ga", HOST)
    client = linking.contact(linking.contact_id(link.contact_key), HOST, data, env.address, env.authority)
    wake = first.wake()
    second = listener()
    again = second.wake()
    must((again.path, again.payload) == (wake.path, wake.payload) and wake.payload == data,
         f"expected the same wake-up; found {wake} and {again}")
    try:
        first.wake(30)
        must(False, "expected the older connection to be closed; it got a wake-up")
    except linking.TunnelFailed as end:
        must(end.code == POLICY_VIOLATION, f"expected close code {POLICY_VIOLATION}; found {end}")
    # The phone joins the tunnel, of which the client learns first.
    phone = linking.Tunnel(HOST, again.path, env.address, env.authority)
    linking.wait_for_phone(client)
    phone.send(b"to the client")
    must(client.receive() == b"to the client", "expected the phone's message")
    for end in (phone, client, second):
        end.close()
