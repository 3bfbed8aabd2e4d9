#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The process of a ceremony, with a phone that keeps its keys in a folder.

    key_phone.py FOLDER --display DISPLAY

It writes the length of a phone's name, which is 0, and the response; or the status of a refusal, the length of a code, the code,
and a sentence. The RP ID decides: the phone of wait.example waits
for the end of the input, that of declined.example declines, and that of broken.example is not found.
"""
import hashlib, json, os, sys

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from fido2 import cbor
from fido2.cose import ES256

folder = sys.argv[1]


def fail(status, code, message, refusal=0):
    print(json.dumps({"event": "error", "message": message}), file=sys.stderr, flush=True)
    end(status, bytes([refusal, len(code)]) + (code + message).encode())


def end(status, response=b""):
    sys.stdout.buffer.write(response)
    sys.stdout.buffer.flush()
    os._exit(status)


def path(credential):
    return f"{folder}/{credential.hex()}.key"


def data(relying_party, flags, attested=b""):
    return hashlib.sha256(relying_party.encode()).digest() + bytes([flags]) + bytes(4) + attested


length = int.from_bytes(sys.stdin.buffer.read(4), "big")
request = cbor.decode(sys.stdin.buffer.read(length))
assert set(request) - {6} == {1, 2, 3, 5} and request[2] and request[3] > 0
command, parameters = request[1][0], cbor.decode(request[1][1:])
relying_party = parameters[2]["id"] if command == 1 else parameters[1]
with open(f"{folder}/purposes", "a") as file:
    file.write(request[2] + "\n")
with open(f"{folder}/consents", "a") as file:
    file.write("needed\n" if request[5] and not request.get(6) else "not needed\n")

if relying_party == "wait.example":
    open(f"{folder}/waiting", "w").close()
    sys.stdin.buffer.read()
    open(f"{folder}/ended", "w").close()
    end(130)
if relying_party == "declined.example":
    fail(77, "declined", "it was declined on the phone", 0x27)
if relying_party == "broken.example":
    fail(69, "no-relay", f"there is no relay for {relying_party}")

if command == 1:
    assert parameters[2]["name"] and parameters[3]["displayName"] and parameters[7]["uv"]
    if any(os.path.exists(path(credential["id"])) for credential in parameters.get(5, [])):
        fail(77, "already-registered", "the phone already has a passkey", 0x19)
    key, credential = ec.generate_private_key(ec.SECP256R1()), os.urandom(32)
    encoding = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    with open(path(credential), "wb") as file:
        file.write(key.private_bytes(*encoding))
    public = cbor.encode(ES256.from_cryptography_key(key.public_key()))
    attested = bytes(16) + len(credential).to_bytes(2, "big") + credential + public
    end(0, b"\0\0" + cbor.encode({1: "none", 2: data(relying_party, 0x45, attested), 3: {}}))

known = [item["id"] for item in parameters.get(3, []) if os.path.exists(path(item["id"]))]
if not known:
    fail(77, "no-passkey", "the phone has no passkey", 0x2E)
with open(path(known[0]), "rb") as file:
    key = serialization.load_pem_private_key(file.read(), None)
signed = data(relying_party, 0x05)
signature = key.sign(signed + parameters[2], ec.ECDSA(hashes.SHA256()))
end(0, b"\0\0" + cbor.encode({1: {"id": known[0], "type": "public-key"}, 2: signed, 3: signature}))
