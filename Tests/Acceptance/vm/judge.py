# SPDX-License-Identifier: Apache-2.0
"""Checks each response with two independent libraries, which must agree: python-fido2 and py_webauthn."""
import webauthn
from fido2.server import Fido2Server
from fido2.webauthn import AuthenticationResponse, PublicKeyCredentialRpEntity, RegistrationResponse
from webauthn.helpers import base64url_to_bytes as decode


class Judge:
    """Keeps the registered passkeys, as a site does."""

    def __init__(self):
        # Credential ID -> python-fido2's record, and py_webauthn's public key.
        self._known = {}

    def complaint(self, entry):
        """Returns the error of {case, rp, origin, challenge, registration, response}; None if both libraries accept
        it.
        """
        server = Fido2Server(PublicKeyCredentialRpEntity(id=entry["rp"], name="Example"),
                             verify_origin=lambda origin: origin == entry["origin"])
        state = {"challenge": entry["challenge"], "user_verification": "required"}
        expected = {"credential": entry["response"], "expected_challenge": decode(entry["challenge"]),
                    "expected_rp_id": entry["rp"], "expected_origin": entry["origin"],
                    "require_user_verification": True}
        try:
            if entry["registration"]:
                return self._registered(server, state, expected)
            return self._signed_in(server, state, expected)
        except Exception as error:  # Any error means rejection.
            return repr(error)

    def _registered(self, server, state, expected):
        first = server.register_complete(state, RegistrationResponse.from_dict(expected["credential"]))
        second = webauthn.verify_registration_response(**expected)
        if first.credential_data.credential_id != second.credential_id:
            return "expected equal credential IDs from the two libraries; found different ones"
        self._known[second.credential_id] = (first.credential_data, second.credential_public_key)
        return None

    def _signed_in(self, server, state, expected):
        identifier = decode(expected["credential"]["id"])
        if identifier not in self._known:
            return "expected a registered passkey; found an unknown one"
        data, key = self._known[identifier]
        server.authenticate_complete(state, [data], AuthenticationResponse.from_dict(expected["credential"]))
        webauthn.verify_authentication_response(**expected, credential_public_key=key, credential_current_sign_count=0)
        return None
