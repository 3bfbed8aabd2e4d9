#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the documents of other programs in this folder, from their published formats and from fixed test keys.

    make_documents.py

bitwarden.json            Bitwarden's unencrypted export (bitwarden.com/help/condition-bitwarden-import, with the member
                          fido2Credentials of its clients)
bitwarden-encrypted.json  the frame of an encrypted export, without its contents
cxf-draft.json            a document as programs from the time of the working drafts of 2024 write it
*.zip                      the same documents in archives, as data.json and as a CXP archive
*.public.json             the public keys of the importable passkeys by credential ID
"""
import base64
import hashlib
import json
import os
import uuid
import zipfile

from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

HERE = os.path.dirname(os.path.abspath(__file__))
TIME = (2024, 5, 26, 12, 34, 56)


def b64(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def seed(name, length=32):
    return hashlib.sha512(b"import test " + name.encode()).digest()[:length]


def key(name):
    """Returns a P-256 key: its PKCS#8 form and its public point."""
    private = ec.derive_private_key(int.from_bytes(seed(name), "big") % (2**255), ec.SECP256R1())
    pkcs8 = private.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    return pkcs8, private.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def ed25519_key(name):
    private = ed25519.Ed25519PrivateKey.from_private_bytes(seed(name))
    return private.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())


def write(name, document):
    with open(f"{HERE}/{name}", "w") as file:
        json.dump(document, file, indent=1, ensure_ascii=False)
        file.write("\n")


def bitwarden():
    public = {}

    def passkey(name, identifier, raw, rp, **changes):
        pkcs8, point = key(name)
        if raw is not None:
            public[b64(raw)] = b64(point)
        members = {
            "credentialId": identifier, "keyType": "public-key", "keyAlgorithm": "ECDSA", "keyCurve": "P-256",
            "keyValue": b64(pkcs8), "rpId": rp, "userHandle": b64(name.encode()), "userName": name, "counter": "0",
            "rpName": rp, "userDisplayName": name.title(), "discoverable": "true",
            "creationDate": "2024-05-26T12:34:56.789Z",
        }
        members.update(changes)
        return {k: v for k, v in members.items() if v is not ...}

    def item(kind, name, **members):
        return {
            "passwordHistory": None, "revisionDate": "2024-06-01T00:00:00.000Z",
            "creationDate": "2024-05-01T00:00:00.000Z", "deletedDate": None,
            "id": str(uuid.UUID(bytes=seed("item " + name, 16))), "organizationId": None, "folderId": None,
            "type": kind, "reprompt": 0, "name": name, "notes": None, "favorite": False, "collectionIds": None,
            **members,
        }

    def login(*passkeys, password=None, totp=None):
        return {
            "fido2Credentials": list(passkeys), "uris": [{"match": None, "uri": "https://example.com"}],
            "username": "ada", "password": password, "totp": totp,
        }

    guid = uuid.UUID("a2e10494-af23-400c-8146-23234e1830ed")
    long = seed("long", 48)
    other = seed("other", 16)
    items = [
        item(1, "Example", login=login(
            passkey("ada@example.com", str(guid), guid.bytes, "example.com"), password="hunter2", totp="JBSWY3DPEHPK3PXP")),
        item(1, "Long", login=login(
            passkey("bob", "b64." + b64(long), long, "shop.example.org", discoverable="false", userName=None,
                    userDisplayName=None, creationDate="2024-05-26T12:34:56Z"))),
        item(1, "Counter", login=login(
            passkey("cy", str(uuid.UUID(bytes=other)).upper(), other, "login.example.net", counter="7",
                    discoverable=..., creationDate="yesterday"),
            passkey("ed", str(uuid.UUID(bytes=seed("ed", 16))), None, "ed.example", keyAlgorithm="EdDSA",
                    keyCurve="Ed25519", keyValue=b64(ed25519_key("ed"))),
            passkey("p384", str(uuid.UUID(bytes=seed("p384", 16))), None, "p384.example", keyCurve="P-384"),
            passkey("nil", "not-a-guid", None, "example.com"),
            passkey("short", "b64.", None, "example.com"),
            passkey("handle", str(uuid.UUID(bytes=seed("handle", 16))), None, "example.com", userHandle=None),
            passkey("site", str(uuid.UUID(bytes=seed("site", 16))), None, "https://example.com"),
            passkey("key", str(uuid.UUID(bytes=seed("key", 16))), None, "example.com", keyValue="AAAA"),
            passkey("truth", str(uuid.UUID(bytes=seed("truth", 16))), None, "example.com", userHandle=None, discoverable="perhaps"))),
        item(2, "Note", secureNote={"type": 0}, notes="remember the milk"),
        item(3, "Card", card={"cardholderName": "Ada", "brand": "Visa", "number": "4111111111111111"}),
        item(4, "Identity", identity={"firstName": "Ada"}),
        item(5, "Key", sshKey={"privateKey": "", "publicKey": "", "keyFingerprint": ""}),
        item(1, "No passkeys", login={"uris": [], "username": None, "password": "", "totp": None}),
        item(1, "No login"),
    ]
    write("bitwarden.json", {"encrypted": False, "folders": [{"id": str(guid), "name": "Work"}], "items": items})
    write("bitwarden.public.json", public)
    write("bitwarden-encrypted.json", {
        "encrypted": True, "passwordProtected": True, "salt": b64(seed("salt", 16)), "kdfIterations": 600000,
        "kdfType": 0, "encKeyValidation_DO_NOT_EDIT": "2.AAAA|AAAA|AAAA", "data": "2.AAAA|AAAA|AAAA"})


