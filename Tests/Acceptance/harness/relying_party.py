# SPDX-License-Identifier: Apache-2.0
"""The site's server. Two independent libraries check each response and must agree: python-fido2 and py_webauthn."""
import json
import secrets
from dataclasses import dataclass

import webauthn
from fido2 import cbor
from fido2.server import Fido2Server
from fido2.webauthn import AuthenticationResponse, PublicKeyCredentialRpEntity, RegistrationResponse
from webauthn.helpers import base64url_to_bytes as decode, bytes_to_base64url as encode

RP_ID = "localhost"
ACCOUNT = "ada@example.com"
# Longer than every wait of this program, so that a timeout is reported there with its own message.
TIMEOUT_MS = 600_000


class Refused(Exception):
    """A library rejected the response, or the two read it differently."""


@dataclass(frozen=True)
class Known:
    """The site's record of a credential."""
    data: object
    key: bytes
    handle: str
    discoverable: bool


class RelyingParty:
    """Options for the page, checks of its responses, and the site's records."""

    def __init__(self, origin, log):
        self._origin = origin
        self._log = log
        # Account name -> user handle.
        self._users = {}
        # Credential ID -> the site's record of it.
        self._credentials = {}
        # Challenge -> the request with it.
        self._asked_for = {}
        self._server = Fido2Server(PublicKeyCredentialRpEntity(id=RP_ID, name="Acceptance test"),
                                   verify_origin=lambda other: other == origin)

    def creation_options(self, *, account=ACCOUNT, exclude_known=False, attestation="none", resident_key="required",
                         extensions=None, hints=("hybrid",)):
        """PublicKeyCredentialCreationOptionsJSON."""
        handle = self._users.setdefault(account, encode(secrets.token_bytes(16)))
        challenge = self._new_challenge({"handle": handle, "discoverable": resident_key == "required"})
        return self._asked({
            "rp": {"id": RP_ID, "name": "Acceptance test"},
            "user": {"id": handle, "name": account, "displayName": "Ada L."},
            "challenge": challenge,
            "pubKeyCredParams": [{"type": "public-key", "alg": alg} for alg in (-7, -257)],
            "excludeCredentials": [self._descriptor(i) for i in self._credentials] if exclude_known else [],
            "authenticatorSelection": {
                "authenticatorAttachment": "cross-platform", "residentKey": resident_key,
                "requireResidentKey": resident_key == "required", "userVerification": "required"},
            "attestation": attestation,
            "extensions": {"credProps": True} if extensions is None else extensions,
            "hints": list(hints),
            "timeout": TIMEOUT_MS,
        })

    def request_options(self, *, allow="known", extensions=None, hints=("hybrid",)):
        """Returns PublicKeyCredentialRequestOptionsJSON; `allow` is `known` (the latest credential), `unknown` or
        `any`.
        """
        allowed = {"known": [self.last[0]] if self._credentials else [], "unknown": [encode(secrets.token_bytes(32))], "any": []}[allow]
        return self._asked({
            "rpId": RP_ID,
            "challenge": self._new_challenge({}),
            "allowCredentials": [self._descriptor(i) for i in allowed],
            "userVerification": "required",
            "extensions": extensions or {},
            "hints": list(hints),
            "timeout": TIMEOUT_MS,
        })

    def verify_creation(self, response, challenge):
        """Returns the content of a response; raises Refused unless both libraries accept it and read it alike."""
        first = self._judged("python-fido2", response, lambda: self._server.register_complete(
            {"challenge": challenge, "user_verification": "required"}, RegistrationResponse.from_dict(response)))
        second = self._judged("py_webauthn", response, lambda: webauthn.verify_registration_response(
            credential=response, expected_challenge=decode(challenge), expected_rp_id=RP_ID,
            expected_origin=self._origin, require_user_verification=True))
        new = first.credential_data
        self._agree("credential ID", new.credential_id, second.credential_id)
        self._agree("AAGUID", str(new.aaguid).replace("-", ""), second.aaguid.replace("-", ""))
        self._agree("public key", cbor.encode(dict(new.public_key)), second.credential_public_key)
        self._agree("count", first.counter, second.sign_count)
        self._agree("backup", (bool(first.flags & 8), bool(first.flags & 16)),
                    (second.credential_device_type == "multi_device", second.credential_backed_up))
        parsed = RegistrationResponse.from_dict(response).response.attestation_object
        self._agree("format", parsed.fmt, second.fmt)
        asked_for = self._asked_for.pop(challenge)
        if asked_for["discoverable"]:
            # The account's new passkey has replaced the old one.
            self._credentials = {i: known for i, known in self._credentials.items()
                                 if not (known.discoverable and known.handle == asked_for["handle"])}
        self._credentials[encode(new.credential_id)] = Known(new, second.credential_public_key, **asked_for)
        return self._accepted({
            "id": encode(new.credential_id), "format": str(parsed.fmt), "statement": dict(parsed.att_stmt),
            "aaguid": second.aaguid, "flags": int(first.flags), "count": first.counter,
            "algorithm": new.public_key[3]})

    def verify_request(self, response, challenge):
        """The same for a sign-in; a passkey that is unknown to this site is rejected."""
        if response["id"] not in self._credentials:
            raise Refused(f"expected a passkey of this site; found {response['id']}")
        known = self._credentials[response["id"]]
        parsed = AuthenticationResponse.from_dict(response)
        data = parsed.response.authenticator_data
        self._judged("python-fido2", response, lambda: self._server.authenticate_complete(
            {"challenge": challenge, "user_verification": "required"}, [known.data], parsed))
        second = self._judged("py_webauthn", response, lambda: webauthn.verify_authentication_response(
            credential=response, expected_challenge=decode(challenge), expected_rp_id=RP_ID,
            expected_origin=self._origin, credential_public_key=known.key, credential_current_sign_count=0,
            require_user_verification=True))
        self._agree("count", data.counter, second.new_sign_count)
        self._agree("backup", (bool(data.flags & 8), bool(data.flags & 16)),
                    (second.credential_device_type == "multi_device", second.credential_backed_up))
        return self._accepted({
            "id": response["id"], "flags": int(data.flags), "count": data.counter,
            "handle": response["response"].get("userHandle")})

    def forget(self, credential):
        """Removes the account, whose passkey is on a phone that takes part in no other ceremony."""
        del self._credentials[credential]

    @property
    def address(self):
        """Origin of the page."""
        return self._origin + "/"

    @property
    def last(self):
        """Returns ID and record of the credential that was registered last."""
        return list(self._credentials.items())[-1]

    def has_passkey(self, account):
        """Returns True if the account has a passkey that a new discoverable one replaces."""
        handle = self._users.get(account)
        return any(known.discoverable and known.handle == handle for known in self._credentials.values())

    @property
    def accounts(self):
        """Returns the number of accounts for a sign-in without an allow list."""
        return sum(known.discoverable for known in self._credentials.values())

    @staticmethod
    def _descriptor(credential):
        return {"type": "public-key", "id": credential, "transports": ["hybrid"]}

    def _new_challenge(self, asked_for):
        challenge = encode(secrets.token_bytes(32))
        self._asked_for[challenge] = asked_for
        return challenge

    def _judged(self, library, response, judge):
        try:
            return judge()
        except Exception as error:  # Any error means rejection.
            self._write({"rejected by": library, "because": repr(error), "response": response})
            raise Refused(f"{library} rejected the response: {error!r}") from error

    @staticmethod
    def _agree(what, first, second):
        if first != second:
            raise Refused(f"the {what} is {first!r} to python-fido2 and {second!r} to py_webauthn")

    def _asked(self, options):
        self._write({"asked": options})
        return options

    def _accepted(self, facts):
        self._write({"accepted": facts})
        return facts

    def _write(self, entry):
        with open(self._log, "a", encoding="utf-8") as file:
            file.write(json.dumps(entry, default=repr) + "\n")
