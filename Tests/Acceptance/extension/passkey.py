# SPDX-License-Identifier: Apache-2.0
"""Responses as the laptop sends them: a passkey in memory, with client data of the laptop's own."""
import hashlib
import json
import secrets

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from fido2 import cbor
from fido2.cose import ES256
from webauthn.helpers import bytes_to_base64url as encode

# User present, user verified; with a new credential.
VERIFIED, CREATED = 0x05, 0x45


class Passkey:
    def __init__(self, rp_id):
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._id, self._rp = secrets.token_bytes(16), hashlib.sha256(rp_id.encode()).digest()
        self._handle = None

    def registration(self, request):
        """Returns RegistrationResponseJSON for a request of the extension."""
        self._handle = request["publicKey"]["user"]["id"]
        public = cbor.encode(dict(ES256.from_cryptography_key(self._key.public_key())))
        data = (self._data(CREATED) + bytes(16) + len(self._id).to_bytes(2, "big") + self._id + public)
        return self._response({
            "clientDataJSON": encode(self._client_data("webauthn.create", request)),
            "attestationObject": encode(cbor.encode({"fmt": "none", "attStmt": {}, "authData": data})),
            "authenticatorData": encode(data), "transports": ["hybrid"], "publicKeyAlgorithm": -7,
            "publicKey": encode(self._key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))},
            {"credProps": {"rk": True}})

    def assertion(self, request):
        """Returns AuthenticationResponseJSON for a request of the extension."""
        data, client = self._data(VERIFIED), self._client_data("webauthn.get", request)
        signature = self._key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
        return self._response({
            "clientDataJSON": encode(client), "authenticatorData": encode(data), "signature": encode(signature),
            "userHandle": self._handle}, {})

    def _data(self, flags):
        return self._rp + bytes([flags]) + bytes(4)

    @staticmethod
    def _client_data(kind, request):
        return json.dumps({"type": kind, "challenge": request["publicKey"]["challenge"], "origin": request["origin"],
                           "crossOrigin": request["crossOrigin"]}).encode()

    def _response(self, response, results):
        identity = encode(self._id)
        return {"id": identity, "rawId": identity, "type": "public-key", "authenticatorAttachment": "cross-platform",
                "response": response, "clientExtensionResults": results}
