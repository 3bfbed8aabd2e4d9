#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An independent relying party. It uses python-fido2 and py_webauthn, and both must agree.

  relying_party.py create-options STATE [--exclude] [--user NAME] [--with JSON]
                                                         prints {"publicKey": ...} for a registration
  relying_party.py verify-creation STATE < response.json
  relying_party.py request-options STATE [--allow | --only ID] [--decoys N] [--with JSON]
                                                         prints {"publicKey": ...} for a sign-in
  relying_party.py verify-request STATE < response.json

STATE is a JSON file with the state of the site. --with gives further members of the options. Verification prints one
JSON line; a rejected response raises an exception.
"""
import argparse, hashlib, json, random, secrets, sys

import webauthn
from fido2.attestation import Attestation, AttestationType
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


def create_options(state, exclude, user, more):
    state["challenge"] = encode(secrets.token_bytes(32))
    # The user handle of another account is a hash of its name.
    handle = state["user"] if user is None else encode(hashlib.sha256(user.encode()).digest()[:16])
    state["account"] = handle
    name = "ada@example.com" if user is None else user
    options = {
        "rp": {"id": RP_ID, "name": "Example"},
        "user": {"id": handle, "name": name, "displayName": "Ada L."},
        "challenge": state["challenge"],
        # The first is not supported, so the second must be selected.
        "pubKeyCredParams": [{"type": "public-key", "alg": -257}, {"type": "public-key", "alg": -7}],
        "authenticatorSelection": {"residentKey": "required", "userVerification": "required"},
        "attestation": "none",
    }
    if exclude:
        options["excludeCredentials"] = [{"type": "public-key", "id": i} for i in state["credentials"]]
    user = {**options["user"], **more.pop("user", {})}
    return {"publicKey": {**options, **more, "user": user}}


def verify_creation(state, response):
    a = webauthn.verify_registration_response(
        credential=response, expected_challenge=decode(state["challenge"]), expected_rp_id=RP_ID,
        expected_origin=ORIGIN, require_user_verification=True)
    b = server().register_complete({"challenge": state["challenge"], "user_verification": "required"},
                                   RegistrationResponse.from_dict(response))
    assert b.credential_data.credential_id == a.credential_id
    attestation, kind = RegistrationResponse.from_dict(response).response.attestation_object, "NONE"
    if attestation.fmt != "none":
        digest = hashlib.sha256(decode(response["response"]["clientDataJSON"])).digest()
        result = Attestation.for_type(attestation.fmt)().verify(attestation.att_stmt, attestation.auth_data, digest)
        assert result.attestation_type in (AttestationType.SELF, AttestationType.BASIC), result
        kind = result.attestation_type.name
    state["credentials"][encode(a.credential_id)] = {"key": encode(a.credential_public_key),
                                                     "data": encode(bytes(b.credential_data)),
                                                     "user": state["account"]}
    return {"id": encode(a.credential_id), "attestation": kind, **client_data(response), "format": getattr(a.fmt, "value", a.fmt), "aaguid": a.aaguid,
            "transports": response["response"]["transports"], "deviceType": a.credential_device_type.value,
            "backedUp": a.credential_backed_up, "count": a.sign_count,
            "extensions": response.get("clientExtensionResults", {})}


def client_data(response):
    """Returns the members that describe the frame of the page, which each website checks itself."""
    members = json.loads(decode(response["response"]["clientDataJSON"]))
    return {name: members[name] for name in ("crossOrigin", "topOrigin") if name in members}


def request_options(state, allow, only, decoys, more):
    state["challenge"] = encode(secrets.token_bytes(32))
    options = {"rpId": RP_ID, "challenge": state["challenge"], "userVerification": "required"}
    if allow or only:
        # Decoys have any valid length, and the right ID is at a random position.
        ids = [encode(secrets.token_bytes(random.randint(1, 1023))) for _ in range(decoys)]
        ids += [only] if only else list(state["credentials"])
        random.shuffle(ids)
        options["allowCredentials"] = [{"type": "public-key", "id": i, "transports": ["hybrid"]} for i in ids]
    return {"publicKey": {**options, **more}}


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
    assert handle in (None, kept["user"]), "another account"
    return {"id": response["id"], "count": a.new_sign_count, "userHandle": handle, **client_data(response),
            "extensions": response.get("clientExtensionResults", {})}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["create-options", "verify-creation", "request-options", "verify-request"])
    parser.add_argument("state")
    parser.add_argument("--exclude", action="store_true")
    parser.add_argument("--allow", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--decoys", type=int, default=1)
    parser.add_argument("--user")
    parser.add_argument("--with", dest="more", type=json.loads, default={})
    options = parser.parse_args()
    path = options.state
    state = load(path)
    if options.command == "create-options": result = create_options(state, options.exclude, options.user, options.more)
    elif options.command == "verify-creation": result = verify_creation(state, json.load(sys.stdin))
    elif options.command == "request-options":
        result = request_options(state, options.allow, options.only, options.decoys, options.more)
    else: result = verify_request(state, json.load(sys.stdin))
    save(path, state)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
