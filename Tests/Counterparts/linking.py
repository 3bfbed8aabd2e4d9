# SPDX-License-Identifier: Apache-2.0
"""Linked phones: stored links, contact IDs, the payload of a contact, and the phone's connection to the relay."""
import contextlib, hashlib, hmac, json, os, secrets, time
from dataclasses import asdict, dataclass

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

import cbor, channel, keys, noise
from tunnel import Tunnel, TunnelFailed
from website import to_base64url

LISTEN = "hybrid-relay.listen.v1"
PAYLOAD, SIGNAL = "X-caBLE-Client-Payload", "X-caBLE-Signal-Connection"
# Key of linking information: the phone requires member 4 of the payload.
ANNOUNCES_PROOF = 1000
SIZES = {2: 8, 3: 32, 4: 65, 6: 32}


class LinkRefused(Exception):
    """Linking information that a client must not accept."""


# The contact ID and its key.


def new_contact_key():
    return ed25519.Ed25519PrivateKey.generate()


def public_bytes(key):
    return key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def contact_id_of(public_key):
    return b"\1" + hashlib.sha256(b"hybrid-relay contact v1" + public_key).digest()[:24]


def contact_id(key):
    return contact_id_of(public_bytes(key))


def listen_statement(host, challenge, contact):
    return b"hybrid-relay listen v1" + host.encode() + challenge + contact


def gone_statement(host, contact):
    return b"hybrid-relay gone v1" + host.encode() + contact


# The payload of a contact.


def claims(number, at=None, guest=False):
    """Returns the number, time and cause of a request, as its proof covers them."""
    return b"\2" + bytes([guest]) + number.to_bytes(8, "big") + int(time.time() if at is None else at).to_bytes(8, "big")


def proof(secret, nonce, hint, host, claimed):
    key = HKDF(hashes.SHA256(), 32, nonce, b"hybrid wake v2").derive(secret)
    return claimed + hmac.digest(key, claimed + hint.encode() + host.encode(), "sha256")[:16]


def payload(link_id, secret, nonce, hint, host, claimed=None):
    """Returns the payload; without a secret, it lacks the proof. By default, its number is higher than all before."""
    fields = {1: link_id, 2: nonce, 3: hint}
    if secret is not None:
        fields[4] = proof(secret, nonce, hint, host, claimed or claims(time.time_ns()))
    return cbor.canonical(fields)


# What both ends store, as JSON.


class Stored:
    """A dataclass whose byte members are hexadecimal in its file."""

    @classmethod
    def load(cls, path):
        with open(path) as file:
            fields = json.load(file)
        return cls(**{name: bytes.fromhex(value) if name in cls.BYTES else value for name, value in fields.items()})

    def save(self, path):
        fields = {name: value.hex() if name in self.BYTES else value for name, value in asdict(self).items()}
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(fields, file)


@dataclass
class ClientLink(Stored):
    """A client's part of a link."""

    BYTES = ("contact", "link_id", "secret", "phone_key")

    contact: bytes
    link_id: bytes
    secret: bytes
    phone_key: bytes
    name: str
    domain: int
    proves: bool

    @classmethod
    def verified(cls, fields, client_key, handshake_hash, domain):
        """Returns the link of linking information; raises LinkRefused if it is invalid."""
        if not isinstance(fields, dict) or not set(range(1, 7)) <= set(fields):
            raise LinkRefused("members are missing")
        if any(not isinstance(fields[key], bytes) or len(fields[key]) != size for key, size in SIZES.items()):
            raise LinkRefused("a member has another length")
        if not isinstance(fields[1], bytes) or not 1 <= len(fields[1]) <= 1024 or not isinstance(fields[5], str):
            raise LinkRefused("contact ID or name")
        try:
            phone_key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), fields[4])
        except ValueError:
            raise LinkRefused("no point of the curve") from None
        expected = hmac.digest(client_key.exchange(ec.ECDH(), phone_key), handshake_hash, "sha256")
        if not hmac.compare_digest(expected, fields[6]):
            raise LinkRefused("the signature does not verify")
        return cls(fields[1], fields[2], fields[3], fields[4], fields[5], domain, fields.get(ANNOUNCES_PROOF) == 2)

    @property
    def host(self):
        return keys.host(self.domain)

    def payload(self, nonce, hint, claimed=None):
        return payload(self.link_id, self.secret if self.proves else None, nonce, hint, self.host, claimed)


