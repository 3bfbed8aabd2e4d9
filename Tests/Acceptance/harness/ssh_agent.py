# SPDX-License-Identifier: Apache-2.0
"""The client's side of the SSH agent protocol, for requests that ssh never sends."""
import base64
import contextlib
import hashlib
import os
import socket
import struct

FAILURE, SUCCESS, IDENTITIES, EXTENSION_FAILURE = 5, 6, 12, 28
ALGORITHM = b"sk-ecdsa-sha2-nistp256@openssh.com"


def string(data):
    return struct.pack(">I", len(data)) + data


def login(blob, user=b"root", *, trailing=b""):
    """Returns the data that a login with a key signs."""
    return (string(os.urandom(32)) + b"\x32" + string(user) + string(b"ssh-connection") + string(b"publickey")
            + b"\x01" + string(ALGORITHM) + string(blob) + trailing)


def blob_of(line):
    """Returns the key of a line of authorized_keys."""
    return base64.b64decode(line.split()[1])


def fingerprint(public):
    """Returns the fingerprint of the public key in a file, as OpenSSH prints it."""
    digest = hashlib.sha256(base64.b64decode(public.read_text().split()[1])).digest()
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


class AgentClient:
    """A connection to an agent."""

    def __init__(self, path):
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(30)
        self._socket.connect(str(path))

    def send(self, message, length=None):
        """Sends a message, or as much of it as the agent reads."""
        with contextlib.suppress(ConnectionError):
            self._socket.sendall(struct.pack(">I", len(message) if length is None else length) + message)

    def ask(self, message):
        """Returns the answer, or None if the agent closes the connection."""
        self.send(message)
        return self.answer()

    def answer(self):
        head = self._read(4)
        return head and self._read(struct.unpack(">I", head)[0])

    def sign(self, blob, data, flags=0):
        return self.ask(b"\x0d" + string(blob) + string(data) + struct.pack(">I", flags))

    def _read(self, count):
        data = b""
        while len(data) < count:
            try:
                more = self._socket.recv(count - len(data))
            except ConnectionError:
                return None
            if not more:
                return None
            data += more
        return data

    def close(self):
        self._socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
