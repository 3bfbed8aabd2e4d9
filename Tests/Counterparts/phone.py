# SPDX-License-Identifier: Apache-2.0
"""Steps of the authenticator; `authenticator.py` performs them in order, `hostile_authenticator.py` does not."""
import secrets

import cbor, channel, keys, linking, noise, qr
from tunnel import Tunnel


class Phone:
    """One scanned code and its session."""

    def __init__(self, text, relay, ca, domain, inspection=None):
        self.offer = qr.parse(text)
        self.hint = self.offer.hint
        self.relay, self.ca, self.domain = relay, ca, domain
        self.inspection = inspection
        if inspection:
            inspection.offer(self.offer, text)
        self.tunnel = self.eid = self.channel = self.handshake_hash = None

    def open_tunnel(self):
        """Opens a tunnel; its routing ID becomes part of the advert."""
        path = f"/cable/new/{self.tunnel_id.hex()}"
        self.tunnel = Tunnel(keys.host(self.domain), path, self.relay, self.ca)
        self.eid = keys.eid_plaintext(secrets.token_bytes(10), self.tunnel.routing_id, self.domain)

    @property
    def eid_key(self):
        return keys.eid_key(self.offer.secret)

    @property
    def tunnel_id(self):
        return keys.tunnel_id(self.offer.secret)

    @property
    def advert(self):
        return keys.seal_eid(self.eid, self.eid_key)

    def respond(self, message1):
        """Returns message 2 and the channel keys."""
        return noise.respond(self.offer.client_key, keys.psk(self.offer.secret, self.eid), message1)

    def shake_hands(self, message1, padding=channel.pad):
        message2, result = self.respond(message1)
        self.tunnel.send(message2)
        self.handshake_hash = result.handshake_hash
        self.channel = channel.Channel(result.phone_to_client, result.client_to_phone, padding)

    def send(self, message, **how):
        self.tunnel.send(self.channel.seal(message, **how))

    def next_request(self):
        """Returns the next CTAP request; None after a shutdown message."""
        message = self.channel.open(self.tunnel.receive(120))
        if self.inspection:
            self.inspection.padding(self.channel.last_padded)
        if message[:1] == bytes([channel.SHUTDOWN]):
            return None
        if message[:1] != bytes([channel.CTAP]) or len(message) < 2:
            raise channel.ChannelFailed(f"no request: {message[:20].hex()}")
        if self.inspection:
            self.inspection.request(message[1:], self.hint)
        return message[1:]

    def link(self):
        """Returns linking information."""
        return channel.linking_map(
            contact_id=secrets.token_bytes(152),
            link_id=secrets.token_bytes(8),
            secret=secrets.token_bytes(32),
            identity=noise.new_key(),
            name="Counterpart",
            client_key=self.offer.client_key,
            handshake_hash=self.handshake_hash,
        )


class LinkedPhone(Phone):
    """One wake-up of a linked client, after the user's tap."""

    def __init__(self, link, wake, nonce, hint, relay, ca, inspection=None):
        self.link_record, self.wake, self.hint = link, wake, hint
        self.relay, self.ca, self.domain = relay, ca, link.domain
        self.inspection = inspection
        self.eid, self._advert = linking.fresh_eid(link.secret, nonce)
        self.tunnel = self.channel = self.handshake_hash = None

    def open_tunnel(self):
        """Joins the tunnel in which the client waits."""
        self.tunnel = Tunnel(self.link_record.host, self.wake.path, self.relay, self.ca)

    @property
    def advert(self):
        return self._advert

    def respond(self, message1):
        return noise.respond_linked(self.link_record.identity, keys.psk(self.link_record.secret, self.eid), message1)


def information(aaguid):
    """Returns getInfo as Android sends it, except for the AAGUID."""
    return {
        1: ["FIDO_2_0", "FIDO_2_1"],
        2: ["prf"],
        3: aaguid,
        4: {"rk": True, "uv": True},
        9: ["internal", "hybrid"],
    }


def introduce(phone, info, encode=cbor.canonical, **members):
    """Sends the post-handshake message."""
    if phone.inspection:
        phone.inspection.introduced(info)
    phone.send(encode(channel.post_handshake(encode(info), **members)))
