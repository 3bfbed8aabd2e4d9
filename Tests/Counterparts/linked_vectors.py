#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Computes Tests/Vectors/linked.json: contact IDs, statements, payloads, listen messages and updates of linked phones.

  $(scripts/python) Tests/Counterparts/linked_vectors.py > Tests/Vectors/linked.json

Ed25519 is that of the `cryptography` package (OpenSSL). HMAC and HKDF are written out with Python's standard library.
"""
import base64, hashlib, hmac, json

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import cbor


def fixed(label, length):
    """Returns bytes that look random and are the same in each run."""
    return hashlib.shake_128(label.encode()).digest(length)


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def hkdf(secret, salt, info, length):
    """RFC 5869 with SHA-256, for up to 32 bytes."""
    extracted = hmac.digest(salt, secret, "sha256")
    return hmac.digest(extracted, info + b"\1", "sha256")[:length]


class Contact:
    def __init__(self, label, host):
        self.host = host
        self.seed = fixed(f"seed {label}", 32)
        self.key = Ed25519PrivateKey.from_private_bytes(self.seed)
        self.public = self.key.public_key().public_bytes_raw()
        self.challenge = fixed(f"challenge {label}", 32)
        self.id = b"\1" + hashlib.sha256(b"hybrid-relay contact v1" + self.public).digest()[:24]
        self.listen = b"hybrid-relay listen v1" + host.encode() + self.challenge + self.id
        self.gone = b"hybrid-relay gone v1" + host.encode() + self.id

    def vector(self):
        return {
            "seed": self.seed.hex(), "public_key": self.public.hex(), "contact_id": self.id.hex(),
            "contact_path": "/cable/contact/" + base64url(self.id),
            "listen_path": "/cable/listen/" + base64url(self.id),
            "host": self.host, "challenge": self.challenge.hex(),
            "listen_statement": self.listen.hex(), "listen_signature": self.key.sign(self.listen).hex(),
            "gone_statement": self.gone.hex(), "gone_signature": self.key.sign(self.gone).hex(),
            "gone_headers": {
                "X-Hybrid-Contact-Key": base64url(self.public),
                "X-Hybrid-Contact-Gone": base64url(self.key.sign(self.gone)),
            },
        }


def payload(label, hint, host, proves, number=1, time=1_800_000_000, requester=0):
    link, secret, nonce = fixed(f"link {label}", 8), fixed(f"secret {label}", 32), fixed(f"nonce {label}", 16)
    members = {1: link, 2: nonce, 3: hint}
    if proves:
        key = hkdf(secret, nonce, b"hybrid wake v2", 32)
        claims = b"\2" + bytes([requester]) + number.to_bytes(8, "big") + time.to_bytes(8, "big")
        members[4] = claims + hmac.digest(key, claims + hint.encode() + host.encode(), "sha256")[:16]
    return {
        "link_id": link.hex(), "link_secret": secret.hex(), "nonce": nonce.hex(), "hint": hint, "host": host,
        "proves": proves, "number": number, "time": time, "requester": requester, "payload": cbor.canonical(members).hex(),
    }


def messages(contact):
    sample = bytes.fromhex(payload("message", "ga", contact.host, True)["payload"])
    routing, tunnel = fixed("routing", 3), fixed("tunnel", 16)
    listen, gone = contact.key.sign(contact.listen), contact.key.sign(contact.gone)
    valid = [
        {0: "hello", 1: contact.challenge, 2: 55}, {0: "hello", 1: contact.challenge, 2: 300},
        {0: "own", 1: contact.public, 2: listen}, {0: "ok"},
        {0: "wake", 1: 0, 2: routing, 3: tunnel, 4: sample, 5: 120},
        {0: "wake", 1: 2**32 - 1, 2: routing, 3: tunnel, 4: bytes(256), 5: 0},
        {0: "decline", 1: 7}, {0: "gone", 1: gone},
    ]
    wake = valid[4]
    invalid = [
        {}, {0: 1}, {0: b"ok"}, {0: "OK"}, {0: "seal", 1: b"x"}, {1: "ok"}, [0, "ok"], {0: "ok", 1: 1},
        {0: "hello", 1: contact.challenge}, {0: "hello", 1: contact.challenge[1:], 2: 55},
        {0: "hello", 1: contact.challenge, 2: 0}, {0: "hello", 1: contact.challenge, 2: 301},
        {0: "hello", 1: contact.challenge, 2: -1}, {0: "hello", 1: contact.challenge, 2: 55, 3: 1},
        {0: "own", 1: contact.public}, {0: "own", 1: contact.public + b"\0", 2: listen},
        {0: "own", 1: contact.public, 2: listen[1:]}, {0: "own", 1: listen, 2: contact.public},
        wake | {1: 2**32}, wake | {1: -1}, wake | {2: routing + b"\0"}, wake | {3: tunnel[1:]}, wake | {4: b""},
        wake | {4: bytes(257)}, wake | {4: "payload"}, wake | {5: 601}, wake | {6: 0}, {0: "wake", 1: 1},
        {0: "decline"}, {0: "decline", 1: 2**32}, {0: "decline", 1: "7"}, {0: "decline", 1: 7, 2: 0},
        {0: "gone"}, {0: "gone", 1: gone[1:]}, {0: "gone", 1: gone + b"\0"},
    ]
    return {
        "valid": [{"name": message[0], "cbor": cbor.canonical(message).hex()} for message in valid],
        "invalid": [cbor.canonical(message).hex() for message in invalid]
        + [cbor.loose(message).hex() for message in valid]
        + [cbor.canonical(valid[3]).hex() + "00", (b"\xbf" + cbor.canonical(valid[3])[1:] + b"\xff").hex()],
    }


def padded_length(plaintext):
    """Length of a frame's plaintext: zeros and a last byte, which counts them, up to a multiple of 32."""
    return len(plaintext) + 1 + (-len(plaintext) - 1) % 32


