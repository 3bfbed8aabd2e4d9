# SPDX-License-Identifier: Apache-2.0
"""SSH data types, and an agent that records its messages and signs as a security key."""
import hashlib
import os
import socket
import struct
import threading

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

ALGORITHM = b"sk-ecdsa-sha2-nistp256@openssh.com"


def string(data):
    return struct.pack(">I", len(data)) + data


def mpint(number):
    return string(number.to_bytes(number.bit_length() // 8 + 1, "big")) if number else string(b"")


def take(data):
    """Returns the string at the front and the rest."""
    length = struct.unpack(">I", data[:4])[0]
    assert len(data) >= 4 + length, "truncated"
    return data[4:4 + length], data[4 + length:]


def receive(connection):
    """Returns the next message, or None at the end of the connection."""
    header = connection.recv(4, socket.MSG_WAITALL)
    if len(header) < 4:
        return None
    length = struct.unpack(">I", header)[0]
    message = connection.recv(length, socket.MSG_WAITALL)
    return message if len(message) == length else None


class SecurityKey:
    """A P-256 key that signs as an authenticator does."""

    def __init__(self, application, flags=0x05, counter=0):
        self.application, self.flags, self.counter = application, flags, counter
        # The same key in every recording: seeds of the fuzzers contain it.
        self.key = ec.derive_private_key(int.from_bytes(hashlib.sha256(b"test key").digest(), "big"), ec.SECP256R1())
        self.point = self.key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        self.blob = string(ALGORITHM) + string(b"nistp256") + string(self.point) + string(application.encode())

    def assertion(self, data):
        """Returns authenticator data and a DER signature, with the data's hash as client data hash."""
        authenticator_data = hashlib.sha256(self.application.encode()).digest() + struct.pack(
            ">BI", self.flags, self.counter)
        digest = hashlib.sha256(data).digest()
        return authenticator_data, self.key.sign(authenticator_data + digest, ec.ECDSA(hashes.SHA256()))

    def sign(self, data):
        """Returns an assertion, and the signature in SSH's encoding, written independently of the code under test."""
        authenticator_data, der = self.assertion(data)
        r, s = decode_dss_signature(der)
        blob = string(ALGORITHM) + string(mpint(r) + mpint(s)) + authenticator_data[32:]
        return {"data": data.hex(), "authenticatorData": authenticator_data.hex(), "der": der.hex(),
                "signature": blob.hex()}


class RecordingAgent:
    """An agent on a socket. `connections` holds the requests of each connection in order of their arrival."""

    def __init__(self, path, key):
        self.path, self.key = path, key
        self.connections, self.assertions = [], []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        os.chmod(path, 0o600)
        self.listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def clear(self):
        """Returns what was recorded, and begins anew."""
        recorded = [one for one in self.connections if one], self.assertions
        self.connections, self.assertions = [], []
        return recorded

    def _accept(self):
        while True:
            connection, _ = self.listener.accept()
            requests = []
            self.connections.append(requests)
            threading.Thread(target=self._serve, args=(connection, requests), daemon=True).start()

    def _serve(self, connection, requests):
        while (message := receive(connection)) is not None:
            requests.append(message.hex())
            connection.sendall(string(self._reply(message)))
        connection.close()

    def _reply(self, message):
        if message[0] == 11:
            return b"\x0c" + struct.pack(">I", 1) + string(self.key.blob) + string(b"phone")
        if message[0] == 13:
            blob, rest = take(message[1:])
            data, rest = take(rest)
            assert blob == self.key.blob and rest == bytes(4), "flags are 0"
            assertion = self.key.sign(data)
            self.assertions.append(assertion)
            return b"\x0e" + string(bytes.fromhex(assertion["signature"]))
        return b"\x06" if message[0] == 27 else b"\x05"
