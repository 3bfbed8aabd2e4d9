# SPDX-License-Identifier: Apache-2.0
"""Sealed identities: an age key in an age file that phones open, inside a plug-in identity; secrets with a purpose."""
import base64
import os
from dataclasses import dataclass

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

import age
import bech32
import fido2prf
from age import DoesNotOpen, Malformed
from fido2prf import LABEL

PREFIX = "age-plugin-phone-"
PHONES = 16
NAME_BYTES = 64


@dataclass(frozen=True)
class Phone:
    """One phone's passkey."""

    credential_id: bytes
    transports: tuple = ("hybrid",)


@dataclass(frozen=True)
class Sealed:
    """The content of AGE-PLUGIN-PHONE-1…; not secret."""

    name: str
    rp_id: str
    point: bytes
    phones: tuple
    file: bytes

    @classmethod
    def read(cls, identity):
        """Raises ValueError for anything that no phone could open."""
        if identity != identity.upper():
            raise Malformed("identities are in upper case")
        sequence = fido2prf.Sequence(bech32.decode_as(PREFIX, identity))
        if sequence.unsigned() != 1:
            raise Malformed("another version")
        name, rp_id, point = sequence.text(), sequence.text(), sequence.bytes()
        count = sequence.unsigned()
        if not 1 <= count <= PHONES or not 1 <= len(name.encode()) <= NAME_BYTES or len(point) != 32:
            raise Malformed("no name, no phone, or no public key")
        phones = tuple(Phone(sequence.bytes(), sequence.texts()) for _ in range(count))
        read = cls(name, rp_id, point, phones, sequence.bytes())
        sequence.end()
        read._check()
        return read

    def _check(self):
        if len({phone.credential_id for phone in self.phones}) != len(self.phones):
            raise Malformed("a passkey twice")
        own = [stanza for stanza in self.header.stanzas if stanza.type == LABEL]
        if len(own) != len(self.phones):
            raise Malformed("another number of stanzas")
        if len(set(map(fido2prf.nonce_of, own))) != 1:
            raise Malformed("two nonces")

    @property
    def header(self):
        return age.File.read(self.file)

    @property
    def stanzas(self):
        return [stanza for stanza in self.header.stanzas if stanza.type == LABEL]

    @property
    def nonce(self):
        return fido2prf.nonce_of(self.stanzas[0])

    @property
    def recipient(self):
        return age.recipient_of(self.point)

    @property
    def data(self):
        phones = b"".join(fido2prf.byte_string(one.credential_id) + fido2prf.array(one.transports)
                          for one in self.phones)
        return (fido2prf.head(fido2prf.UNSIGNED, 1) + fido2prf.text(self.name) + fido2prf.text(self.rp_id)
                + fido2prf.byte_string(self.point) + fido2prf.head(fido2prf.UNSIGNED, len(self.phones)) + phones
                + fido2prf.byte_string(self.file))

    @property
    def encoded(self):
        return bech32.encode(PREFIX, self.data).upper()

    def file_key(self, both, credential_id):
        """Returns the file key for the results of one of the phones."""
        ids = [phone.credential_id for phone in self.phones]
        return fido2prf.unwrap(self.stanzas[ids.index(credential_id)], both)

    def open(self, both, credential_id):
        """Returns AGE-SECRET-KEY-1…; raises ValueError."""
        return self.key_in(self.header.open(self.file_key(both, credential_id)))

    def key_in(self, payload):
        """Returns the key of a payload; raises Malformed unless it is one key, and the one of the recipient."""
        try:
            lines = [line for line in payload.decode("ascii").split("\n") if line and not line.startswith("#")]
        except UnicodeDecodeError:
            raise Malformed("not text") from None
        if len(lines) != 1:
            raise Malformed("not one key")
        if age.point_of(age.private_key(lines[0])) != self.point:
            raise DoesNotOpen("another public key")
        return lines[0]

    def with_phone(self, phone, both, file_key):
        """Returns it with another phone, after the last one: same file key, payload and nonce."""
        header, added = self.header, fido2prf.wrap(file_key, self.nonce, both)
        stanzas = list(header.stanzas)
        last = max(place for place, stanza in enumerate(stanzas) if stanza.type == LABEL)
        stanzas.insert(last + 1, added)
        return Sealed(self.name, self.rp_id, self.point, (*self.phones, phone),
                      header.with_stanzas(stanzas, file_key).encoded)


def new(name, rp_id, phone, secret, identity=None, also=()):
    """Seals a key, or a new one, for a phone whose passkey has this secret."""
    identity = identity or age.new_identity()
    file_key, nonce = os.urandom(age.FILE_KEY), os.urandom(fido2prf.NONCE)
    stanzas = [fido2prf.wrap(file_key, nonce, fido2prf.results(secret, nonce))]
    stanzas += [age.wrap_x25519(file_key, age.public_key(recipient)) for recipient in also]
    point = age.point_of(age.private_key(identity))
    return Sealed(name, rp_id, point, (phone,), age.seal(file_key, stanzas, f"{identity}\n".encode()).encoded)


def named_secret(identity, purpose):
    """Returns the 32 bytes for a purpose."""
    info = b"hybrid-key secret v1\0" + purpose.encode()
    return HKDF(hashes.SHA256(), 32, bytes(32), info).derive(age.private_key(identity))


def as_text(raw):
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")
