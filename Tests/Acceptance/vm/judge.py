# SPDX-License-Identifier: Apache-2.0
"""Two libraries that are not ours judge each response, and must agree: python-fido2 and py_webauthn."""
import webauthn
from fido2.server import Fido2Server
from fido2.webauthn import AuthenticationResponse, PublicKeyCredentialRpEntity, RegistrationResponse
from webauthn.helpers import base64url_to_bytes as decode


class Judge:
    """Remembers the passkeys that were registered, as a site does."""

    def __init__(self):
        # Credential ID -> what python-fido2 keeps, and the key as py_webauthn keeps it.
        self._known = {}

    def complaint(self, entry):
        """What is wrong with {case, rp, origin, challenge, registration, response}; nothing if both accept it."""
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
        except Exception as error:  # Whatever kind it is, it means no.
            return repr(error)

    def _registered(self, server, state, expected):
        first = server.register_complete(state, RegistrationResponse.from_dict(expected["credential"]))
        second = webauthn.verify_registration_response(**expected)
        if first.credential_data.credential_id != second.credential_id:
            return "the two libraries read different credential IDs"
        self._known[second.credential_id] = (first.credential_data, second.credential_public_key)
        return None

    def _signed_in(self, server, state, expected):
        identifier = decode(expected["credential"]["id"])
        if identifier not in self._known:
            return "a passkey that was never registered"
        data, key = self._known[identifier]
        server.authenticate_complete(state, [data], AuthenticationResponse.from_dict(expected["credential"]))
        webauthn.verify_authentication_response(**expected, credential_public_key=key, credential_current_sign_count=0)
        return None
