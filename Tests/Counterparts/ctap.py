# SPDX-License-Identifier: Apache-2.0
"""CTAP commands and responses as maps and bytes; `inspection.py` has the checks of both ends."""
import hashlib
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

import algorithms, cbor, noise

MAKE_CREDENTIAL, GET_ASSERTION, GET_INFO = 0x01, 0x02, 0x04
ES256 = -7

SUCCESS = 0x00
INVALID_COMMAND = 0x01
CREDENTIAL_EXCLUDED = 0x19
NO_CREDENTIALS = 0x2E
UNSUPPORTED_OPTION = 0x2B

USER_PRESENT, USER_VERIFIED, BACKUP_ELIGIBLE, BACKED_UP = 0x01, 0x04, 0x08, 0x10
ATTESTED, EXTENSIONS = 0x40, 0x80


def descriptor(credential_id, transports=None):
    fields = {"id": credential_id, "type": "public-key"}
    return fields if transports is None else {**fields, "transports": transports}


def make_credential(
    client_data_hash, rp, user, algorithms, exclude=(), rk=True, uv=True, extensions=None, formats=()
):
    """Returns the parameters of makeCredential."""
    options = {name: True for name, wanted in (("rk", rk), ("uv", uv)) if wanted}
    fields = {
        1: client_data_hash,
        2: rp,
        3: user,
        4: [{"alg": algorithm, "type": "public-key"} for algorithm in algorithms],
    }
    if exclude:
        fields[5] = list(exclude)
    if extensions:
        fields[6] = extensions
    if options:
        fields[7] = options
    if formats:
        fields[11] = list(formats)
    return fields


def get_assertion(rp_id, client_data_hash, allow=(), uv=True, extensions=None):
    """Returns the parameters of getAssertion."""
    fields = {1: rp_id, 2: client_data_hash}
    if allow:
        fields[3] = list(allow)
    if extensions:
        fields[4] = extensions
    if uv:
        fields[5] = {"uv": True}
    return fields


def cose_key(public_key):
    numbers = public_key.public_numbers()
    return {1: 2, 3: ES256, -1: 1, -2: numbers.x.to_bytes(32, "big"), -3: numbers.y.to_bytes(32, "big")}


def read_cose_key(fields):
    """Returns the key, which must be ES256."""
    if {key: fields.get(key) for key in (1, 3, -1)} != {1: 2, 3: ES256, -1: 1}:
        raise ValueError(f"not an ES256 key: {fields}")
    point = b"\4" + fields[-2] + fields[-3]
    return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)


def verifies(cose, signature, message):
    """Returns True if a signature verifies under the key of a COSE map."""
    try:
        read_cose_key(cose).verify(signature, message, ec.ECDSA(hashes.SHA256()))
        return True
    except (InvalidSignature, ValueError):
        return False


@dataclass
class AuthenticatorData:
    """Authenticator data."""

    rp_id_hash: bytes
    flags: int
    count: int
    aaguid: bytes = b""
    credential_id: bytes = b""
    # The COSE key as received.
    public_key: bytes = b""
    extensions: bytes = b""

    @classmethod
    def read(cls, data):
        """Raises ValueError unless the bytes match their flags exactly."""
        if len(data) < 37:
            raise ValueError("authenticator data is too short")
        result = cls(rp_id_hash=data[:32], flags=data[32], count=int.from_bytes(data[33:37], "big"))
        rest = data[37:]
        if result.flags & ATTESTED:
            length = int.from_bytes(rest[16:18], "big")
            if len(rest) < 18 + length or length == 0:
                raise ValueError("the attested credential is cut short")
            result.aaguid, result.credential_id, rest = rest[:16], rest[18 : 18 + length], rest[18 + length :]
            _, behind = cbor.read_first(rest)
            result.public_key, rest = rest[: len(rest) - len(behind)], behind
        if result.flags & EXTENSIONS:
            _, behind = cbor.read_first(rest)
            result.extensions, rest = rest[: len(rest) - len(behind)], behind
        if rest:
            raise ValueError("bytes follow the authenticator data")
        return result

    @property
    def encoded(self):
        data = self.rp_id_hash + bytes([self.flags]) + self.count.to_bytes(4, "big")
        if self.flags & ATTESTED:
            data += self.aaguid + len(self.credential_id).to_bytes(2, "big") + self.credential_id + self.public_key
        return data + self.extensions


class Passkeys:
    """Keys of an authenticator by credential ID in hexadecimal; JSON that tests can store in a file."""

    def __init__(self, aaguid, kept=None):
        self.aaguid = aaguid
        self.kept = {} if kept is None else kept

    def matching(self, rp_id, descriptors):
        wanted = {entry["id"].hex() for entry in descriptors}
        return [i for i, passkey in self.kept.items() if passkey["rp"] == rp_id and (not wanted or i in wanted)]

    def make(self, credential_id, request, algorithm=ES256, change=None):
        """Creates a passkey; returns authenticator data and the signature of a self attestation.

        `change` may alter the authenticator data before it is signed.
        """
        key, rp_id = algorithms.new_key(algorithm), request[2]["id"]
        self.kept[credential_id.hex()] = {
            "rp": rp_id, "user": request[3]["id"].hex(), "key": algorithms.stored(key).hex()
        }
        data = AuthenticatorData(
            rp_id_hash=rp_hash(rp_id),
            flags=USER_PRESENT | USER_VERIFIED | BACKUP_ELIGIBLE | BACKED_UP | ATTESTED,
            count=0,
            aaguid=self.aaguid,
            credential_id=credential_id,
            public_key=cbor.canonical(algorithms.cose_key(key.public_key())),
        )
        return self._signed(key, data, request[1], change)

    def use(self, identifier, client_data_hash, change=None):
        """Signs in with a stored passkey; returns authenticator data and signature."""
        passkey = self.kept[identifier]
        flags = USER_PRESENT | USER_VERIFIED | BACKUP_ELIGIBLE | BACKED_UP
        data = AuthenticatorData(rp_id_hash=rp_hash(passkey["rp"]), flags=flags, count=0)
        return self._signed(algorithms.restored(bytes.fromhex(passkey["key"])), data, client_data_hash, change)

    @staticmethod
    def _signed(key, data, client_data_hash, change):
        if change:
            change(data)
        return data.encoded, algorithms.sign(key, data.encoded + client_data_hash)

    def user(self, identifier):
        return bytes.fromhex(self.kept[identifier]["user"])


def rp_hash(rp_id):
    return hashlib.sha256(rp_id.encode()).digest()