def update(name, contact_id, announces):
    """An update with as many zeros as its 512 bytes leave room for; the members of a link are not secret here."""
    point = bytes.fromhex(
        "049ce9ef9fdf1c9cb50aeb653d46f547015b79c080764b9afa76cb0191ce71d532"
        "a8f89870cff10d600832b08c2507826eeb6e99949da3b8e5470e7145e1822ef4"
    )
    link = {
        1: contact_id, 2: fixed("link", 8), 3: fixed("secret", 32), 4: point, 5: name, 6: fixed("signature", 32),
    } | ({1000: 2} if announces else {})
    members = {} if name is None else {1: link}
    for zeros in range(512, -1, -1):
        plaintext = b"\2" + cbor.canonical({0: bytes(zeros)} | members)
        if len(plaintext) < 512:
            break
    assert padded_length(plaintext) == 512, (name, len(plaintext))
    return {
        "name": name, "contact_id": contact_id.hex(), "announces_proof": announces, "plaintext": plaintext.hex(),
        "padded_length": padded_length(plaintext),
    }


def main():
    contacts = [
        Contact("one", "cable.wufkweyy3uaxb.com"), Contact("two", "cable.my4kstlhndi4c.net"),
        Contact("three", "cable.ua5v.com"),
    ]
    mine = contacts[0]
    document = {
        "about": {
            "source": "computed by Tests/Counterparts/linked_vectors.py with Python and its package cryptography",
        },
        "contacts": [contact.vector() for contact in contacts],
        "foreign_ids": [
            {"contact_id": data.hex(), "base64url": base64url(data), "kind": kind}
            for data, kind in (
                (b"\0", "foreign"), (b"\1" * 24, "foreign"), (b"\1" * 26, "foreign"), (b"\1" * 25, "listener"),
                (b"\2", "push"), (b"\2" * 300, "push"), (b"example-contact-id", "foreign"), (b"\xff" * 1024, "foreign"),
            )
        ],
        "payloads": [
            payload("a", "ga", mine.host, True), payload("b", "mc", mine.host, True, 2**63 - 1, 2**40, 1),
            payload("c", "ga", "cable.ua5v.com", True, 258, 0), payload("d", "mc", mine.host, False),
        ],
        "messages": messages(mine),
        "updates": [
            update(None, b"", False), update("Pixel 8", mine.id, True), update("Pixel 8", mine.id, False),
            update("n" * 255, mine.id, True), update("", b"\2" * 300, True), update("n", b"\2" * 310, True),
        ],
    }
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
