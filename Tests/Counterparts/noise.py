# SPDX-License-Identifier: Apache-2.0
"""Handshakes Noise_KNpsk0_P256_AESGCM_SHA256 (with a code) and Noise_NKpsk0_P256_AESGCM_SHA256 (linked), both ends.

The initiator is the client. With a code, its static key is known to the phone; without one, the phone's to it.
"""
import hashlib
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

MESSAGE_LENGTH = 81
POINT_LENGTH = 65
# Prologue of a handshake that follows a sign-in code.
SIGN_IN = b"\1"


class HandshakeFailed(Exception):
    """The peer's message does not verify."""


@dataclass
class Keys:
    """Result of a handshake."""

    client_to_phone: bytes
    phone_to_client: bytes
    handshake_hash: bytes


def new_key():
    return ec.generate_private_key(ec.SECP256R1())


def private_key(scalar):
    return ec.derive_private_key(int.from_bytes(scalar, "big"), ec.SECP256R1())


def uncompressed(key):
    return key.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)


def compressed(key):
    return key.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.CompressedPoint)


class _State:
    """Noise's SymmetricState; each encryption directly follows a new key, so its nonce is zero."""

    def __init__(self, pattern, prologue, static, psk):
        self.chaining_key = self.hash = b"Noise_" + pattern + b"psk0_P256_AESGCM_SHA256\0"
        self.key = None
        self.mix_hash(prologue)
        self.mix_hash(static)
        self.chaining_key, hash_input, self.key = self._derive(psk, 3)
        self.mix_hash(hash_input)

    def _derive(self, material, count):
        output = HKDF(hashes.SHA256(), 32 * count, self.chaining_key, b"").derive(material)
        return [output[start : start + 32] for start in range(0, 32 * count, 32)]

    def mix_hash(self, data):
        self.hash = hashlib.sha256(self.hash + data).digest()

    def mix_key(self, material):
        self.chaining_key, self.key = self._derive(material, 2)

    def mix_ephemeral(self, point):
        self.mix_hash(point)
        self.mix_key(point)

    def seal_nothing(self):
        tag = AESGCM(self.key).encrypt(bytes(12), b"", self.hash)
        self.mix_hash(tag)
        return tag

    def open_nothing(self, tag):
        try:
            payload = AESGCM(self.key).decrypt(bytes(12), tag, self.hash)
        except InvalidTag:
            raise HandshakeFailed("the tag does not verify") from None
        if payload:
            raise HandshakeFailed("a payload")
        self.mix_hash(tag)

    def keys(self):
        return Keys(*self._derive(b"", 2), self.hash)


def _with_code(client_static, psk, prologue):
    return _State(b"KN", prologue, uncompressed(client_static), psk)


def _linked(phone_static, psk):
    return _State(b"NK", b"\0", uncompressed(phone_static), psk)


def _take_apart(message):
    if len(message) != MESSAGE_LENGTH:
        raise HandshakeFailed(f"{len(message)} bytes")
    try:
        point = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), message[:POINT_LENGTH])
    except ValueError:
        raise HandshakeFailed("no point of the curve") from None
    return point, message[:POINT_LENGTH], message[POINT_LENGTH:]


class Initiator:
    """Initiator: the client."""

    def __init__(self, static, psk, ephemeral=None, prologue=SIGN_IN):
        self.static = static
        self.ephemeral = ephemeral or new_key()
        self.state = _with_code(static.public_key(), psk, prologue)
        point = uncompressed(self.ephemeral.public_key())
        self.state.mix_ephemeral(point)
        self.message1 = point + self.state.seal_nothing()

    def finish(self, message2):
        key, point, tag = _take_apart(message2)
        self.state.mix_ephemeral(point)
        self.state.mix_key(self.ephemeral.exchange(ec.ECDH(), key))
        self.state.mix_key(self.static.exchange(ec.ECDH(), key))
        self.state.open_nothing(tag)
        return self.state.keys()


def respond(client_static, psk, message1, ephemeral=None, prologue=SIGN_IN):
    """Responder: returns message 2 and the keys."""
    state = _with_code(client_static, psk, prologue)
    key, point, tag = _take_apart(message1)
    state.mix_ephemeral(point)
    state.open_nothing(tag)
    ephemeral = ephemeral or new_key()
    own = uncompressed(ephemeral.public_key())
    state.mix_ephemeral(own)
    state.mix_key(ephemeral.exchange(ec.ECDH(), key))
    state.mix_key(ephemeral.exchange(ec.ECDH(), client_static))
    message2 = own + state.seal_nothing()
    return message2, state.keys()


class LinkedInitiator:
    """Initiator without a code: it knows the phone's static key."""

    def __init__(self, phone_static, psk, ephemeral=None):
        self.ephemeral = ephemeral or new_key()
        self.state = _linked(phone_static, psk)
        point = uncompressed(self.ephemeral.public_key())
        self.state.mix_ephemeral(point)
        self.state.mix_key(self.ephemeral.exchange(ec.ECDH(), phone_static))
        self.message1 = point + self.state.seal_nothing()

    def finish(self, message2):
        key, point, tag = _take_apart(message2)
        self.state.mix_ephemeral(point)
        self.state.mix_key(self.ephemeral.exchange(ec.ECDH(), key))
        self.state.open_nothing(tag)
        return self.state.keys()


def respond_linked(static, psk, message1, ephemeral=None):
    """Responder without a code: returns message 2 and the keys."""
    state = _linked(static.public_key(), psk)
    key, point, tag = _take_apart(message1)
    state.mix_ephemeral(point)
    state.mix_key(static.exchange(ec.ECDH(), key))
    state.open_nothing(tag)
    ephemeral = ephemeral or new_key()
    own = uncompressed(ephemeral.public_key())
    state.mix_ephemeral(own)
    state.mix_key(ephemeral.exchange(ec.ECDH(), key))
    message2 = own + state.seal_nothing()
    return message2, state.keys()
