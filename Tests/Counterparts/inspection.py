# SPDX-License-Identifier: Apache-2.0
"""Checks of a strict peer on the messages of this project's programs.

Real peers are more lenient; these are the project's own rules. Each error is one line.
"""
import cbor, channel, ctap, radio


class Inspection:
    """List of errors; empty if there are none."""

    def __init__(self, enabled):
        self.enabled = enabled
        self.faults = []
        # True if the client shall offer linking.
        self.links = False
        # getInfo of the authenticator, once received.
        self.info = {}

    def expect(self, condition, words):
        if self.enabled and not condition:
            self.faults.append(words)

    def expect_canonical(self, data, what):
        self.expect(cbor.is_canonical(data), f"{what} is not canonical CBOR: {data[:200].hex()}")

    # Messages of both ends.

    def padding(self, padded):
        zeros = padded[-1]
        whole = len(padded) % channel.GRANULARITY == 0 and zeros < channel.GRANULARITY
        self.expect(whole, f"a padded message of {len(padded)} bytes that ends in {zeros}")
        self.expect(not any(padded[-zeros - 1 : -1]), "padding that is not zeros")

    # Messages of the authenticator.

    def service_data(self, services):
        self.expect(set(services) == {radio.FIDO}, f"service data under {sorted(services)}")
        sizes = [len(data) for data in services.values()]
        self.expect(sizes == [20], f"service data of {sizes} bytes, though no BLE channel was offered")

    def post_handshake(self, message, fields):
        self.expect_canonical(message, "the first message")
        self.expect(set(fields) <= {1, 3}, f"keys {sorted(fields)} in the first message, without a link")
        self.expect(fields.get(3, ["ctap"]) == ["ctap"], f"features {fields.get(3)}")
        self.expect_canonical(fields[1], "getInfo")
        info = cbor.read(fields[1])
        self.expect("FIDO_2_0" in info.get(1, []) and "FIDO_2_2" not in info.get(1, []), f"versions {info.get(1)}")
        self.expect(len(info.get(3, b"")) == 16, "no AAGUID")
        self.expect(set(info.get(2, [])) <= {"prf", "signedData", "credProtect"}, f"extensions {info.get(2)}")
        options = info.get(4, {})
        self.expect(options.get("rk") is True and options.get("uv") is True, f"options {options}")
        self.expect("clientPin" not in options and 6 not in info, "a PIN over hybrid")
        self.expect(set(info.get(9, [])) == {"hybrid", "internal"}, f"transports {info.get(9)}")
        self.expect({"alg": ctap.ES256, "type": "public-key"} in info.get(10, []), f"algorithms {info.get(10)}")

    def creation(self, body, answer, ceremony, aaguid):
        self.expect_canonical(body, "the answer")
        members = {1, 2, 3} if ceremony.prf is None else {1, 2, 3, 6}
        self.expect(set(answer) == members, f"members {sorted(answer)} in a creation's answer")
        data = self._data(answer, ceremony.rp_id, ctap.ATTESTED)
        wished = ceremony.formats or ("packed",)
        if next((name for name in wished if name in ("none", "packed")), "none") == "packed":
            self.self_attestation(answer, data, ceremony.parameters[1])
        else:
            self.expect(
                (answer.get(1), answer.get(3)) == ("none", {}), f"attestation {answer.get(1)} {answer.get(3)}"
            )
        if ceremony.prf is not None:
            outputs = answer.get(6, {}).get("prf", {})
            self.expect(outputs.get("enabled") is True, f"prf {outputs.get('enabled')}")
            self.prf_results(outputs, ceremony.prf.get("eval"))
        self.expect(data.aaguid == aaguid, f"AAGUID {data.aaguid.hex()}, and {aaguid.hex()} in getInfo")
        self.expect(16 <= len(data.credential_id) <= 1023, f"credential ID of {len(data.credential_id)} bytes")
        self.expect_canonical(data.public_key, "the public key")
        ctap.read_cose_key(cbor.read(data.public_key))

    def self_attestation(self, answer, data, client_data_hash):
        statement = answer.get(3, {})
        self.expect(answer.get(1) == "packed", f"attestation {answer.get(1)} where packed was wished")
        self.expect(set(statement) == {"alg", "sig"}, f"a self attestation with {sorted(statement)}")
        self.expect(statement.get("alg") == ctap.ES256, f"a self attestation with {statement.get('alg')}")
        signed = answer[2] + client_data_hash
        valid = ctap.verifies(cbor.read(data.public_key), statement.get("sig", b""), signed)
        self.expect(valid, "a self attestation that the new key did not sign")

    def prf_results(self, outputs, salts):
        results = outputs.get("results", {})
        self.expect(set(results) == set(salts or {}), f"prf results {sorted(results)}")
        self.expect(all(len(value) == 32 for value in results.values()), "prf results of another length than 32")
        self.expect(len(set(results.values())) == len(set((salts or {}).values())), "prf results that are the same")

    def assertion(self, body, answer, ceremony):
        listed = ceremony.listed
        self.expect_canonical(body, "the answer")
        self._data(answer, ceremony.rp_id, 0)
        credential = answer.get(1, {})
        prf = ceremony.prf or {}
        salts = prf.get("evalByCredential", {}).get(credential.get("id")) or prf.get("eval")
        more = {8} if salts else set()
        if salts:
            self.prf_results(answer.get(8, {}).get("prf", {}), salts)
        self.expect(set(credential) == {"id", "type"}, f"a credential with {sorted(credential)}")
        if listed:
            members = set(answer) - {4}
            self.expect(members == {1, 2, 3} | more, f"members {sorted(answer)} though credentials were listed")
            # The handle of a discoverable credential.
            self.expect(set(answer.get(4, {"id": b""})) == {"id"}, f"a user with {sorted(answer.get(4, {}))}")
            self.expect(credential.get("id") in [entry["id"] for entry in listed], "a credential that was not listed")
        else:
            self.expect(set(answer) == {1, 2, 3, 4, 6} | more, f"members {sorted(answer)} though none was listed")
            self.expect(answer.get(6) is True, "the user's choice is not marked")
            self.expect(set(answer.get(4, {})) == {"id"}, f"a user with {sorted(answer.get(4, {}))}")

    def _data(self, answer, rp_id, more_flags):
        data = ctap.AuthenticatorData.read(answer[2])
        self.expect(data.rp_id_hash == ctap.rp_hash(rp_id), "authenticator data for another relying party")
        wanted = ctap.USER_PRESENT | ctap.USER_VERIFIED | ctap.BACKUP_ELIGIBLE | more_flags
        self.expect(data.flags == wanted, f"flags {data.flags:#04x}, not {wanted:#04x}")
        self.expect(data.count == 0, f"a signature count of {data.count}")
        return data

    # Messages of the client.

    def offer(self, offer, text):
        self.expect(text.startswith("FIDO:/") and len(text) <= 200, f"a code of {len(text)} characters")
        self.expect_canonical(offer.encoded, "the code")
        self.expect(set(offer.fields) == {0, 1, 2, 3, 4, 5}, f"keys {sorted(offer.fields)} in the code")
        self.expect(offer.domains == 2, f"{offer.domains} assigned domains")
        self.expect(offer.linking is self.links, f"linking {offer.linking}")

    def introduced(self, info):
        self.info = info

    def _extensions(self, extensions):
        """Checks that a request uses listed features only, in the form that phones read."""
        listed = set(self.info.get(2, []))
        self.expect(extensions is None or extensions, "an empty map of extensions")
        self.expect(set(extensions or {}) <= listed, f"extensions {sorted(extensions or {})}, listed {sorted(listed)}")
        prf = (extensions or {}).get("prf", {})
        self.expect(set(prf) <= {"eval", "evalByCredential"}, f"prf with {sorted(prf)}")
        for salts in [prf.get("eval", {}), *prf.get("evalByCredential", {}).values()]:
            self.expect(not salts or "first" in salts, f"salts {sorted(salts)}")
            self.expect(all(len(salt) == 32 for salt in salts.values()), "salts of another length than 32")

    def request(self, request, hint):
        command, parameters = request[0], cbor.read(request[1:])
        self.expect_canonical(request[1:], "the request")
        name = {ctap.MAKE_CREDENTIAL: "mc", ctap.GET_ASSERTION: "ga"}.get(command)
        self.expect(name == hint, f"command {command:#04x} after the hint {hint}")
        if command == ctap.MAKE_CREDENTIAL:
            self.expect(set(parameters) <= {1, 2, 3, 4, 5, 6, 7, 11}, f"parameters {sorted(parameters)}")
            self.expect(set(parameters[2]) == {"id", "name"}, f"a relying party with {sorted(parameters[2])}")
            self.expect(set(parameters[3]) == {"id", "name", "displayName"}, f"a user with {sorted(parameters[3])}")
            self.expect(11 not in parameters or 22 in self.info, "a wish for a format to a phone that lists none")
            self.expect(parameters.get(5) != [], "an empty list of credentials")
            self._extensions(parameters.get(6))
            options = parameters.get(7, {})
        else:
            self.expect(set(parameters) <= {1, 2, 3, 4, 5}, f"parameters {sorted(parameters)}")
            self.expect(parameters.get(3) != [], "an empty list of credentials")
            self._extensions(parameters.get(4))
            options = parameters.get(5, {})
        self.expect(options.get("uv") is True and "up" not in options, f"options {options}")
