# SPDX-License-Identifier: Apache-2.0
"""fido2prf: age stanzas that a passkey with `prf` opens, and the identities that name the passkey."""
import hashlib
import hmac
import os
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

import age
import bech32
from age import DoesNotOpen, Malformed, Stanza

LABEL = "age-encryption.org/fido2prf"
PREFIX = "age-plugin-fido2prf-"
NONCE = 16


def salt(value):
    """Returns the salt for an input of WebAuthn's `prf`."""
    return hashlib.sha256(b"WebAuthn PRF\0" + value).digest()


def inputs(nonce):
    return tuple(LABEL.encode() + bytes([number]) + nonce for number in (1, 2))


def salts(nonce):
    """Returns the two salts of one request."""
    return tuple(map(salt, inputs(nonce)))


def results(secret, nonce):
    """Returns what a passkey with this secret answers."""
    return tuple(hmac.digest(secret, one, "sha256") for one in salts(nonce))


def wrapping_key(both):
    # HKDF-Extract alone.
    return hmac.digest(LABEL.encode(), b"".join(both), "sha256")


def wrap(file_key, nonce, both):
    """Returns the stanza for the results of a nonce, which must not be used with this passkey again."""
    body = ChaCha20Poly1305(wrapping_key(both)).encrypt(bytes(12), file_key, None)
    return Stanza(LABEL, (age.to_base64(nonce),), body)


def nonce_of(stanza):
    """Returns the nonce of a stanza of this type; raises Malformed."""
    if len(stanza.arguments) != 1 or len(stanza.body) != age.FILE_KEY + age.TAG:
        raise Malformed("no fido2prf stanza")
    nonce = age.from_base64(stanza.arguments[0])
    if len(nonce) != NONCE:
        raise Malformed("a nonce of another length")
    return nonce


def unwrap(stanza, both):
    """Returns the file key; raises Malformed or DoesNotOpen."""
    nonce_of(stanza)
    try:
        return ChaCha20Poly1305(wrapping_key(both)).decrypt(bytes(12), stanza.body, None)
    except InvalidTag:
        raise DoesNotOpen("another passkey") from None


def open_file(data, secret):
    """Returns the plaintext, and how many approvals were needed."""
    file, approvals = age.File.read(data), 0
    for stanza in file.stanzas:
        if stanza.type == LABEL:
            approvals += 1
            try:
                file_key = unwrap(stanza, results(secret, nonce_of(stanza)))
            except DoesNotOpen:
                continue
            return file.open(file_key), approvals
    raise DoesNotOpen("no stanza of this passkey")


def seal_file(plaintext, *secrets):
    """Returns a file for the passkeys with these secrets."""
    file_key, stanzas = os.urandom(age.FILE_KEY), []
    for secret in secrets:
        nonce = os.urandom(NONCE)
        stanzas.append(wrap(file_key, nonce, results(secret, nonce)))
    return age.seal(file_key, stanzas, plaintext).encoded


# ---- CBOR sequences --------------------------------------------------------------------------------------------------

UNSIGNED, BYTES, TEXT, ARRAY = 0, 2, 3, 4


def head(kind, number):
    if number < 24:
        return bytes([kind << 5 | number])
    if number < 256:
        return bytes([kind << 5 | 24, number])
    return bytes([kind << 5 | 25]) + number.to_bytes(2, "big")


def text(value):
    return head(TEXT, len(value.encode())) + value.encode()


def byte_string(value):
    return head(BYTES, len(value)) + value


def array(values):
    return head(ARRAY, len(values)) + b"".join(map(text, values))


class Sequence:
    """Reads CBOR items with arguments of at most 16 bits, in their shortest form."""

    def __init__(self, data):
        self._data, self._position = data, 0

    def _take(self, count):
        part = self._data[self._position : self._position + count]
        if len(part) < count:
            raise Malformed("cut off")
        self._position += count
        return part

    def _head(self, wanted):
        kind, number = divmod(self._take(1)[0], 32)
        if kind != wanted or number > 25:
            raise Malformed("an item of another type or size")
        if number == 24:
            number = self._take(1)[0]
            least = 24
        elif number == 25:
            number = int.from_bytes(self._take(2), "big")
            least = 256
        else:
            least = 0
        if number < least:
            raise Malformed("a length that is not minimal")
        return number

    def unsigned(self):
        return self._head(UNSIGNED)

    def bytes(self):
        return self._take(self._head(BYTES))

    def text(self):
        try:
            return self._take(self._head(TEXT)).decode()
        except UnicodeDecodeError:
            raise Malformed("not UTF-8") from None

    def texts(self):
        return tuple(self.text() for _ in range(self._head(ARRAY)))

    def end(self):
        if self._position != len(self._data):
            raise Malformed("trailing bytes")


@dataclass(frozen=True)
class Identity:
    """Names a passkey; not secret."""

    credential_id: bytes
    rp_id: str
    transports: tuple = ("hybrid",)

    @classmethod
    def read(cls, identity):
        if identity != identity.upper():
            raise Malformed("identities are in upper case")
        sequence = Sequence(bech32.decode_as(PREFIX, identity))
        if sequence.unsigned() != 1:
            raise Malformed("another version")
        read = cls(sequence.bytes(), sequence.text(), sequence.texts())
        sequence.end()
        return read

    @property
    def data(self):
        return head(UNSIGNED, 1) + byte_string(self.credential_id) + text(self.rp_id) + array(self.transports)

    @property
    def encoded(self):
        return bech32.encode(PREFIX, self.data).upper()


# ---- CTAP ------------------------------------------------------------------------------------------------------------

def request(nonce):
    """Returns the extensions of a request."""
    first, second = salts(nonce)
    return {"prf": {"eval": {"first": first, "second": second}}}


def results_of(outputs):
    """Returns the two results, or None; raises DoesNotOpen if the passkey has none and never will."""
    prf = outputs.get("prf", {})
    if prf.get("enabled") is False:
        raise DoesNotOpen("a passkey without prf")
    both = tuple(prf.get("results", {}).get(name) for name in ("first", "second"))
    return both if all(isinstance(one, bytes) and len(one) == 32 for one in both) else None
