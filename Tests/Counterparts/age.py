# SPDX-License-Identifier: Apache-2.0
"""age v1 (C2SP `age.md`): stanzas, headers, payloads, and X25519 recipients."""
import base64
import hmac
import os
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

import bech32

VERSION = b"age-encryption.org/v1\n"
COLUMNS = 64
FILE_KEY = 16
CHUNK = 65536
TAG = 16
X25519 = "X25519"
X25519_INFO = b"age-encryption.org/v1/X25519"


class Malformed(ValueError):
    """The bytes are not what the format permits."""


class DoesNotOpen(ValueError):
    """Another key, or a changed file."""


def to_base64(data):
    """Returns standard base64 without padding."""
    return base64.b64encode(data).decode().rstrip("=")


def from_base64(text):
    """Returns the bytes; raises Malformed unless `to_base64` writes the same text."""
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError as error:
        raise Malformed(f"not base64: {error}") from None
    if to_base64(data) != text:
        raise Malformed("base64 that is not canonical")
    return data


@dataclass(frozen=True)
class Stanza:
    """Type, arguments and body; also a command of the plug-in protocol."""

    type: str
    arguments: tuple = ()
    body: bytes = b""

    @property
    def encoded(self):
        text = to_base64(self.body)
        lines = [" ".join(["->", self.type, *self.arguments])]
        # The last line is shorter than a full one, if need be empty.
        lines += [text[start : start + COLUMNS] for start in range(0, len(text) + 1, COLUMNS)]
        return "".join(f"{line}\n" for line in lines).encode()


def read_stanza(next_line, first=None):
    """Reads a stanza with a function that returns the next line without its end; `first` is a line read before."""
    words = (next_line() if first is None else first).split(" ")
    if len(words) < 2 or words[0] != "->" or not all(word and _is_visible(word) for word in words):
        raise Malformed(f"no stanza: {words}")
    text = ""
    while True:
        line = next_line()
        if len(line) > COLUMNS:
            raise Malformed("a line that is too long")
        from_base64(line)
        text += line
        if len(line) < COLUMNS:
            return Stanza(words[1], tuple(words[2:]), from_base64(text))


def _is_visible(word):
    return all(33 <= ord(character) <= 126 for character in word)


def lines_of(data):
    """Returns a function that returns line after line, and another that returns the rest."""
    position = 0

    def next_line():
        nonlocal position
        end = data.find(b"\n", position)
        if end < 0:
            raise Malformed("cut off")
        line, position = data[position:end], end + 1
        if not line.isascii():
            raise Malformed("not ASCII")
        return line.decode()

    return next_line, lambda: data[position:]


def stanza(data):
    """Reads the single stanza that fills `data`."""
    next_line, rest = lines_of(data)
    read = read_stanza(next_line)
    if rest():
        raise Malformed("bytes follow the stanza")
    return read


@dataclass(frozen=True)
class File:
    """An age file: the stanzas of its header, the MAC, and nonce and chunks of the payload."""

    stanzas: tuple
    mac: bytes
    nonce: bytes
    chunks: bytes

    @classmethod
    def read(cls, data):
        if not data.startswith(VERSION):
            raise Malformed("not an age file")
        next_line, rest = lines_of(data[len(VERSION) :])
        stanzas = []
        while not (line := next_line()).startswith("---"):
            stanzas.append(read_stanza(next_line, line))
        mark, _, mac = line.partition(" ")
        if mark != "---" or len(from_base64(mac)) != 32 or not stanzas:
            raise Malformed("no MAC or no stanza")
        if len(rest()) < 16:
            raise Malformed("no payload")
        return cls(tuple(stanzas), from_base64(mac), rest()[:16], rest()[16:])

    @property
    def encoded(self):
        return _unauthenticated(self.stanzas) + f" {to_base64(self.mac)}\n".encode() + self.nonce + self.chunks

    def open(self, file_key):
        """Returns the plaintext; raises DoesNotOpen for another file key or a changed file."""
        if not hmac.compare_digest(self.mac, header_mac(file_key, self.stanzas)):
            raise DoesNotOpen("another MAC of the header")
        return open_chunks(payload_key(file_key, self.nonce), self.chunks)

    def with_stanzas(self, stanzas, file_key):
        """Returns the file with other stanzas for the same file key."""
        return File(tuple(stanzas), header_mac(file_key, stanzas), self.nonce, self.chunks)


