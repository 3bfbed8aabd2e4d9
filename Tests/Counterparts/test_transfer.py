# SPDX-License-Identifier: Apache-2.0
"""Compares the messages of transfers with their vectors and with another implementation of HPKE, and both sides with each
other; test_vectors.py runs these tests."""
import argparse, hashlib, json, os, queue, threading, unittest

from cryptography.hazmat.primitives import hpke as library
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

import hpke, transfer, transfer_messages as messages

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Vectors", "transfer-messages.json")) as file:
    VECTORS = json.load(file)
unhex = bytes.fromhex


class TransferMessages(unittest.TestCase):
    def test_digits(self):
        for case in VECTORS["digits"]:
            binding = messages.Binding(*[unhex(case[name]) for name in ("hash", "receiver", "giver")])
            self.assertEqual(binding.digits, case["digits"])
            self.assertEqual(binding.vault_tag(unhex(case["vault"])).hex(), case["tag"])
            self.assertEqual(messages.commitment(unhex(case["receiver"])).hex(), case["commitment"])

    def test_payloads(self):
        for case in VECTORS["payloads"]:
            key = X25519PrivateKey.from_private_bytes(unhex(case["private"]))
            sealing = messages.Sealing(case["purpose"], unhex(case["binding"]))
            opened = sealing.open(json.loads(case["items"]), case["index"], key)
            self.assertEqual(opened.hex(), case["payload"])
            for name in ("give", "join"):
                other = messages.Sealing(name, unhex(case["binding"])[::-1])
                with self.assertRaises(messages.TransferFailed):
                    other.open(json.loads(case["items"]), case["index"], key)

    def test_files(self):
        case = VECTORS["file"]
        key = X25519PrivateKey.from_private_bytes(unhex(case["private"]))
        found = messages.open_gift(case["gift"].encode(), case["request"].encode(), key)
        self.assertEqual([passkey["credentialId"] for passkey in found], case["ids"])
        self.assertEqual(hashlib.sha256(case["request"].encode()).hexdigest(), case["sha256"])

    def test_hpke(self):
        """Both directions with the library's HPKE, which has no associated data."""
        suite = library.Suite(library.KEM.X25519, library.KDF.HKDF_SHA256, library.AEAD.AES_256_GCM)
        key = X25519PrivateKey.generate()
        sealed = suite.encrypt(b"text", key.public_key(), info=b"info")
        self.assertEqual(hpke.open_sealed(key, sealed[:32], sealed[32:], b"info", b""), b"text")
        public = hpke.raw(key.public_key())
        self.assertEqual(suite.decrypt(b"".join(hpke.seal(public, b"text", b"info", b"")), key, info=b"info"), b"text")


class Queue(transfer.Lines):
    """One end of a channel in memory."""

    def __init__(self, handshake_hash, sent, received):
        super().__init__(handshake_hash)
        self.sent, self.received, self.log = sent, received, []

    def send_object(self, value):
        self.log.append(value)
        self.sent.put(json.dumps(value))

    def send_body(self, body):
        self.sent.put(body.decode())

    def next_object(self):
        text = self.received.get(timeout=20)
        return text if text is None else json.loads(text)


def options(role, **changes):
    usual = {
        "role": role, "pipe": b"\5" * 32, "name": role, "vault": role.encode(), "ask": False, "fault": None, "die": None,
        "join": False, "which": None, "passkeys": None, "new": 3, "move": False, "key": b"a vault's key",
    }
    return argparse.Namespace(**usual | changes)


def run(receiver=None, giver=None, purpose="give"):
    """Runs both sides; returns their results."""
    one, two, results = queue.Queue(), queue.Queue(), {}
    receiving = transfer.Receiver(
        Queue(b"\5" * 32, one, two), options("receive", join=purpose == "join", **(receiver or {}))
    )
    giving = transfer.Giver(Queue(b"\5" * 32, two, one), options("give", **(giver or {})), purpose)

    def perform(side, ours):
        results[side] = transfer.perform(side)[0]
        ours.put(None)

    threads = [threading.Thread(target=perform, args=pair) for pair in ((receiving, one), (giving, two))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log = receiving.wire.log + giving.wire.log
    return results[receiving], results[giving], log


class Transfers(unittest.TestCase):
    def setUp(self):
        self.addCleanup(setattr, transfer, "say", transfer.say)
        self.said = []
        transfer.say = lambda value, _: self.said.append(value)

    def test_passkeys(self):
        received, given, log = run(giver={"new": 150})
        self.assertEqual((received["end"], given["end"]), ("done", "done"))
        self.assertEqual(received["ids"], given["ids"])
        self.assertEqual((len(received["ids"]), len([m for m in log if m["type"] == "items"])), (150, 3))
        self.assertEqual(len({said["digits"] for said in self.said if "digits" in said}), 1)

    def test_some(self):
        received, given, _ = run({"which": [0, 2]})
        self.assertEqual((received["ids"], len(given["ids"])), (given["ids"], 2))

    def test_vault(self):
        received, _, _ = run(purpose="join")
        self.assertEqual(bytes.fromhex(received["key"]), b"a vault's key")

    def test_same_vault(self):
        received, given, _ = run({"vault": b"one"}, {"vault": b"one"})
        self.assertEqual((given["end"], received["end"]), ("same-vault", "refused"))

    def test_faults(self):
        """Each fault keeps the transfer from being complete on the other side."""
        receivers = {"wrong-sha", "wrong-id", "doubled-id", "wrong-commitment", "wrong-nonce", "other-version"}
        for fault in sorted(receivers | {"other-purpose", "early-accept", "refuse-full", "refuse-digits"}):
            with self.subTest(fault):
                self.assertNotEqual(run(receiver={"fault": fault})[1]["end"], "done")
        givers = {"malformed-cxf", "too-many", "long-payload", "wrong-index", "wrong-last", "other-binding"}
        for fault in sorted(givers | {"early-offer", "early-done", "other-version", "refuse-declined"}):
            with self.subTest(fault):
                self.assertNotEqual(run(giver={"fault": fault, "new": 65})[0]["end"], "done")


if __name__ == "__main__":
    unittest.main()
