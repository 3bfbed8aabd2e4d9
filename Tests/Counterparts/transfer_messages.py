# SPDX-License-Identifier: Apache-2.0
"""Messages of a transfer of passkeys, above its wire: digits, offers, sealed batches and files."""
import hashlib, hmac, json

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_der_private_key

import hpke
from website import from_base64url, to_base64url

LABEL = b"hybrid transfer v1"
MOST_IN_BATCH = 64
LONGEST_PAYLOAD = 512 << 10
SUITE = {"kem": hpke.KEM, "kdf": hpke.KDF, "aead": hpke.AEAD}
PARTY = "counterpart.invalid"


class TransferFailed(Exception):
    """The other side broke a rule or refused."""

    def __init__(self, reason, text):
        super().__init__(f"{reason}: {text}")
        self.reason = reason


def expect(condition, text, reason="malformed"):
    if not condition:
        raise TransferFailed(reason, text)


class Binding:
    """What only one session has."""

    def __init__(self, handshake_hash, receiver_nonce, giver_nonce):
        self.hash, self.nonces = handshake_hash, receiver_nonce + giver_nonce

    @property
    def bytes(self):
        return self.hash + self.nonces

    @property
    def digits(self):
        output = HKDF(SHA256(), 8, salt=self.nonces, info=LABEL + b" digits").derive(self.hash)
        number = int.from_bytes(output, "big") % 1_000_000
        return f"{number // 1000:03d} {number % 1000:03d}"

    def vault_tag(self, vault_id):
        return hmac.new(vault_id, LABEL + b" vault" + self.bytes, hashlib.sha256).digest()


def commitment(nonce):
    return hashlib.sha256(nonce).digest()


# Requests, responses and payloads.


def _parameters(public):
    return {"mode": "base", **SUITE, "key": {"kty": "OKP", "crv": "X25519", "x": to_base64url(public)}}


def _public(parameters):
    expect({name: parameters[name] for name in SUITE} == SUITE and parameters["mode"] == "base", "another suite")
    key = parameters["key"]
    expect((key["kty"], key["crv"]) == ("OKP", "X25519"), "another kind of key")
    return from_base64url(key["x"])


def request(key):
    """Returns the request for a private key."""
    public = hpke.raw(key.public_key())
    return {"version": 0, "importer": PARTY, "hpke": [_parameters(public)], "credentialTypes": ["passkey"]}


class Sealing:
    """Sealed payloads of one session or one request file."""

    def __init__(self, purpose, binding):
        self.info = LABEL + b"\0" + purpose.encode() + b"\0" + binding

    @staticmethod
    def place(index, last):
        return index.to_bytes(4, "big") + bytes([last])

    def seal(self, payload, index, last, asked, ephemeral=None):
        """Returns the members of a message `items`."""
        expect(asked["version"] == 0, "another version", "version")
        public = _public(asked["hpke"][0])
        encapsulated, sealed = hpke.seal(public, payload, self.info, self.place(index, last), ephemeral)
        response = {
            "version": 0, "exporter": PARTY, "hpke": _parameters(encapsulated), "payload": to_base64url(sealed),
        }
        return {"index": index, "last": last, "response": response}

    def open(self, items, index, key):
        response = items["response"]
        expect(items["index"] == index and response["version"] == 0, "another batch")
        sealed = from_base64url(response["payload"])
        expect(len(sealed) <= LONGEST_PAYLOAD + 16, "a payload that is too long")
        try:
            place = self.place(index, items["last"])
            return hpke.open_sealed(key, _public(response["hpke"]), sealed, self.info, place)
        except (InvalidTag, ValueError):
            raise TransferFailed("malformed", "a payload that is not sealed for this transfer") from None


# Passkeys, as dictionaries: the members of a credential of the Credential Exchange Format, and `created`.


def new_passkey(site, user, number, created=1_700_000_000):
    """Returns a passkey whose ID and key follow from its names."""
    seed = hashlib.sha256(f"{site} {user} {number}".encode()).digest()
    private = ec.derive_private_key(int.from_bytes(b"\x7f" + seed[1:], "big"), ec.SECP256R1())
    der = private.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    return {
        "type": "passkey", "credentialId": to_base64url(seed[:16]), "rpId": site, "username": user,
        "userDisplayName": "", "userHandle": to_base64url(seed[16:24]), "key": to_base64url(der), "created": created,
    }


def public_key(passkey):
    private = load_der_private_key(from_base64url(passkey["key"]), None)
    return private.public_key()


def label(passkey):
    """Returns the entry of an offer."""
    entry = {"rpId": passkey["rpId"], "user": passkey["username"] or passkey["userDisplayName"]}
    return entry if passkey["created"] is None else {**entry, "created": passkey["created"]}


def document(passkeys, time=1_800_000_000):
    """Returns a document of the Credential Exchange Format."""
    items = []
    for passkey in passkeys:
        credential = {name: value for name, value in passkey.items() if name not in ("created", "extension")}
        items.append({
            "id": passkey["credentialId"], "creationAt": passkey["created"], "title": passkey["rpId"],
            "credentials": [credential], "extensions": [passkey["extension"]] if "extension" in passkey else [],
        })
    account = {"id": "AA", "username": "", "email": "", "collections": [], "items": items}
    head = {"version": {"major": 1, "minor": 0}, "exporterRpId": PARTY, "exporterDisplayName": "Counterpart"}
    return json.dumps({**head, "timestamp": time, "accounts": [account]}).encode()


def passkeys_of(payload):
    """Returns the passkeys of a document."""
    read = json.loads(payload)
    expect(read.get("version", {}).get("major") == 1 and "accounts" in read, "no document of this version")
    found = []
    for account in read["accounts"]:
        for item in account["items"]:
            own = {"extension": item["extensions"][0]} if item.get("extensions") else {}
            found += [{**entry, "created": item.get("creationAt"), **own} for entry in item["credentials"]]
    expect(0 < len(found) <= MOST_IN_BATCH, "a batch of another size")
    return found


def batches(passkeys, size=MOST_IN_BATCH):
    return [passkeys[start : start + size] for start in range(0, len(passkeys), size)]


# Files.


def request_file(key, name):
    return json.dumps({**request(key), "name": name}).encode()


def gift_file(passkeys, asked, name, size=MOST_IN_BATCH, ephemeral=lambda index: None):
    """Returns the answer to the bytes of a request's file."""
    digest = hashlib.sha256(asked).digest()
    sealing, parts, sealed = Sealing("give", digest), batches(passkeys, size), []
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        sealed.append(sealing.seal(document(part), index, last, json.loads(asked), ephemeral(index)))
    return json.dumps({"version": 1, "name": name, "request": to_base64url(digest), "batches": sealed}).encode()


def open_gift(gift, asked, key):
    """Returns the passkeys of a gift for the bytes of a request's file."""
    read, digest = json.loads(gift), hashlib.sha256(asked).digest()
    expect(read["version"] == 1, "another version", "version")
    expect(from_base64url(read["request"]) == digest, "the answer to another request")
    sealing, found = Sealing("give", digest), []
    for index, items in enumerate(read["batches"]):
        expect(items["last"] == (index == len(read["batches"]) - 1), "an incomplete gift")
        found += passkeys_of(sealing.open(items, index, key))
    return found


def new_key():
    return X25519PrivateKey.generate()
