#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the counterparts of secrets with the vectors of `secrets.json`, to separate their errors from the programs'.

  python3 Tests/Counterparts/test_secrets.py
"""
import base64, json, unittest

import age, bech32, cbor, ctap, fido2prf, plugin, sealed
from age import DoesNotOpen, Malformed

with open(plugin.VECTORS, encoding="utf-8") as file:
    VECTORS = json.load(file)
unhex = bytes.fromhex


def phone_of(case):
    return sealed.Phone(unhex(case["credential_id_hex"]), tuple(case["transports"]))


class Stanzas(unittest.TestCase):
    def test_salts(self):
        for case in VECTORS["prf_salts"]:
            salt = fido2prf.salt(unhex(case["input_hex"]))
            self.assertEqual(salt.hex(), case["salt_hex"])
            output = fido2prf.hmac.digest(unhex(case["secret_hex"]), salt, "sha256")
            self.assertEqual(output.hex(), case["output_hex"])

    def test_stanzas(self):
        for case in VECTORS["fido2prf_stanza"]:
            nonce, secret, file_key = (unhex(case[f"{name}_hex"]) for name in ("nonce", "secret", "file_key"))
            both = fido2prf.results(secret, nonce)
            self.assertEqual([one.hex() for one in fido2prf.inputs(nonce)],
                             [case["first_input_hex"], case["second_input_hex"]])
            self.assertEqual([one.hex() for one in fido2prf.salts(nonce)],
                             [case["first_salt_hex"], case["second_salt_hex"]])
            self.assertEqual([one.hex() for one in both], [case["first_hex"], case["second_hex"]])
            self.assertEqual(fido2prf.wrapping_key(both).hex(), case["wrap_key_hex"])
            wrapped = fido2prf.wrap(file_key, nonce, both)
            self.assertEqual((wrapped.body.hex(), wrapped.encoded.decode()), (case["body_hex"], case["stanza"]))
            read = age.stanza(case["stanza"].encode())
            self.assertEqual((read, fido2prf.nonce_of(read)), (wrapped, nonce))
            self.assertEqual(fido2prf.unwrap(read, both), file_key)

    def test_stanzas_to_refuse(self):
        cases = VECTORS["fido2prf_stanza_invalid"]
        both = unhex(cases["first_hex"]), unhex(cases["second_hex"])
        kinds = {"malformed": Malformed, "does not open": DoesNotOpen}
        for case in cases["cases"]:
            data = case["stanza"].encode()
            if case["expect"] == "another type: ignored":
                self.assertNotEqual(age.stanza(data).type, fido2prf.LABEL, case["name"])
                continue
            with self.assertRaises(kinds[case["expect"]], msg=case["name"]):
                fido2prf.unwrap(age.stanza(data), both)

    def test_lines_of_stanzas(self):
        for length in (0, 1, 47, 48, 49, 96):
            stanza = age.Stanza("type", ("argument",), bytes(length))
            lines = stanza.encoded.decode().split("\n")
            self.assertTrue(len(lines[-2]) < 64 and all(len(line) == 64 for line in lines[1:-2]), lines)
            self.assertEqual(age.stanza(stanza.encoded), stanza)


class Identities(unittest.TestCase):
    def test_identities(self):
        for case in VECTORS["fido2prf_identity"]:
            identity = fido2prf.Identity(unhex(case["credential_id_hex"]), case["rp_id"], tuple(case["transports"]))
            self.assertEqual((identity.data.hex(), identity.encoded), (case["data_hex"], case["identity"]))
            self.assertEqual(fido2prf.Identity.read(case["identity"]), identity)

    def test_identities_to_refuse(self):
        for case in VECTORS["fido2prf_identity_invalid"]:
            with self.assertRaises(ValueError, msg=case["name"]):
                fido2prf.Identity.read(case["identity"])

    def test_long_text(self):
        data = bytes(range(256)) * 70
        text = bech32.encode("age-plugin-phone-", data)
        self.assertGreater(len(text), 28_000)
        self.assertEqual(bech32.decode(text.upper()), ("age-plugin-phone-", data))
        for place in (20, len(text) // 2, len(text) - 1):
            changed = text[:place] + ("q" if text[place] != "q" else "p") + text[place + 1 :]
            with self.assertRaises(ValueError):
                bech32.decode(changed)


class Files(unittest.TestCase):
    def test_files(self):
        for case in VECTORS["age_files"]:
            data, secret = base64.b64decode(case["file_b64"]), unhex(case["secret_hex"])
            self.assertEqual(age.File.read(data).encoded, data, case["name"])
            if case["plaintext"] is None:
                with self.assertRaises(DoesNotOpen, msg=case["name"]):
                    fido2prf.open_file(data, secret)
                continue
            self.assertEqual(fido2prf.open_file(data, secret), (case["plaintext"].encode(), case["approvals"]))
            if "also" in case:
                self.assertEqual(age.decrypt(data, case["also"]), case["plaintext"].encode())

    def test_every_size(self):
        identity = age.new_identity()
        recipient = age.recipient_of(age.point_of(age.private_key(identity)))
        for size in (0, 1, age.CHUNK - 1, age.CHUNK, age.CHUNK + 1, 2 * age.CHUNK):
            data = age.encrypt(bytes(size), recipient)
            self.assertEqual(len(age.decrypt(data, identity)), size)
            for broken in (data[:-1], data + b"\0", data[:-1] + bytes([data[-1] ^ 1])):
                with self.assertRaises(DoesNotOpen, msg=size):
                    age.decrypt(broken, identity)

    def test_own_files(self):
        first, second = bytes(32), bytes([1]) * 32
        data = fido2prf.seal_file(b"text", first, second)
        self.assertEqual(fido2prf.open_file(data, second), (b"text", 2))
        with self.assertRaises(DoesNotOpen):
            fido2prf.open_file(data, bytes([2]) * 32)

    def test_post_quantum_header(self):
        case = VECTORS["mlkem768x25519"]
        file = age.File.read(base64.b64decode(case["file_b64"]))
        self.assertEqual([stanza.type for stanza in file.stanzas], ["mlkem768x25519"])
        self.assertEqual(file.open(unhex(case["file_key_hex"])), case["plaintext"].encode())


class SealedKeys(unittest.TestCase):
    CASES = VECTORS["sealed_identity"]

    def read(self, name):
        case = next(case for case in self.CASES["valid"] if case["name"] == name)
        return sealed.Sealed.read(case["identity"])

    def both(self, phone):
        case = self.CASES[phone]
        return (unhex(case["first_hex"]), unhex(case["second_hex"])), unhex(case["id_hex"])

    def test_valid(self):
        for case in self.CASES["valid"]:
            phones = tuple(map(phone_of, case["phones"]))
            written = sealed.Sealed(case["key_name"], case["rp_id"], unhex(case["public_key_hex"]), phones,
                                    base64.b64decode(case["file_b64"]))
            self.assertEqual((written.data.hex(), written.encoded), (case["data_hex"], case["identity"]))
            read = sealed.Sealed.read(case["identity"])
            self.assertEqual((read, read.nonce.hex()), (written, case["nonce_hex"]))
            self.assertEqual(read.recipient, self.CASES["recipient"])
            for number in range(len(phones)):
                self.assertEqual(read.open(*self.both(f"phone_{number + 1}")), self.CASES["age_identity"], case["name"])
            with self.assertRaises(DoesNotOpen):
                both, _ = self.both("phone_2")
                read.open(both, self.both("phone_1")[1])

    def test_other_recipient(self):
        read = self.read("two phones and another recipient")
        payload = age.decrypt(read.file, self.CASES["other_recipient"]["identity"])
        self.assertEqual(read.key_in(payload), self.CASES["age_identity"])

    def test_added_phone(self):
        one, two = self.read("one phone"), self.read("the second phone added to `one phone`")
        file_key = one.file_key(*self.both("phone_1"))
        self.assertEqual(one.with_phone(two.phones[1], self.both("phone_2")[0], file_key), two)

    def test_invalid(self):
        results, identifier = self.both("phone_1")
        for case in VECTORS["sealed_identity_invalid"]:
            with self.assertRaises(ValueError, msg=case["name"]):
                read = sealed.Sealed.read(case["identity"])
                # Only these need an approval to be recognized.
                self.assertEqual(case["expect"], "rejected after the approval", case["name"])
                read.open(results, identifier)

    def test_new(self):
        identity, secret = age.new_identity(), bytes(32)
        also = age.new_identity()
        made = sealed.new("ä", "a.example", sealed.Phone(b"id"), secret, identity,
                          [age.recipient_of(age.point_of(age.private_key(also)))])
        read = sealed.Sealed.read(made.encoded)
        self.assertEqual(read.open(fido2prf.results(secret, read.nonce), b"id"), identity)
        self.assertEqual(read.key_in(age.decrypt(read.file, also)), identity)

    def test_named_secrets(self):
        for case in VECTORS["named_secret"]:
            raw = sealed.named_secret(case["age_identity"], case["purpose"])
            self.assertEqual((raw.hex(), sealed.as_text(raw)), (case["raw_hex"], case["text"]))


class Messages(unittest.TestCase):
    CASES = VECTORS["ctap"]

    def test_requests(self):
        nonce = bytes(range(16))
        extensions = fido2prf.request(nonce)
        self.assertEqual(cbor.canonical(extensions).hex(), self.CASES["get_assertion_extensions"])
        self.assertEqual(cbor.canonical(extensions).hex(), self.CASES["make_credential_extensions"])
        identity = fido2prf.Identity.read(VECTORS["fido2prf_identity"][0]["identity"])
        allowed = ctap.descriptor(identity.credential_id, list(identity.transports))
        fields = ctap.get_assertion(identity.rp_id, bytes(32), [allowed], extensions=extensions)
        self.assertEqual((bytes([ctap.GET_ASSERTION]) + cbor.canonical(fields)).hex(), self.CASES["get_assertion"])

    def test_answers(self):
        case = VECTORS["fido2prf_stanza"][0]
        both = unhex(case["first_hex"]), unhex(case["second_hex"])
        for name in ("get_assertion_output_8", "make_credential_output_6"):
            self.assertEqual(fido2prf.results_of(cbor.read(unhex(self.CASES[name]))), both)

    def test_answers_without_results(self):
        for case in self.CASES["output_invalid"]:
            outputs = cbor.read(unhex(case["cbor"]))
            if case["expect"].startswith("no prf"):
                with self.assertRaises(DoesNotOpen):
                    fido2prf.results_of(outputs)
            else:
                self.assertIsNone(fido2prf.results_of(outputs), case["name"])


class Conversations(unittest.TestCase):
    def test_all_can_be_read(self):
        found = plugin.conversations()
        self.assertEqual(len(found), 27)
        for one in found:
            self.assertEqual(one.stanzas[-1], plugin.DONE, one.name)
            self.assertEqual(b"".join(stanza.encoded for stanza in one.stanzas), one.phase1, one.name)
            self.assertIn(one.machine, (plugin.IDENTITY, plugin.RECIPIENT))

    def test_expected_file_keys(self):
        """Each file key of the vectors is the one that this implementation finds with the phone's secret."""
        for one in plugin.conversations():
            keys = {int(wanted["args"][0]): wanted["body_hex"] for wanted in one.expect
                    if wanted["command"] == "file-key"}
            found = {}
            for stanza in one.stanzas:
                if keys and stanza.type == "recipient-stanza":
                    number, kind, *arguments = stanza.arguments
                    for identity in one.identities:
                        key = self.file_key(identity, age.Stanza(kind, tuple(arguments), stanza.body), one.phone)
                        if key:
                            found.setdefault(int(number), key.hex())
            self.assertEqual(found, keys, one.name)

    @staticmethod
    def file_key(identity, stanza, phone):
        secret = unhex(phone.removeprefix("key:"))
        try:
            if identity.startswith("AGE-PLUGIN-PHONE-"):
                key = sealed.Sealed.read(identity)
                opened = key.open(fido2prf.results(secret, key.nonce), key.phones[0].credential_id)
                return age.unwrap_x25519(stanza, age.private_key(opened)) if stanza.type == age.X25519 else None
            fido2prf.Identity.read(identity)
            if stanza.type == fido2prf.LABEL:
                return fido2prf.unwrap(stanza, fido2prf.results(secret, fido2prf.nonce_of(stanza)))
        except ValueError:
            return None

    def test_wrapped_file_keys_must_open(self):
        one = next(one for one in plugin.conversations() if len(one.expect) == 4)
        keys = [stanza.body for stanza in one.stanzas if stanza.type == "wrap-file-key"]
        point, secret = age.point_of(age.private_key(one.sealed_key)), unhex(one.phone.removeprefix("key:"))

        def commands(*nonces):
            for number, (key, nonce) in enumerate(zip(keys, nonces)):
                for stanza in (fido2prf.wrap(key, nonce, fido2prf.results(secret, nonce)), age.wrap_x25519(key, point)):
                    yield age.Stanza("recipient-stanza", (str(number), stanza.type, *stanza.arguments), stanza.body)

        nonces = bytes(16), bytes([1]) * 16
        self.assertEqual(one.faults(commands(*nonces)), [])
        self.assertTrue(one.faults(commands(nonces[0], nonces[0])))
        keys.reverse()
        self.assertTrue(one.faults(commands(*nonces)))

    def test_faults_are_found(self):
        one = plugin.conversations()[0]
        right = age.Stanza("file-key", ("0",), unhex(one.expect[0]["body_hex"]))
        self.assertEqual(one.faults([age.Stanza("msg", (), b"text"), right]), [])
        for wrong in ([], [right, right], [age.Stanza("file-key", ("1",), right.body)],
                      [age.Stanza("file-key", ("0",), bytes(16))], [age.Stanza("error", ("internal",), b"text")]):
            self.assertTrue(one.faults(wrong), wrong)


if __name__ == "__main__":
    unittest.main()