@dataclass
class PhoneLink(Stored):
    """A phone's part of a link, and the highest number that it has seen."""

    BYTES = ("link_id", "secret", "contact_seed", "identity_scalar")

    link_id: bytes
    secret: bytes
    contact_seed: bytes
    identity_scalar: bytes
    domain: int
    number: int = 0

    @classmethod
    def new(cls, domain):
        identity = noise.new_key().private_numbers().private_value.to_bytes(32, "big")
        seed = new_contact_key().private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
        return cls(secrets.token_bytes(8), secrets.token_bytes(32), seed, identity, domain)

    @property
    def host(self):
        return keys.host(self.domain)

    @property
    def contact_key(self):
        return ed25519.Ed25519PrivateKey.from_private_bytes(self.contact_seed)

    @property
    def identity(self):
        return noise.private_key(self.identity_scalar)

    def information(self, name, client_key, handshake_hash):
        """Returns linking information for a session."""
        fields = channel.linking_map(contact_id(self.contact_key), self.link_id, self.secret, self.identity, name,
                                     client_key, handshake_hash)
        return {**fields, ANNOUNCES_PROOF: 2}

    def accepts(self, data):
        """Returns nonce and hint of a payload, whose number is used up; None if the user must not be asked."""
        try:
            fields = cbor.read(data)
        except ValueError:
            return None
        if not isinstance(fields, dict) or fields.get(1) != self.link_id or not isinstance(fields.get(4), bytes):
            return None
        nonce, hint = fields.get(2), fields.get(3)
        if not isinstance(nonce, bytes) or len(nonce) != 16 or hint not in ("ga", "mc"):
            return None
        claimed = fields[4][:18]
        number, at = int.from_bytes(claimed[2:10], "big"), int.from_bytes(claimed[10:], "big")
        if not hmac.compare_digest(proof(self.secret, nonce, hint, self.host, claimed), fields[4]):
            return None
        if number <= self.number or abs(at - time.time()) > 600:
            return None
        self.number = number
        return nonce, hint


# The relay.


@dataclass(frozen=True)
class Wake:
    """A wake-up."""

    number: int
    routing: bytes
    tunnel: bytes
    payload: bytes
    seconds: int

    @property
    def path(self):
        return f"/cable/connect/{self.routing.hex()}/{self.tunnel.hex()}"


class Listener:
    """A phone's connection to the relay, which proves its contact ID at once; each argument may be wrong."""

    def __init__(self, key, host, relay, ca, contact=None, signer=None, signed_host=None):
        self.key, self.host = key, host
        self.contact = contact or contact_id(key)
        self.socket = Tunnel(host, f"/cable/listen/{to_base64url(self.contact)}", relay, ca, subprotocol=LISTEN)
        hello = self._read("hello")
        self.ping_seconds = hello[2]
        statement = listen_statement(signed_host or host, hello[1], self.contact)
        signature = (signer or key).sign(statement)
        self.socket.send(cbor.canonical({0: "own", 1: public_bytes(key), 2: signature}))
        self._read("ok")

    def _read(self, name, timeout=60):
        message = self.socket.receive(timeout)
        fields = cbor.read(message) if cbor.is_canonical(message) else None
        if not isinstance(fields, dict) or fields.get(0) != name:
            raise TunnelFailed(f"{name} expected; found {message.hex()}")
        return fields

    def wake(self, timeout=60):
        """Returns the next wake-up."""
        message = self._read("wake", timeout)
        return Wake(*(message[key] for key in range(1, 6)))

    def decline(self, wake):
        self.socket.send(cbor.canonical({0: "decline", 1: wake.number}))

    def revoke(self):
        """Revokes the contact ID, and waits until the relay closes."""
        self.socket.send(cbor.canonical({0: "gone", 1: self.key.sign(gone_statement(self.host, self.contact))}))
        try:
            self.socket.receive(30)
        except TunnelFailed as end:
            if end.code == 1000:
                return
            raise
        raise TunnelFailed("a message after the revocation")

    def close(self):
        with contextlib.suppress(TunnelFailed):
            self.socket.close()


def contact(link_contact, host, data, relay, ca):
    """Contacts a phone; returns the tunnel after the relay's 101, in which the phone is signalled first."""
    tunnel = Tunnel(host, f"/cable/contact/{to_base64url(link_contact)}", relay, ca,
                    headers=[(PAYLOAD, data.hex()), (SIGNAL, "true")])
    if SIGNAL not in tunnel.socket.response.headers:
        raise TunnelFailed(f"the relay does not echo {SIGNAL}")
    return tunnel


def wait_for_phone(tunnel, timeout=60):
    if tunnel.receive(timeout) != b"\0":
        raise TunnelFailed("a message before the phone's arrival was signalled")


def fresh_eid(secret, nonce):
    """Returns EID and advert of a phone without a code; the last two bytes must not be an unassigned domain."""
    while True:
        eid = b"\0" + secrets.token_bytes(15)
        if not len(keys.ASSIGNED_HOSTS) <= keys.eid_domain(eid) < 256:
            return eid, keys.seal_eid(eid, keys.eid_key(secret, nonce))
