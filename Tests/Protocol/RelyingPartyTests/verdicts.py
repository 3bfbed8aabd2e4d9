#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Verdicts of python-fido2 and py_webauthn on responses: reads cases as a JSON array from a file, prints an array.

A case has `kind` (registration or authentication), `response` (the JSON that a client sent, as text), `challenge`, and
for an authentication `id`, `key`, `data` (attested credential data) and `count` of the registered credential. `root` is
a certificate in DER. Both libraries require user verification, and trust only attestation certificates of that root.
The result for a case is an object with one member for each library: null if it accepts the response, else the reason.
"""
import base64, json, sys

import webauthn
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from fido2.attestation import Attestation
from fido2.attestation.base import verify_x509_chain
from fido2.server import Fido2Server
from fido2.webauthn import (AttestationConveyancePreference, AttestedCredentialData, AuthenticationResponse,
                            PublicKeyCredentialRpEntity, RegistrationResponse)
from webauthn.helpers.structs import AttestationFormat
from webauthn.helpers.cose import COSEAlgorithmIdentifier

RP_ID, ORIGIN = "example.com", "https://example.com"
ALGORITHMS = [COSEAlgorithmIdentifier.ECDSA_SHA_256, COSEAlgorithmIdentifier.EDDSA,
              COSEAlgorithmIdentifier.RSASSA_PKCS1_v1_5_SHA_256]


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def fido2(case):
    root = decode(case["root"])

    def verify_attestation(attestation, client_data_hash):
        result = Attestation.for_type(attestation.fmt)().verify(
            attestation.att_stmt, attestation.auth_data, client_data_hash)
        if result.trust_path:
            verify_x509_chain(list(result.trust_path) + [root])

    server = Fido2Server(PublicKeyCredentialRpEntity(id=RP_ID, name="Example"),
                         attestation=AttestationConveyancePreference.DIRECT, verify_origin=lambda o: o == ORIGIN,
                         verify_attestation=verify_attestation)
    state = {"challenge": case["challenge"], "user_verification": "required"}
    response = json.loads(case["response"])
    if case["kind"] == "registration":
        server.register_complete(state, RegistrationResponse.from_dict(response))
    else:
        server.authenticate_complete(state, [AttestedCredentialData(decode(case["data"]))],
                                     AuthenticationResponse.from_dict(response))


def py_webauthn(case):
    expected = dict(credential=case["response"], expected_challenge=decode(case["challenge"]), expected_rp_id=RP_ID,
                    expected_origin=ORIGIN, require_user_verification=True)
    if case["kind"] == "registration":
        pem = x509.load_der_x509_certificate(decode(case["root"])).public_bytes(Encoding.PEM)
        webauthn.verify_registration_response(**expected, supported_pub_key_algs=ALGORITHMS,
                                              pem_root_certs_bytes_by_fmt={AttestationFormat.PACKED: [pem]})
    else:
        webauthn.verify_authentication_response(**expected, credential_public_key=decode(case["key"]),
                                                credential_current_sign_count=case["count"])


def verdict(verify, case):
    try:
        verify(case)
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:200]


def main():
    with open(sys.argv[1]) as file:
        cases = json.load(file)
    json.dump([{"fido2": verdict(fido2, case), "webauthn": verdict(py_webauthn, case)} for case in cases], sys.stdout)


if __name__ == "__main__":
    main()
