# SPDX-License-Identifier: Apache-2.0
"""A browser's translation between WebAuthn JSON (options, responses) and CTAP."""
import base64, hashlib, json

import cbor, ctap


def to_base64url(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def from_base64url(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def prf_salts(values):
    """Returns a browser's hashes of a website's prf values, by name."""
    context = b"WebAuthn PRF\0"
    return {name: hashlib.sha256(context + from_base64url(value)).digest() for name, value in values.items()}


def prf_inputs(extension):
    """Returns the CTAP form of the extension, which is not encrypted over hybrid."""
    inputs = {}
    if "eval" in extension:
        inputs["eval"] = prf_salts(extension["eval"])
    if "evalByCredential" in extension:
        inputs["evalByCredential"] = {
            from_base64url(identifier): prf_salts(values)
            for identifier, values in extension["evalByCredential"].items()
        }
    return inputs


class Ceremony:
    """One registration or sign-in."""

    def __init__(self, options, origin, uv=True, rk=None):
        options = options["publicKey"]
        self.is_creation = "pubKeyCredParams" in options
        client_data = {
            "type": "webauthn.create" if self.is_creation else "webauthn.get",
            "challenge": options["challenge"],
            "origin": origin,
            "crossOrigin": False,
        }
        self.client_data = json.dumps(client_data, separators=(",", ":")).encode()
        digest = hashlib.sha256(self.client_data).digest()
        prf = options.get("extensions", {}).get("prf")
        self.prf = None if prf is None else prf_inputs(prf)
        extensions = None if prf is None else {"prf": self.prf}
        self.formats = options.get("attestationFormats", [])
        # Browsers remove the statement if the website did not request one.
        self.wants_attestation = options.get("attestation", "none") != "none" or bool(self.formats)
        if self.is_creation:
            user = {**options["user"], "id": from_base64url(options["user"]["id"])}
            wanted = options.get("authenticatorSelection", {}).get("residentKey") != "discouraged"
            self.command = ctap.MAKE_CREDENTIAL
            self.rp_id = options["rp"]["id"]
            self.listed = self._descriptors(options.get("excludeCredentials", []))
            algorithms = [entry["alg"] for entry in options["pubKeyCredParams"]]
            self.parameters = ctap.make_credential(
                digest, options["rp"], user, algorithms, self.listed, wanted if rk is None else rk, uv,
                extensions, self.formats,
            )
        else:
            self.command = ctap.GET_ASSERTION
            self.rp_id = options["rpId"]
            self.listed = self._descriptors(options.get("allowCredentials", []))
            self.parameters = ctap.get_assertion(self.rp_id, digest, self.listed, uv, extensions)

    @staticmethod
    def _descriptors(entries):
        return [ctap.descriptor(from_base64url(entry["id"]), entry.get("transports")) for entry in entries]

    def response(self, answer, transports):
        """Returns RegistrationResponseJSON or AuthenticationResponseJSON for a response map."""
        if self.is_creation:
            identifier = ctap.AuthenticatorData.read(answer[2]).credential_id
            members = {
                "attestationObject": cbor.canonical({
                    "fmt": answer[1] if self.wants_attestation else "none", "authData": answer[2],
                    "attStmt": answer[3] if self.wants_attestation else {}}),
                "authenticatorData": answer[2],
            }
        else:
            identifier = answer[1]["id"] if 1 in answer else self.listed[0]["id"]
            members = {"authenticatorData": answer[2], "signature": answer[3]}
            if 4 in answer:
                members["userHandle"] = answer[4]["id"]
        members = {name: to_base64url(value) for name, value in members.items()}
        members["clientDataJSON"] = to_base64url(self.client_data)
        if self.is_creation:
            members["transports"] = sorted(transports)
        return {
            "id": to_base64url(identifier),
            "rawId": to_base64url(identifier),
            "type": "public-key",
            "authenticatorAttachment": "cross-platform",
            "clientExtensionResults": self._extensions(answer),
            "response": members,
        }

    def _extensions(self, answer):
        """Returns the unsigned outputs as the website sees them."""
        outputs = answer.get(6 if self.is_creation else 8, {})
        if "prf" not in outputs:
            return {}
        prf = dict(outputs["prf"])
        if "results" in prf:
            prf["results"] = {name: to_base64url(value) for name, value in prf["results"].items()}
        return {"prf": prf}