def draft():
    pkcs8, point = key("draft")
    identifier = seed("draft id", 16)
    items = [{
        "id": b64(seed("draft item", 8)), "creationAt": 1710755527, "modifiedAt": 1710755527, "type": "login",
        "title": "Example", "credentials": [
            {"type": "BasicAuth", "urls": ["https://example.com"],
             "username": {"fieldType": "string", "value": "ada"},
             "password": {"fieldType": "concealed-string", "value": "hunter2"}},
            {"type": "Passkey", "credentialId": b64(identifier), "rpId": "example.com", "userName": "ada@example.com",
             "userDisplayName": "Ada", "userHandle": b64(b"ada's handle"), "key": b64(pkcs8),
             "fido2Extensions": {
                 "hmacSecret": {"algorithm": "HS256", "secret": b64(seed("secret"))},
                 "largeBlob": {"size": 11, "alg": "deflate", "data": "S8tIzcnJBwA"}}},
            {"type": "Passkey", "credentialId": "5,118,198", "rpId": "example.com", "userName": "eve",
             "userDisplayName": "Eve", "userHandle": b64(b"eve"), "key": b64(pkcs8)}]}]
    write("cxf-draft.json", {
        "version": 0, "exporter": "A Password Manager", "timestamp": 1711017120, "accounts": [{
            "id": b64(seed("account", 8)), "userName": "ada", "email": "ada@example.com", "collections": [],
            "items": items}]})
    write("cxf-draft.public.json", {b64(identifier): b64(point)})


def archive(name, files, streamed=False):
    """Writes an archive, with sizes after the data if it is streamed."""

    class Pipe:
        def __init__(self, file):
            self.file = file

        def write(self, data):
            return self.file.write(data)

        def flush(self):
            self.file.flush()

    with open(f"{HERE}/{name}", "wb") as out, zipfile.ZipFile(Pipe(out) if streamed else out, "w") as target:
        for path, source, method in files:
            content = source if isinstance(source, bytes) else open(f"{HERE}/{source[0]}", "rb").read()
            target.writestr(zipfile.ZipInfo(path, TIME), content, method)


if __name__ == "__main__":
    bitwarden()
    draft()
    archive("bitwarden.zip", [
        ("data.json", ("bitwarden.json",), zipfile.ZIP_DEFLATED),
        ("attachments/1/other.json", b"{}", zipfile.ZIP_STORED)])
    archive("cxp.zip", [
        ("CXP-Export/", b"", zipfile.ZIP_STORED),
        ("CXP-Export/index.json", ("other-manager.json",), zipfile.ZIP_DEFLATED),
        ("CXP-Export/documents/note.json", b"not JSON", zipfile.ZIP_DEFLATED),
        ("__MACOSX/._index.json", b"\0", zipfile.ZIP_STORED)], streamed=True)
