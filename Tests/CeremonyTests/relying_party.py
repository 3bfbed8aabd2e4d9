#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A relying party that is not ours: two of them, python-fido2 and py_webauthn, and both must agree.

  relying_party.py create-options STATE [--exclude]      prints {"publicKey": ...} for a registration
  relying_party.py verify-creation STATE < response.json
  relying_party.py request-options STATE [--allow]       prints {"publicKey": ...} for a sign-in
  relying_party.py verify-request STATE < response.json

STATE is a JSON file with what a site would keep. Verification prints one JSON line; a refusal is an exception.
"""
import json, secrets, sys

import webauthn
from fido2.server import Fido2Server
from fido2.webauthn import (AttestedCredentialData, AuthenticationResponse, PublicKeyCredentialRpEntity,
                            RegistrationResponse)
from webauthn.helpers import base64url_to_bytes as decode, bytes_to_base64url as encode

RP_ID, ORIGIN = "example.com", "https://example.com"


def load(path):
    try:
        with open(path) as file:
            return json.load(file)
    except FileNotFoundError:
        return {"user": encode(secrets.token_bytes(16)), "credentials": {}}


def save(path, state):
    with open(path, "w") as file:
        json.dump(state, file)


def server():
    return Fido2Server(PublicKeyCredentialRpEntity(id=RP_ID, name="Example"), verify_origin=lambda o: o == ORIGIN)


def create_options(state, exclude):
    state["challenge"] = encode(secrets.token_bytes(32))
    options = {
        "rp": {"id": RP_ID, "name": "Example"},
        "user": {"id": state["user"], "name": "ada@example.com", "displayName": "Ada L."},
        "challenge": state["challenge"],
        # The first is not supported: the first *supported* one must be taken.
        "pubKeyCredParams": [{"type": "public-key", "alg": -257}, {"type": "public-key", "alg": -7}],
        "authenticatorSelection": {"residentKey": "required", "userVerification": "required"},
        "attestation": "none",
    }
    if exclude:
        options["excludeCredentials"] = [{"type": "public-key", "id": i} for i in state["credentials"]]
    return {"publicKey": options}


def verify_creation(state, response):
    a = webauthn.verify_registration_response(
        credential=response, expected_challenge=decode(state["challenge"]), expected_rp_id=RP_ID,
        expected_origin=ORIGIN, require_user_verification=True)
    b = server().register_complete({"challenge": state["challenge"], "user_verification": "required"},
                                   RegistrationResponse.from_dict(response))
    assert b.credential_data.credential_id == a.credential_id
    state["credentials"][encode(a.credential_id)] = {"key": encode(a.credential_public_key),
                                                     "data": encode(bytes(b.credential_data))}
    return {"id": encode(a.credential_id), "format": getattr(a.fmt, "value", a.fmt), "aaguid": a.aaguid,
            "transports": response["response"]["transports"], "deviceType": a.credential_device_type.value,
            "backedUp": a.credential_backed_up, "count": a.sign_count}


def request_options(state, allow):
    state["challenge"] = encode(secrets.token_bytes(32))
    options = {"rpId": RP_ID, "challenge": state["challenge"], "userVerification": "required"}
    if allow:
        ids = [encode(secrets.token_bytes(32)), *state["credentials"]]
        options["allowCredentials"] = [{"type": "public-key", "id": i, "transports": ["hybrid"]} for i in ids]
    return {"publicKey": options}


def verify_request(state, response):
    kept = state["credentials"][response["id"]]
    a = webauthn.verify_authentication_response(
        credential=response, expected_challenge=decode(state["challenge"]), expected_rp_id=RP_ID,
        expected_origin=ORIGIN, credential_public_key=decode(kept["key"]), credential_current_sign_count=0,
        require_user_verification=True)
    server().authenticate_complete({"challenge": state["challenge"], "user_verification": "required"},
                                   [AttestedCredentialData(decode(kept["data"]))],
                                   AuthenticationResponse.from_dict(response))
    handle = response["response"].get("userHandle")
    assert handle in (None, state["user"]), "another account"
    return {"id": response["id"], "count": a.new_sign_count, "userHandle": handle}


def main():
    command, path, flags = sys.argv[1], sys.argv[2], sys.argv[3:]
    state = load(path)
    if command == "create-options": result = create_options(state, "--exclude" in flags)
    elif command == "verify-creation": result = verify_creation(state, json.load(sys.stdin))
    elif command == "request-options": result = request_options(state, "--allow" in flags)
    elif command == "verify-request": result = verify_request(state, json.load(sys.stdin))
    else: sys.exit(f"unknown command {command}")
    save(path, state)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
