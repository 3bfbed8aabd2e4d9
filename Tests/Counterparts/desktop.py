# SPDX-License-Identifier: Apache-2.0
"""Steps of the client; `client.py` performs them in order, `hostile_client.py` does not."""
import secrets, time

from cryptography.hazmat.primitives.asymmetric import ec

import cbor, channel, keys, linking, noise, qr, radio
from tunnel import Tunnel, TunnelFailed


class Desktop:
    """One QR code and its session."""

    def __init__(self, relay, ca, hint="ga", inspection=None, wants_link=False):
        self.relay, self.ca, self.hint = relay, ca, hint
        self.inspection = inspection
        # Linking information of the updates so far; None for those without.
        self.updates = []
        self.static = noise.new_key()
        self.secret = secrets.token_bytes(16)
        self.fields = {
            0: noise.compressed(self.static.public_key()),
            1: self.secret,
            2: len(keys.ASSIGNED_HOSTS),
            3: int(time.time()),
            4: wants_link,
            5: hint,
        }
        self.eid = self.tunnel = self.channel = self.info = self.handshake_hash = None

    @property
    def text(self):
        return qr.text(self.fields)

    @property
    def eid_key(self):
        return keys.eid_key(self.secret)

    @property
    def tunnel_id(self):
        return keys.tunnel_id(self.secret)

    def hear(self, receiver, seconds=60):
        """Waits for the advert that this code's key decrypts; the receiver must be scanning."""
        key = self.eid_key
        for services in receiver.heard(seconds):
            # Chrome checks the older UUID first.
            for uuid in (radio.GOOGLE, radio.FIDO):
                # Bytes after the first 20 concern another transport and are not part of the secret.
                eid = keys.open_eid(services.get(uuid, b"")[:20], key)
                if eid is not None:
                    if self.inspection:
                        self.inspection.service_data(services)
                    self.eid = eid
                    return

    def join(self, headers=(), origin=None, upper_case=False):
        """Joins the tunnel with the advert's routing ID, which the relay checks."""
        routing, name = keys.eid_routing_id(self.eid).hex(), self.tunnel_id.hex()
        if upper_case:
            routing, name = routing.upper(), name.upper()
        host = keys.host(keys.eid_domain(self.eid))
        origin = f"https://{host}" if origin else None
        self.tunnel = Tunnel(host, f"/cable/connect/{routing}/{name}", self.relay, self.ca, headers, origin)

    def initiate(self):
        """Returns the first handshake message, so that callers can modify it."""
        return noise.Initiator(self.static, keys.psk(self.secret, self.eid))

    def shake_hands(self, padding=channel.pad):
        handshake = self.initiate()
        self.first = handshake.message1
        self.tunnel.send(self.first)
        result = handshake.finish(self.tunnel.receive())
        self.handshake_hash = result.handshake_hash
        self.channel = channel.Channel(result.client_to_phone, result.phone_to_client, padding)

    def meet(self):
        """Reads the post-handshake message, which arrives without a request."""
        message = self._open(self.tunnel.receive())
        fields, features = channel.read_post_handshake(message)
        if "ctap" not in features:
            raise channel.ChannelFailed("the phone has no CTAP")
        self.info = cbor.read(fields[1])
        if self.inspection:
            self.inspection.post_handshake(message, fields)

    def send(self, message, **how):
        self.tunnel.send(self.channel.seal(message, **how))

    def ask(self, request, **how):
        """Sends a CTAP request, skips updates, and returns status and body of the response."""
        self.send(bytes([channel.CTAP]) + request, **how)
        while True:
            message = self._open(self.tunnel.receive(120))
            if not message:
                raise channel.ChannelFailed("an empty message")
            if message[0] == channel.UPDATE:
                self._take_update(message)
                continue
            if message[0] != channel.CTAP or len(message) < 2:
                raise channel.ChannelFailed(f"a message of type {message[0]} instead of an answer")
            return message[1], message[2:]

    def shut_down(self, seconds=60):
        """Sends a shutdown message and waits, as Chrome does, until the authenticator closes; nothing may arrive before that."""
        self.send(bytes([channel.SHUTDOWN]))
        try:
            late = self.tunnel.receive(seconds)
        except TunnelFailed as end:
            if self.inspection:
                self.inspection.expect(end.code == 1000, f"after the goodbye: {end}")
            return
        if self.inspection:
            self.inspection.expect(False, f"a frame of {len(late)} bytes after the goodbye")

    def _take_update(self, message):
        self.updates.append(cbor.read(message[1:]).get(1))
        if self.inspection and self.fields[4]:
            size = len(self.channel.last_padded)
            self.inspection.expect(size == 512, f"an update of {size} bytes with its padding")

    def link(self, seconds=10):
        """Returns the link that the phone offers; raises LinkRefused if there is none or it is invalid."""
        if not self.updates:
            message = self._open(self.tunnel.receive(seconds))
            if message[:1] != bytes([channel.UPDATE]):
                raise channel.ChannelFailed("no update, though linking was offered")
            self._take_update(message)
        domain = keys.eid_domain(self.eid)
        return linking.ClientLink.verified(self.updates[0], self.static, self.handshake_hash, domain)

    def _open(self, frame):
        message = self.channel.open(frame)
        if self.inspection:
            self.inspection.padding(self.channel.last_padded)
        return message


class LinkedDesktop(Desktop):
    """One session with a linked phone, without a code."""

    def __init__(self, link, relay, ca, hint="ga", inspection=None):
        super().__init__(relay, ca, hint, inspection)
        self.stored = link
        self.nonce = secrets.token_bytes(16)

    def contact(self):
        """Requests the phone; the relay has woken it when this returns."""
        data = self.stored.payload(self.nonce, self.hint)
        self.tunnel = linking.contact(self.stored.contact, self.stored.host, data, self.relay, self.ca)

    def meet_by_radio(self, receiver, seconds=60):
        """Waits for the phone at the relay, then for its advert; the receiver must be scanning."""
        linking.wait_for_phone(self.tunnel, seconds)
        key = keys.eid_key(self.stored.secret, self.nonce)
        for services in receiver.heard(seconds):
            eid = keys.open_eid(services.get(radio.FIDO, b"")[:20], key)
            if eid is not None:
                self.eid = eid
                return

    def initiate(self):
        phone = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), self.stored.phone_key)
        return noise.LinkedInitiator(phone, keys.psk(self.stored.secret, self.eid))
