# SPDX-License-Identifier: Apache-2.0
"""Code, keys and messages of a transfer, and the steps of receiver and giver up to the JSON objects.

A receiver asks for passkeys with a code, and is the initiator of the handshake. The giver scans it and is the responder.
All keys differ from those of a sign-in, even for the same secret.
"""
import json, secrets, time
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric import ec

import cbor, channel, keys, noise, qr
from desktop import Desktop
from phone import Phone

SCHEME = "HYBRID:/"
LONGEST_CODE = 1024
VERSION = 1
PURPOSES = ("give", "join")
NAME = b"hybrid transfer v1"
# A message has a multiple of this length with its type byte and the padding of its frame.
GRANULARITY = 512
# Longest body, so that a frame has at most 1 MiB.
LONGEST_OBJECT = (channel.LONGEST_FRAME - 16) // GRANULARITY * GRANULARITY - 2


@dataclass
class Code:
    """Content of a code."""

    receiver_key: ec.EllipticCurvePublicKey
    secret: bytes
    created: int | None
    purpose: str
    # Key 6 as received; None if it is missing.
    channels: object
    fields: dict


def text(fields):
    """Returns the text for any map."""
    return SCHEME + qr.to_digits(cbor.canonical(fields))


def parse(code):
    """Parses a code; raises ValueError if it is invalid, or of another version or purpose."""
    if code[: len(SCHEME)].upper() != SCHEME or len(code) > LONGEST_CODE:
        raise ValueError("not a transfer code")
    data = qr.from_digits(code[len(SCHEME) :])
    fields = cbor.read(data)
    if not isinstance(fields, dict) or not cbor.is_canonical(data):
        raise ValueError("not a map in canonical form")
    if fields.get(16) != VERSION or isinstance(fields.get(16), bool):
        raise ValueError("another version")
    if fields.get(17) not in PURPOSES:
        raise ValueError("an unknown purpose")
    point, secret = fields.get(0), fields.get(1)
    if not isinstance(point, bytes) or len(point) != 33 or not isinstance(secret, bytes) or len(secret) != 16:
        raise ValueError("keys 0 and 1 are not a compressed point and 16 bytes")
    return Code(
        receiver_key=ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point),
        secret=secret,
        created=fields.get(3),
        purpose=fields[17],
        channels=fields.get(6),
        fields=fields,
    )


def eid_key(secret):
    return keys.expand(secret, b"", NAME + b" eid", 64)


def tunnel_id(secret):
    return keys.expand(secret, b"", NAME + b" tunnel", 16)


def psk(secret, eid):
    return keys.expand(secret, eid, NAME + b" psk", 32)


def pad(body):
    """Appends spaces to a JSON object."""
    return body + b" " * (-(len(body) + 2) % GRANULARITY)


class _Messages:
    """Messages of both ends, mixed into a class with `send`, `channel` and `tunnel`."""

    def send_body(self, body, kind=channel.JSON, **how):
        """Sends any body, as it is."""
        self.send(bytes([kind]) + body, **how)

    def send_object(self, value, **how):
        """Sends a JSON object with its padding."""
        self.send_body(pad(json.dumps(value, separators=(",", ":")).encode()), **how)

    def next_object(self, seconds=120):
        """Returns the next object; None after a shutdown message."""
        message = self.channel.open(self.tunnel.receive(seconds))
        if message[:1] == bytes([channel.SHUTDOWN]):
            return None
        if message[:1] != bytes([channel.JSON]):
            raise channel.ChannelFailed(f"a message of type {message[:1].hex()} in a transfer")
        if len(self.channel.last_padded) % GRANULARITY:
            raise channel.ChannelFailed(f"a message of {len(self.channel.last_padded)} bytes")
        value = json.loads(message[1:])
        if not isinstance(value, dict):
            raise channel.ChannelFailed("no JSON object")
        return value

    def say_goodbye(self):
        self.send(bytes([channel.SHUTDOWN]))


class ReceiverWire(_Messages, Desktop):
    """The receiver's side of one transfer: `hear`, `join` and `shake_hands` as a client, then objects."""

    def __init__(self, relay, ca, purpose="give"):
        super().__init__(relay, ca)
        self.fields = {
            0: noise.compressed(self.static.public_key()),
            1: self.secret,
            3: int(time.time()),
            16: VERSION,
            17: purpose,
        }

    @property
    def text(self):
        return text(self.fields)

    @property
    def eid_key(self):
        return eid_key(self.secret)

    @property
    def tunnel_id(self):
        return tunnel_id(self.secret)

    def initiate(self):
        return noise.Initiator(self.static, psk(self.secret, self.eid), prologue=NAME)


class GiverWire(_Messages, Phone):
    """The giver's side of one transfer: `open_tunnel`, `advert` and `shake_hands` as a phone, then objects."""

    def __init__(self, code, relay, ca, domain):
        self.code = parse(code)
        self.relay, self.ca, self.domain = relay, ca, domain
        self.inspection = self.tunnel = self.eid = self.channel = self.handshake_hash = None

    @property
    def eid_key(self):
        return eid_key(self.code.secret)

    @property
    def tunnel_id(self):
        return tunnel_id(self.code.secret)

    def respond(self, message1):
        return noise.respond(self.code.receiver_key, psk(self.code.secret, self.eid), message1, prologue=NAME)