def seal(file_key, stanzas, plaintext, nonce=None):
    """Returns an age file; `stanzas` wrap the file key."""
    nonce = nonce or os.urandom(16)
    return File(tuple(stanzas), header_mac(file_key, stanzas), nonce,
                seal_chunks(payload_key(file_key, nonce), plaintext))


def encrypt(plaintext, *recipients):
    """Returns the bytes of a file for X25519 recipients."""
    file_key = os.urandom(FILE_KEY)
    return seal(file_key, [wrap_x25519(file_key, public_key(one)) for one in recipients], plaintext).encoded


def decrypt(data, identity):
    """Returns the plaintext of a file for an X25519 identity."""
    file = File.read(data)
    for one in file.stanzas:
        if one.type == X25519:
            try:
                return file.open(unwrap_x25519(one, private_key(identity)))
            except DoesNotOpen:
                continue
    raise DoesNotOpen("no stanza of this identity")


def _unauthenticated(stanzas):
    return VERSION + b"".join(one.encoded for one in stanzas) + b"---"


def _derive(secret, salt, info):
    return HKDF(hashes.SHA256(), 32, salt, info).derive(secret)


def header_mac(file_key, stanzas):
    return hmac.digest(_derive(file_key, b"", b"header"), _unauthenticated(stanzas), "sha256")


def payload_key(file_key, nonce):
    return ChaCha20Poly1305(_derive(file_key, nonce, b"payload"))


def _chunk_nonce(number, last):
    return number.to_bytes(11, "big") + bytes([last])


def seal_chunks(cipher, plaintext):
    starts = range(0, max(1, len(plaintext)), CHUNK)
    return b"".join(cipher.encrypt(_chunk_nonce(number, number + 1 == len(starts)), plaintext[start : start + CHUNK],
                                   None) for number, start in enumerate(starts))


def open_chunks(cipher, data):
    starts = range(0, max(1, len(data)), CHUNK + TAG)
    plaintext = b""
    for number, start in enumerate(starts):
        try:
            plaintext += cipher.decrypt(_chunk_nonce(number, number + 1 == len(starts)),
                                        data[start : start + CHUNK + TAG], None)
        except InvalidTag:
            raise DoesNotOpen("a changed payload") from None
    if len(starts) > 1 and len(plaintext) % CHUNK == 0 and len(data) % (CHUNK + TAG) == TAG:
        raise DoesNotOpen("an empty last chunk")
    return plaintext


# ---- X25519 ----------------------------------------------------------------------------------------------------------

def new_identity():
    return identity_of(os.urandom(32))


def identity_of(scalar):
    return bech32.encode("age-secret-key-", scalar).upper()


def private_key(identity):
    """Returns the 32 bytes of AGE-SECRET-KEY-1…"""
    scalar = bech32.decode_as("age-secret-key-", identity)
    if len(scalar) != 32 or identity != identity.upper():
        raise Malformed("no X25519 identity")
    return scalar


def public_key(recipient):
    """Returns the 32 bytes of age1…"""
    point = bech32.decode_as("age", recipient)
    if len(point) != 32 or recipient != recipient.lower():
        raise Malformed("no X25519 recipient")
    return point


def recipient_of(point):
    return bech32.encode("age", point)


def point_of(scalar):
    return X25519PrivateKey.from_private_bytes(scalar).public_key().public_bytes_raw()


def _wrapping_key(shared, share, point):
    return ChaCha20Poly1305(_derive(shared, share + point, X25519_INFO))


def wrap_x25519(file_key, point, ephemeral=None):
    ephemeral = ephemeral or X25519PrivateKey.generate()
    share = ephemeral.public_key().public_bytes_raw()
    shared = ephemeral.exchange(X25519PublicKey.from_public_bytes(point))
    return Stanza(X25519, (to_base64(share),), _wrapping_key(shared, share, point).encrypt(bytes(12), file_key, None))


def unwrap_x25519(wrapped, scalar):
    """Returns the file key; raises Malformed, also for a share of low order, or DoesNotOpen."""
    if len(wrapped.arguments) != 1 or len(wrapped.body) != FILE_KEY + TAG:
        raise Malformed("no X25519 stanza")
    share = from_base64(wrapped.arguments[0])
    if len(share) != 32:
        raise Malformed("a share of another length")
    try:
        shared = X25519PrivateKey.from_private_bytes(scalar).exchange(X25519PublicKey.from_public_bytes(share))
    except ValueError:
        raise Malformed("a share of low order") from None
    try:
        return _wrapping_key(shared, share, point_of(scalar)).decrypt(bytes(12), wrapped.body, None)
    except InvalidTag:
        raise DoesNotOpen("another identity") from None
