# SPDX-License-Identifier: Apache-2.0
"""Responses of an authenticator, with variants of real phones as options."""
import hashlib, hmac, secrets, zlib

import algorithms, cbor, ctap


def deflate(data):
    compressor = zlib.compressobj(9, zlib.DEFLATED, -15)
    return compressor.compress(data) + compressor.flush()


class Answers:
    """Passkeys of an authenticator and the form of its responses."""

    @staticmethod
    def add_arguments(answers):
        answers.add_argument("--attestation", choices=["none", "packed", "certified"], default="none")
        answers.add_argument("--algorithm", choices=algorithms.BY_NAME, default="es256")
        answers.add_argument("--model", help="AAGUID of passkeys, in hexadecimal, if it differs from getInfo's")
        answers.add_argument("--id-bytes", type=int, default=20, help="length of a credential ID")
        answers.add_argument("--signed-extensions", action="store_true", help="send signed extension outputs")
        answers.add_argument("--device-bound", action="store_true", help="create passkeys that are not backed up")
        answers.add_argument("--unverified", action="store_true", help="report user presence without verification")
        answers.add_argument("--counter", type=int, default=0, help="signature counter")
        answers.add_argument("--only-discoverable", action="store_true", help="refuse passkeys that are not discoverable")
        answers.add_argument("--no-credential", action="store_true", help="omit the credential if it is the only one in the allow list")
        answers.add_argument("--transports-told", action="store_true", help="include transports in the credential")
        answers.add_argument("--names", action="store_true", help="include the account's names instead of empty strings")
        answers.add_argument("--user-always", action="store_true", help="include the account even with an allow list")
        answers.add_argument("--empty-account", action="store_true", help="include an empty account even with an allow list")
        answers.add_argument("--not-selected", action="store_true", help="omit userSelected")
        answers.add_argument("--one-of-one", action="store_true", help="include numberOfCredentials although it is 1")
        answers.add_argument("--prf-later", action="store_true", help="no prf results at creation, as older phones")
        answers.add_argument("--prf-refused", action="store_true", help="list prf, and create passkeys without it")
        answers.add_argument("--prf-first-only", action="store_true", help="answer the first of two prf inputs")
        answers.add_argument("--silent-extensions", action="store_true", help="list extensions but return no outputs")

    def __init__(self, options, passkeys, encode):
        self.options, self.passkeys, self.encode = options, passkeys, encode

    def answer(self, request):
        """Returns status and body."""
        if self.options.status is not None:
            return bytes([self.options.status])
        parameters = cbor.read(request[1:])
        if request[0] == ctap.MAKE_CREDENTIAL:
            if parameters.get(5) and self.passkeys.matching(parameters[2]["id"], parameters[5]):
                return bytes([ctap.CREDENTIAL_EXCLUDED])
            if self.options.only_discoverable and not parameters.get(7, {}).get("rk"):
                return bytes([ctap.UNSUPPORTED_OPTION])
            members = self.make(parameters)
        elif request[0] == ctap.GET_ASSERTION:
            found = self.passkeys.matching(parameters[1], parameters.get(3, []))
            if not found:
                return bytes([ctap.NO_CREDENTIALS])
            members = self.use(found[-1], parameters)
        else:
            return bytes([ctap.INVALID_COMMAND])
        if self.options.more_members:
            members |= {77: "later", 78: {"x": [None, b"", {}]}}
        if self.options.answer_bytes:
            members[255] = b""
            # The length takes five bytes instead of one; the status takes one more.
            members[255] = bytes(self.options.answer_bytes - len(self.encode(members)) - 5)
        return bytes([ctap.SUCCESS]) + self.encode(members)

    def make(self, parameters):
        algorithm = algorithms.BY_NAME[self.options.algorithm]
        identifier = secrets.token_bytes(self.options.id_bytes)
        data, signature = self.passkeys.make(identifier, parameters, algorithm, self._change)
        if self.options.attestation == "packed":
            members = {1: "packed", 2: data, 3: {"alg": algorithm, "sig": signature}}
        elif self.options.attestation == "certified":
            aaguid = ctap.AuthenticatorData.read(data).aaguid
            members = {1: "packed", 2: data, 3: algorithms.attest(aaguid, data + parameters[1])}
        else:
            members = {1: "none", 2: data, 3: {}}
        outputs = self._creation_outputs(identifier.hex(), parameters.get(6, {}))
        return {**members, 6: outputs} if outputs else members

    def use(self, identifier, parameters):
        data, signature = self.passkeys.use(identifier, parameters[2], self._change)
        told = ["internal", "hybrid"] if self.options.transports_told else None
        members = {1: ctap.descriptor(bytes.fromhex(identifier), told), 2: data, 3: signature}
        if self.options.no_credential:
            del members[1]
        names = {"name": "ada@example.com", "displayName": "Ada"} if self.options.names else {
            "name": "", "displayName": ""
        }
        if 3 not in parameters or self.options.user_always:
            members[4] = {"id": self.passkeys.user(identifier), **names}
            if not self.options.not_selected:
                members[6] = True
        elif self.options.empty_account:
            members[4] = {"id": b"", **names}
        if self.options.one_of_one:
            members[5] = 1
        outputs = self._sign_in_outputs(identifier, parameters.get(4, {}))
        return {**members, 8: outputs} if outputs else members

    def _change(self, data):
        """Applies the options to authenticator data."""
        if self.options.model and data.aaguid:
            data.aaguid = bytes.fromhex(self.options.model)
        if self.options.device_bound:
            data.flags &= ~(ctap.BACKUP_ELIGIBLE | ctap.BACKED_UP)
        if self.options.unverified:
            data.flags &= ~ctap.USER_VERIFIED
        if self.options.signed_extensions:
            data.flags |= ctap.EXTENSIONS
            data.extensions = cbor.canonical({"credProtect": 2})
        data.count = self.options.counter

    def _creation_outputs(self, identifier, inputs):
        outputs = {}
        if self.options.silent_extensions:
            return outputs
        if "prf" in inputs:
            outputs["prf"] = {"enabled": not self.options.prf_refused}
            if "eval" in inputs["prf"] and not (self.options.prf_later or self.options.prf_refused):
                outputs["prf"]["results"] = self._prf(identifier, inputs["prf"]["eval"])
        if "largeBlob" in inputs:
            outputs["largeBlob"] = {"supported": True}
        return outputs

    def _sign_in_outputs(self, identifier, inputs):
        outputs = {}
        if self.options.silent_extensions:
            return outputs
        prf = inputs.get("prf", {})
        salts = prf.get("evalByCredential", {}).get(bytes.fromhex(identifier)) or prf.get("eval")
        if salts and not self.options.prf_refused:
            outputs["prf"] = {"results": self._prf(identifier, salts)}
        blob, kept = inputs.get("largeBlob", {}), self.passkeys.kept[identifier]
        if "write" in blob:
            data = zlib.decompress(blob["write"], -15)
            if len(data) == blob["originalSize"]:
                kept["blob"] = data.hex()
            outputs["largeBlob"] = {"written": len(data) == blob["originalSize"]}
        elif blob.get("read") and "blob" in kept:
            data = bytes.fromhex(kept["blob"])
            outputs["largeBlob"] = {"blob": deflate(data), "originalSize": len(data)}
        return outputs

    def _prf(self, identifier, salts):
        """Returns HMACs under the passkey's secret."""
        secret = prf_secret(self.passkeys.kept[identifier])
        return {name: hmac.digest(secret, salt, "sha256") for name, salt in salts.items()
                if name == "first" or not self.options.prf_first_only}


def prf_secret(passkey):
    """Returns a stored passkey's secret, which is derived from its key unless it has one of its own."""
    if "prf" in passkey:
        return bytes.fromhex(passkey["prf"])
    return hashlib.sha256(b"prf" + bytes.fromhex(passkey["key"])).digest()
