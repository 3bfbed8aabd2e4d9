#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the counterparts with the published vectors, to separate their errors from those of the programs.

  python3 Tests/Counterparts/test_vectors.py
"""
import json, os, unittest

import cbor, channel, ctap, keys, linking, noise, qr, transfer_wire, transfer_wire_vectors
# A run of this file covers secrets, too.
from test_secrets import Conversations, Files, Identities, Messages, SealedKeys, Stanzas
from test_transfer import TransferMessages, Transfers
from website import to_base64url

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Vectors", "vectors.json")) as file:
    VECTORS = json.load(file)
# Written by another program of this project, linked_vectors.py.
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Vectors", "linked.json")) as file:
    LINKED = json.load(file)
# Written by transfer_wire_vectors.py.
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Vectors", "transfer.json")) as file:
    TRANSFER = json.load(file)
unhex = bytes.fromhex


class Codes(unittest.TestCase):
    def test_digits(self):
        for case in VECTORS["base10"]["valid"]:
            self.assertEqual(qr.to_digits(unhex(case["bytes"])), case["digits"], case["name"])
            self.assertEqual(qr.from_digits(case["digits"]).hex(), case["bytes"], case["name"])
        for case in VECTORS["base10"]["invalid"]:
            with self.assertRaises(ValueError, msg=case):
                qr.from_digits(case["digits"])

    def test_real_codes(self):
        for case in VECTORS["qr"]:
            offer = qr.parse(case["url"])
            self.assertEqual(offer.encoded.hex(), case["cbor"], case["name"])
            self.assertEqual(qr.text(offer.fields), case["url"], case["name"])
            if "key0_uncompressed" in case:
                self.assertEqual(noise.uncompressed(offer.client_key).hex(), case["key0_uncompressed"])

    def test_codes_to_take_and_to_refuse(self):
        for case in VECTORS["qr_parser_cases"]["cases"]:
            if case["valid"]:
                qr.parse(case["url"])
            else:
                with self.assertRaises(ValueError, msg=case["why"]):
                    qr.parse(case["url"])


class Keys(unittest.TestCase):
    def test_domains(self):
        for case in VECTORS["domains"] + VECTORS["domains_short_labels"]:
            if case.get("domain"):
                self.assertEqual(keys.host(case["encoded"]), case["domain"])
            else:
                with self.assertRaises(ValueError, msg=case):
                    keys.host(case["encoded"])

    def test_derivation(self):
        for case in VECTORS["key_derivation"]:
            output = keys.derive(unhex(case["secret"]), unhex(case["salt"]), case["purpose"], case["length"])
            self.assertEqual(output.hex(), case["output"], case["source"])

    def test_adverts(self):
        for case in VECTORS["eid"]:
            if case.get("expect") == "reject":
                self.assertIsNone(keys.open_eid(unhex(case["advert"]), unhex(case["eid_key"])), case["name"])
            elif "plaintext" in case:
                key, plaintext = keys.eid_key(unhex(case["qr_secret"])), unhex(case["plaintext"])
                self.assertEqual(key.hex(), case["eid_key"], case["name"])
                self.assertEqual(keys.seal_eid(plaintext, key).hex(), case["advert"], case["name"])
                self.assertEqual(keys.open_eid(unhex(case["advert"]), key), plaintext, case["name"])
                self.assertEqual(keys.eid_routing_id(plaintext).hex(), case["routing_id"])
                self.assertEqual(keys.eid_domain(plaintext), case["domain"])


class Handshakes(unittest.TestCase):
    CASES = {case["name"]: case for case in VECTORS["handshake"]}

    def initiator(self, case):
        static, ephemeral = (
            noise.private_key(unhex(case[name])) for name in ("client_static_scalar", "initiator_ephemeral_scalar")
        )
        secret = keys.psk(unhex(case["qr_secret"]), unhex(case["eid_plaintext"]))
        self.assertEqual(secret.hex(), case["psk"])
        return noise.Initiator(static, secret, ephemeral)

    def check(self, case, result):
        self.assertEqual(result.client_to_phone.hex(), case["initiator_to_responder"])
        self.assertEqual(result.phone_to_client.hex(), case["responder_to_initiator"])
        self.assertEqual(result.handshake_hash.hex(), case["handshake_hash"])

    def test_initiator(self):
        for name in ("knpsk0_computed", "knpsk0_published_iphone"):
            case = self.CASES[name]
            initiator = self.initiator(case)
            self.assertEqual(initiator.message1.hex(), case["msg1"])
            self.check(case, initiator.finish(unhex(case["msg2"])))

    def test_responder(self):
        case = self.CASES["knpsk0_computed"]
        client = noise.private_key(unhex(case["client_static_scalar"])).public_key()
        ephemeral = noise.private_key(unhex(case["responder_ephemeral_scalar"]))
        message2, result = noise.respond(client, unhex(case["psk"]), unhex(case["msg1"]), ephemeral)
        self.assertEqual(message2.hex(), case["msg2"])
        self.check(case, result)

    def test_linked(self):
        case = self.CASES["nkpsk0_computed"]
        self.assertEqual(keys.eid_key(unhex(case["link_secret"]), unhex(case["client_nonce"])).hex(), case["eid_key"])
        secret = keys.psk(unhex(case["link_secret"]), unhex(case["eid_plaintext"]))
        phone = noise.private_key(unhex(case["authenticator_static_scalar"]))
        ephemerals = [noise.private_key(unhex(case[f"{end}_ephemeral_scalar"])) for end in ("initiator", "responder")]
        initiator = noise.LinkedInitiator(phone.public_key(), secret, ephemerals[0])
        self.assertEqual(initiator.message1.hex(), case["msg1"])
        message2, result = noise.respond_linked(phone, secret, unhex(case["msg1"]), ephemerals[1])
        self.assertEqual(message2.hex(), case["msg2"])
        self.check(case, result)
        self.check(case, initiator.finish(message2))

    def test_damaged(self):
        for case in VECTORS["handshake_negative"]:
            base = self.CASES[case["base"]]
            with self.assertRaises(noise.HandshakeFailed, msg=case["name"]):
                if "msg2" in case:
                    self.initiator(base).finish(unhex(case["msg2"]))
                else:
                    client = noise.private_key(unhex(base["client_static_scalar"])).public_key()
                    noise.respond(client, unhex(case.get("psk", base["psk"])), unhex(case["msg1"]))

    def test_frames_of_a_real_phone(self):
        case = self.CASES["knpsk0_published_iphone"]
        ends = unhex(case["initiator_to_responder"]), unhex(case["responder_to_initiator"])
        desktop = channel.Channel(*ends)
        first = desktop.open(unhex(case["post_handshake_ciphertext"]))
        self.assertEqual(first.hex(), case["post_handshake_plaintext_unpadded"])
        self.assertEqual(channel.read_post_handshake(first)[1], {"ctap", "dc"})
        self.assertEqual(desktop.seal(unhex(case["request_plaintext"])).hex(), case["request_ciphertext_counter0"])
        answer = desktop.open(unhex(case["response_ciphertext_counter1"]))
        self.assertEqual(answer.hex(), case["response_plaintext"])


class Frames(unittest.TestCase):
    def test_frames(self):
        for case in VECTORS["transport"]["frames"]:
            end = channel.Channel(unhex(case["key"]), unhex(case["key"]))
            end.sent = end.received = case["counter"]
            self.assertEqual(end.seal(unhex(case["message"])).hex(), case["ciphertext"], case["name"])
            self.assertEqual(end.open(unhex(case["ciphertext"])).hex(), case["message"], case["name"])
            self.assertEqual(end.last_padded.hex(), case["padded"], case["name"])

    def test_linking(self):
        case = VECTORS["linking"]
        linking = channel.linking_map(
            b"example-contact-id",
            unhex("0102030405060708"),
            unhex(VECTORS["handshake"][1]["link_secret"]),
            noise.private_key(unhex(case["authenticator_identity_scalar"])),
            "Test Phone",
            noise.private_key(unhex(case["client_static_scalar"])).public_key(),
            unhex(case["handshake_hash"]),
        )
        self.assertEqual(cbor.canonical(linking).hex(), case["linking_map_cbor"])
        self.assertEqual(linking[6].hex(), case["signature"])

    def test_contacts(self):
        for case in LINKED["contacts"]:
            key = linking.ed25519.Ed25519PrivateKey.from_private_bytes(unhex(case["seed"]))
            contact, host = linking.contact_id(key), case["host"]
            self.assertEqual((linking.public_bytes(key).hex(), contact.hex()), (case["public_key"], case["contact_id"]))
            self.assertEqual(f"/cable/contact/{to_base64url(contact)}", case["contact_path"])
            statement = linking.listen_statement(host, unhex(case["challenge"]), contact)
            self.assertEqual(key.sign(statement).hex(), case["listen_signature"])
            self.assertEqual(key.sign(linking.gone_statement(host, contact)).hex(), case["gone_signature"])

    def test_payloads(self):
        for case in LINKED["payloads"]:
            secret = unhex(case["link_secret"]) if case["proves"] else None
            data = linking.payload(unhex(case["link_id"]), secret, unhex(case["nonce"]), case["hint"], case["host"],
                                   linking.claims(case["number"], case["time"], case["requester"]))
            self.assertEqual(data.hex(), case["payload"])

    def test_wake_ups_are_accepted_once(self):
        link = linking.PhoneLink.new(266)
        nonce = bytes(range(16))
        data = linking.payload(link.link_id, link.secret, nonce, "ga", link.host)
        self.assertIsNone(link.accepts(linking.payload(link.link_id, None, nonce, "ga", link.host)))
        self.assertIsNone(link.accepts(linking.payload(link.link_id, bytes(32), nonce, "ga", link.host)))
        self.assertIsNone(link.accepts(linking.payload(bytes(8), link.secret, nonce, "ga", link.host)))
        self.assertIsNone(link.accepts(data[:-1]))
        self.assertEqual(link.accepts(data), (nonce, "ga"))
        self.assertIsNone(link.accepts(data))
        late = linking.claims(2**63, 1_700_000_000)
        self.assertIsNone(link.accepts(linking.payload(link.link_id, link.secret, nonce, "ga", link.host, late)))

    def test_links(self):
        client, link, session = noise.new_key(), linking.PhoneLink.new(266), bytes(32)
        fields = cbor.read(cbor.canonical(link.information("Pixel 8", client.public_key(), session)))
        stored = linking.ClientLink.verified(fields, client, session, 266)
        self.assertEqual((stored.name, stored.proves, stored.link_id), ("Pixel 8", True, link.link_id))
        for change in ({6: bytes(32)}, {2: bytes(7)}, {3: bytes(31)}, {4: bytes(65)}, {1: b""}, {5: b"x"}):
            with self.assertRaises(linking.LinkRefused, msg=change):
                linking.ClientLink.verified({**fields, **change}, client, session, 266)
        with self.assertRaises(linking.LinkRefused):
            linking.ClientLink.verified(fields, client, bytes(31) + b"\1", 266)

    def test_adverts_without_a_code(self):
        for _ in range(300):
            eid, advert = linking.fresh_eid(bytes(32), bytes(16))
            self.assertEqual(keys.open_eid(advert, keys.eid_key(bytes(32), bytes(16))), eid)

    def test_updates_have_one_size(self):
        for size in (512, 1024):
            self.assertEqual(len(channel.pad(channel.update(size=size))), size)
        self.assertEqual(len(channel.pad(channel.update({1: bytes(100)}))), 512)


class Transfers(unittest.TestCase):
    def test_the_file_is_current(self):
        valid, invalid = transfer_wire_vectors.codes()
        self.assertEqual((TRANSFER["codes"], TRANSFER["refused_codes"]), (valid, invalid))
        self.assertEqual(TRANSFER["sessions"][0], transfer_wire_vectors.handshake("a", 0))

    def test_codes(self):
        for case in TRANSFER["codes"]:
            self.assertEqual(cbor.canonical(qr_fields(case["cbor"])).hex(), case["cbor"], case["name"])
        for case in TRANSFER["refused_codes"]:
            with self.assertRaises(ValueError, msg=case["name"]):
                transfer_wire.parse(case["text"])
        for case in VECTORS["qr"]:
            with self.assertRaises(ValueError, msg=case["name"]):
                transfer_wire.parse(case["url"])

    def test_nothing_is_valid_for_a_sign_in(self):
        secret, eid = bytes(range(16)), bytes(16)
        for ours, theirs in (
            (transfer_wire.eid_key(secret), keys.eid_key(secret)),
            (transfer_wire.tunnel_id(secret), keys.tunnel_id(secret)),
            (transfer_wire.psk(secret, eid), keys.psk(secret, eid)),
        ):
            self.assertNotEqual(ours, theirs)
        static, psk = noise.new_key(), bytes(32)
        for prologues in ((noise.SIGN_IN, transfer_wire.NAME), (transfer_wire.NAME, noise.SIGN_IN)):
            first = noise.Initiator(static, psk, prologue=prologues[0]).message1
            with self.assertRaises(noise.HandshakeFailed):
                noise.respond(static.public_key(), psk, first, prologue=prologues[1])

    def test_messages_have_a_multiple_of_512_bytes(self):
        for case in TRANSFER["frames"]:
            body = transfer_wire.pad(b"x" * case["length"])
            self.assertEqual(len(body), case["padded"])
            self.assertEqual(len(channel.pad(b"\3" + body)) % 512, 0)


def qr_fields(encoded):
    return cbor.read(unhex(encoded))


class FirstMessages(unittest.TestCase):
    def test_real_phones(self):
        for case in VECTORS["post_handshake"]:
            fields, features = channel.read_post_handshake(unhex(case["cbor"]))
            self.assertIn("ctap", features)
            self.assertEqual(cbor.read(fields[1])[9], case["getInfo_decoded"]["9"])
            self.assertTrue(cbor.is_canonical(unhex(case["cbor"])), case["name"])


class CBOR(unittest.TestCase):
    VALUE = {-1: [True, None], 300: "x" * 40, "a": {"bb": 1, "a": -500}, 3: b"\0" * 300, "display": False}

    def test_canonical(self):
        data = cbor.canonical(self.VALUE)
        self.assertEqual(cbor.read(data), self.VALUE)
        # Unsigned keys, then negative ones, then text, although 300 has a longer encoding than "a".
        self.assertEqual(list(cbor.read(data)), [3, 300, -1, "a", "display"])
        self.assertTrue(cbor.is_canonical(data))

    def test_loose_means_the_same(self):
        data = cbor.loose(self.VALUE)
        self.assertEqual(cbor.read(data), self.VALUE)
        self.assertFalse(cbor.is_canonical(data))
        self.assertFalse(cbor.is_canonical(cbor.canonical(1) + b"\0"))

    def test_authenticator_data(self):
        passkeys = ctap.Passkeys(bytes(range(16)))
        data, _ = passkeys.make(b"identifier", {1: bytes(32), 2: {"id": "example.com"}, 3: {"id": b"user"}})
        read = ctap.AuthenticatorData.read(data)
        self.assertEqual((read.aaguid, read.credential_id, read.encoded), (bytes(range(16)), b"identifier", data))
        ctap.read_cose_key(cbor.read(read.public_key))
        for broken in (data[:-1], data + b"\0", data[:36]):
            with self.assertRaises(ValueError):
                ctap.AuthenticatorData.read(broken)


if __name__ == "__main__":
    unittest.main()
