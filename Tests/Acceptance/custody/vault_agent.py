# SPDX-License-Identifier: Apache-2.0
"""The vault agent, and a client of it that was written from docs/fingerprint.md."""
import socket
import struct

from harness.programs import Program
from harness.waiting import Failed, must

HOLD, RELEASE, STATUS, FORGET = 1, 2, 3, 4
DONE, KEY, PROGRESS, STATE, FAILED = 0x80, 0x81, 0x82, 0x83, 0xFF
WAITING, RETRY, MISS = 1, 2, 3
CODES = {2: "no device", 3: "in use", 5: "not permitted", 6: "disconnected", 7: "sensor failed", 16: "PIN first",
         18: "suspended", 19: "misses", 20: "fingers changed", 21: "busy", 34: "malformed"}
LIMIT = 60


class Agent:
    """`hybrid-auth agent` with a socket of its own."""

    def __init__(self, env):
        self._env = env
        self.path = env.folder.sockets / "hybrid-auth-agent.sock"
        self.program = None
        self.start()

    def start(self):
        self.stop()
        self.program = Program(
            "hybrid-auth agent", [self._env.programs.auth, "agent"],
            log=self._env.folder.path(f"agent-{self._env.number()}.log"),
            environment=self._env.environment(NOTIFY_SOCKET=""))
        self._env.waiting.until("the agent to listen", self._answers, LIMIT)

    def _answers(self):
        must(self.program.status is None, f"the agent {self.program.ending}: {self.program.said()}")
        try:
            return self.status() is not None
        except OSError:
            return False

    def stop(self):
        if not self.program or self.program.status is not None:
            return []
        complaints = self.program.stop()
        if self.program.status != 0:
            complaints.append(f"hybrid-auth agent {self.program.ending}; expected status 0 after SIGTERM")
        return complaints

    def request(self, kind, body=b""):
        return Request(self.path, bytes([kind]) + body)

    def status(self):
        """Returns the vaults whose keys are held, and the misses."""
        kind, body = self.request(STATUS).next()
        must(kind == STATE and len(body) == 2 + 20 * body[1], f"expected the state; found {kind}")
        return [body[2 + 20 * index:18 + 20 * index] for index in range(body[1])], body[0]

    def release(self, vault):
        return self.request(RELEASE, vault)

    def refused(self, vault):
        """Asks for a key; returns the reason for which there is none."""
        return self.release(vault).failure()


class Request:
    """One connection with one request."""

    def __init__(self, path, message):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(LIMIT)
        self._socket.connect(str(path))
        self._socket.sendall(struct.pack(">H", len(message)) + message)

    def _read(self, count):
        data = b""
        while len(data) < count:
            part = self._socket.recv(count - len(data))
            if not part:
                raise Failed("the agent closed the connection without a reply")
            data += part
        return data

    def next(self):
        """Returns type and body of the next message."""
        message = self._read(struct.unpack(">H", self._read(2))[0])
        return message[0], message[1:]

    def last(self):
        """Returns type and body of the last message, and the progress before it."""
        progress = []
        while True:
            kind, body = self.next()
            if kind != PROGRESS:
                self.close()
                return kind, body, progress
            progress.append(body[0])

    def waits(self):
        """Waits until the sensor waits for a finger."""
        kind, body = self.next()
        must((kind, body) == (PROGRESS, bytes([WAITING])), f"expected to wait for a finger; found {kind} {body}")
        return self

    def failure(self):
        kind, body, _ = self.last()
        must(kind == FAILED, f"expected a failure; found the message {kind:#x}")
        return CODES.get(body[0], body[0])

    def key(self):
        kind, body, progress = self.last()
        must(kind == KEY and len(body) == 32, f"expected a key; found the message {kind:#x} {body[:1]}")
        return body, progress

    def close(self):
        self._socket.close()
