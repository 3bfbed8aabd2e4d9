# SPDX-License-Identifier: Apache-2.0
"""Encrypted channel: counters, padding, message types, post-handshake message."""
import hashlib, hmac

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

import cbor, noise

SHUTDOWN, CTAP, UPDATE, JSON = 0, 1, 2, 3
GRANULARITY = 32
# Maximum message size of Chrome and of relays that follow it.
LONGEST_FRAME = 1 << 20


class ChannelFailed(Exception):
    """A frame cannot be decrypted or its content cannot be parsed."""


def pad(message):
    """Pads with zeros and their number, up to a multiple of 32."""
    zeros = GRANULARITY - 1 - len(message) % GRANULARITY
    return message + bytes(zeros) + bytes([zeros])


def pad_before_type(message):
    """Pads first and prepends the type byte afterwards, as libwebauthn does."""
    return message[:1] + pad(message[1:])


def pad_least(message):
    """Adds only the one byte of padding that is required."""
    return message + b"\0"


def unpad(padded):
    if not padded or padded[-1] + 1 > len(padded):
        raise ChannelFailed("impossible padding")
    return padded[: len(padded) - padded[-1] - 1]


class Channel:
    """One end of the channel; frame n of a direction uses counter n."""

    def __init__(self, sending, receiving, padding=pad):
        self.sending, self.receiving = AESGCM(sending), AESGCM(receiving)
        self.sent = self.received = 0
        self.padding = padding
        # The last message as it was inside its frame, for inspection.
        self.last_padded = b""

    def seal(self, message, counter=None, padding=None):
        """Returns a frame; an explicit counter does not advance the channel's own."""
        number = self.sent if counter is None else counter
        if counter is None:
            self.sent += 1
        return self.sending.encrypt(_nonce(number), (padding or self.padding)(message), None)

    def open(self, frame):
        try:
            self.last_padded = self.receiving.decrypt(_nonce(self.received), frame, None)
        except InvalidTag:
            raise ChannelFailed("a frame does not open") from None
        self.received += 1
        return unpad(self.last_padded)


def _nonce(counter):
    return bytes(8) + counter.to_bytes(4, "big")


def post_handshake(info, features=("ctap",), linking=None, more=None):
    """Builds the map of the post-handshake message; Chrome reads a missing key 3 as CTAP only."""
    fields = {1: info}
    if linking is not None:
        fields[2] = linking
    if features is not None:
        fields[3] = list(features)
    return {**fields, **(more or {})}


def read_post_handshake(message):
    """Returns the fields of the post-handshake message, and its features."""
    try:
        fields = cbor.read(message)
    except ValueError as error:
        raise ChannelFailed(f"the first message: {error}") from None
    if not isinstance(fields, dict) or not isinstance(fields.get(3, []), list):
        raise ChannelFailed("the first message is not such a map")
    features = {name for name in fields.get(3, ["ctap"]) if isinstance(name, str)}
    if ("ctap" in features) != isinstance(fields.get(1), bytes):
        raise ChannelFailed("the first message has getInfo without CTAP or CTAP without getInfo")
    return fields, features


def linking_map(contact_id, link_id, secret, identity, name, client_key, handshake_hash):
    """Returns linking information, signed for this session."""
    shared = identity.exchange(ec.ECDH(), client_key)
    return {
        1: contact_id,
        2: link_id,
        3: secret,
        4: noise.uncompressed(identity.public_key()),
        5: name,
        6: hmac.new(shared, handshake_hash, hashlib.sha256).digest(),
    }


def update(linking=None, size=512):
    """Returns an update as Android sends it: frames with and without a link have the same size."""
    fields = {} if linking is None else {1: linking}
    for zeros in range(size):
        message = bytes([UPDATE]) + cbor.canonical({0: bytes(zeros), **fields})
        if len(pad(message)) == size:
            return message
    raise ValueError("the link is too long")
