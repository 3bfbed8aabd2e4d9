#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judges an export in the Credential Exchange Format without any code of ours.

    check_export.py FILE

The structure is held against cxf-1.0.schema.json, what a schema can't say is looked at here. Prints, for each
credential ID, what a relying party would know of the passkey.
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
    assert base64.urlsafe_b64encode(data).rstrip(b"=").decode() == text, "one spelling: " + text
    return data


def once(pairs):
    members = dict(pairs)
    assert len(members) == len(pairs), "no member comes twice"
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
                assert extension["name"].startswith(document["exporterRpId"] + "/"), "an extension names its maker"
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
    assert len(set(identifiers)) == len(identifiers), "every identifier is its own"
    print(json.dumps(found, sort_keys=True))


if __name__ == "__main__":
    main(sys.argv[1])
