#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks an export in the Credential Exchange Format, independently of this project's code.

    check_export.py FILE

Checks the structure with cxf-1.0.schema.json, and the rules that a schema cannot express with code. Prints, for each
credential ID, the data that a relying party would have.
"""

import base64
import json
import pathlib
import sys

import jsonschema
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

SCHEMA = pathlib.Path(__file__).with_name("cxf-1.0.schema.json")


def decoded(text):
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    assert base64.urlsafe_b64encode(data).rstrip(b"=").decode() == text, "not canonical base64url: " + text
    return data


def once(pairs):
    members = dict(pairs)
    assert len(members) == len(pairs), "duplicate member"
    return members


def main(path):
    document = json.loads(pathlib.Path(path).read_bytes().decode("utf-8", "strict"), object_pairs_hook=once)
    schema = json.loads(SCHEMA.read_text())
    validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
    validator.check_schema(schema)
    validator.validate(document)
    identifiers, found = [], {}
    for account in document["accounts"]:
        identifiers.append(account["id"])
        for item in account["items"]:
            identifiers.append(item["id"])
            for extension in item.get("extensions", []):
                assert extension["name"].startswith(document["exporterRpId"] + "/"), "an extension without the name of its exporter"
            for passkey in item["credentials"]:
                key = serialization.load_der_private_key(decoded(passkey["key"]), None)
                assert isinstance(key, ec.EllipticCurvePrivateKey) and isinstance(key.curve, ec.SECP256R1)
                assert 1 <= len(decoded(passkey["credentialId"])) <= 1023
                assert 1 <= len(decoded(passkey["userHandle"])) <= 64
                extensions = passkey.get("fido2Extensions", {})
                secrets = extensions.get("hmacCredentials")
                if secrets:
                    both = decoded(secrets["credWithUV"]), decoded(secrets["credWithoutUV"])
                    assert all(len(secret) == 32 for secret in both) and both[0] != both[1]
                public = key.public_key().public_bytes(
                    serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
                )
                found[passkey["credentialId"]] = {
                    "rpId": passkey["rpId"],
                    "username": passkey["username"],
                    "userDisplayName": passkey["userDisplayName"],
                    "userHandle": passkey["userHandle"],
                    "public": public.hex(),
                    "creationAt": item.get("creationAt"),
                    "fido2Extensions": extensions,
                }
    assert all(len(decoded(identifier)) <= 64 for identifier in identifiers)
    assert len(set(identifiers)) == len(identifiers), "duplicate identifier"
    print(json.dumps(found, sort_keys=True))


if __name__ == "__main__":
    main(sys.argv[1])
