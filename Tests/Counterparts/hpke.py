# SPDX-License-Identifier: Apache-2.0
"""HPKE in base mode (RFC 9180) with DHKEM(X25519, HKDF-SHA256), HKDF-SHA256 and AES-256-GCM, one message a key."""
import hashlib, hmac

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

KEM, KDF, AEAD = 0x0020, 0x0001, 0x0002
_KEM_SUITE = b"KEM" + KEM.to_bytes(2, "big")
_SUITE = b"HPKE" + b"".join(number.to_bytes(2, "big") for number in (KEM, KDF, AEAD))


def raw(key):
    return key.public_bytes(Encoding.Raw, PublicFormat.Raw)


def _hmac(key, data):
    return hmac.new(key, data, hashlib.sha256).digest()


def _extract(suite, salt, label, material):
    return _hmac(salt or bytes(32), b"HPKE-v1" + suite + label + material)


def _expand(suite, secret, label, info, length):
    info = length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info
    output, block, counter = b"", b"", 1
    while len(output) < length:
        block = _hmac(secret, block + info + bytes([counter]))
        output, counter = output + block, counter + 1
    return output[:length]


def _key_and_nonce(shared, encapsulated, recipient, info):
    """Derives key and nonce of the first message from the result of the key agreement."""
    extracted = _extract(_KEM_SUITE, b"", b"eae_prk", shared)
    secret = _expand(_KEM_SUITE, extracted, b"shared_secret", encapsulated + recipient, 32)
    # The mode, and hashes of an empty pre-shared key's ID and of the info.
    context = b"\0" + _extract(_SUITE, b"", b"psk_id_hash", b"") + _extract(_SUITE, b"", b"info_hash", info)
    schedule = _extract(_SUITE, secret, b"secret", b"")
    return _expand(_SUITE, schedule, b"key", context, 32), _expand(_SUITE, schedule, b"base_nonce", context, 12)


def seal(recipient, plaintext, info, data, ephemeral=None):
    """Returns the encapsulated key, and the ciphertext for the 32 bytes of a public key."""
    ephemeral = ephemeral or X25519PrivateKey.generate()
    encapsulated = raw(ephemeral.public_key())
    shared = ephemeral.exchange(X25519PublicKey.from_public_bytes(recipient))
    key, nonce = _key_and_nonce(shared, encapsulated, recipient, info)
    return encapsulated, AESGCM(key).encrypt(nonce, plaintext, data)


def open_sealed(private, encapsulated, ciphertext, info, data):
    """Returns the plaintext; raises InvalidTag or ValueError."""
    shared = private.exchange(X25519PublicKey.from_public_bytes(encapsulated))
    key, nonce = _key_and_nonce(shared, encapsulated, raw(private.public_key()), info)
    return AESGCM(key).decrypt(nonce, ciphertext, data)
