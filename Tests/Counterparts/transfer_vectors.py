#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Computes Tests/Vectors/transfer-messages.json: digits, sealed payloads and files of transfers.

  $(scripts/python) Tests/Counterparts/transfer_vectors.py > Tests/Vectors/transfer-messages.json
"""
import hashlib, json

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

import hpke, transfer_messages as messages


def fixed(label, length=32):
    """Returns bytes that look random and are the same in each run."""
    return hashlib.shake_128(label.encode()).digest(length)


def binding(number):
    names = [f"{name} {number}" for name in ("hash", "receiver", "giver")]
    return messages.Binding(*[fixed(name) for name in names])


def digits():
    cases, number = [], 0
    # One with a leading zero is among them.
    while len(cases) < 8 or not any(case["digits"].startswith("0") for case in cases):
        session, vault = binding(number), fixed(f"vault {number}", 16)
        cases.append({
            "hash": fixed(f"hash {number}").hex(), "receiver": fixed(f"receiver {number}").hex(),
            "giver": fixed(f"giver {number}").hex(),
            "commitment": messages.commitment(fixed(f"receiver {number}")).hex(), "digits": session.digits,
            "vault": vault.hex(), "tag": session.vault_tag(vault).hex(),
        })
        number += 1
    return cases


def key(label):
    return X25519PrivateKey.from_private_bytes(fixed(label))


def payloads():
    for number, (purpose, index, last) in enumerate([("give", 0, True), ("give", 258, False), ("join", 0, True)]):
        session, payload = binding(number), fixed(f"payload {number}", 40)
        sealing = messages.Sealing(purpose, session.bytes)
        asked = messages.request(key(f"request {number}"))
        items = sealing.seal(payload, index, last, asked, key(f"ephemeral {number}"))
        yield {
            "purpose": purpose, "binding": session.bytes.hex(), "private": fixed(f"request {number}").hex(),
            "public": hpke.raw(key(f"request {number}").public_key()).hex(), "info": sealing.info.hex(),
            "data": sealing.place(index, last).hex(), "index": index, "last": last, "payload": payload.hex(),
            "sha256": hashlib.sha256(payload).hexdigest(), "items": json.dumps({"type": "items", **items}),
            "request": json.dumps(asked),
        }


def files():
    passkeys = [messages.new_passkey("example.com", f"user {number}", number) for number in range(3)]
    private = key("file")
    asked = messages.request_file(private, "Ada")
    gift = messages.gift_file(passkeys, asked, "Bob", 2, lambda index: key(f"ephemeral of the file {index}"))
    return {
        "private": fixed("file").hex(), "request": asked.decode(), "sha256": hashlib.sha256(asked).hexdigest(),
        "gift": gift.decode(), "ids": [passkey["credentialId"] for passkey in passkeys],
    }


def main():
    print(json.dumps({"digits": digits(), "payloads": list(payloads()), "file": files()}, indent=1))


if __name__ == "__main__":
    main()
