# SPDX-License-Identifier: Apache-2.0
"""The TPM slot as docs/vault.md describes it, opened without our programs."""
import hashlib
import hmac
import struct

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from harness.waiting import must

FIXED = 71 + 4 + 34 + 34 + 48 + 60 + 32


def hkdf(key, salt, info, length=32):
    """HKDF-SHA256 (RFC 5869) with one block of output."""
    pseudorandom = hmac.new(salt, key, hashlib.sha256).digest()
    return hmac.new(pseudorandom, info + b"\x01", hashlib.sha256).digest()[:length]


class TPMSlot:
    """The fields of the file `tpm`."""

    def __init__(self, data):
        must(hashlib.sha256(data[:-32]).digest() == data[-32:], "the slot's checksum is wrong")
        size = len(data) - FIXED
        must(data[:11] == b"HYBTPMSL\x00\x01\x04" and 3 <= size <= 514, "the slot has another form")
        self.vault_id, self.test, self.device_id = data[11:27], data[27], data[28:36]
        self.log_n, self.r, self.p = data[36:39]
        self.salt = data[39:71]
        self.manufacturer = data[71:75]
        self.parent_name, self.endorsement_name = data[75:109], data[109:143]
        self.public, self.private = data[143:191], data[191:191 + size]
        self.header, self.wrapped = data[:191 + size], data[191 + size:251 + size]
        must(struct.unpack(">H", self.private[:2])[0] == size - 2, "TPM2B_PRIVATE has another length")

    def stretched(self, pin):
        """scrypt(PIN)."""
        return hashlib.scrypt(pin.encode(), salt=self.salt, n=1 << self.log_n, r=self.r, p=self.p, dklen=32,
                              maxmem=1 << 30)

    def authorization(self, pin):
        """The authorization value of the sealed object."""
        value = hkdf(self.stretched(pin), self.vault_id, b"slot v1 tpm auth")
        return value if value[-1] else value[:-1] + b"\x01"

    def vault_key(self, pin, unsealed, device_secret):
        """The vault key; fails if anything is wrong."""
        wrapping = hkdf(unsealed + self.stretched(pin) + device_secret, self.vault_id, b"slot v1 tpm")
        return AESGCM(wrapping).decrypt(self.wrapped[:12], self.wrapped[12:], self.header)


def device_secret(data):
    """The secret in the file `device`."""
    must(data[:10] == b"HYBDEVIC\x00\x01" and len(data) == 82, "the file device has another form")
    return data[18:50]


def key_id(key, vault_id):
    return hkdf(key, vault_id, b"key id v1")[:16]
