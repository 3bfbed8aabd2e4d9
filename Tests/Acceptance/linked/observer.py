# SPDX-License-Identifier: Apache-2.0
"""Servers in the place of the relay: one that records everything a relay sees, and one that gives a fixed answer."""
import contextlib
import socket
import ssl
import threading
from dataclasses import dataclass, field

from harness.relay import HOST


@dataclass
class Connection:
    """One connection as the relay sees it: without TLS, and with the payload of each WebSocket message."""

    head: str = ""
    response: str = ""
    #: Messages by their sender: `peer` or `relay`.
    messages: list = field(default_factory=list)

    @property
    def path(self):
        return self.head.split(" ")[1]

    def fields(self):
        """Returns the request's header fields, in lower case."""
        lines = (line.partition(":") for line in self.head.split("\r\n")[1:] if line)
        return {name.lower(): value.strip() for name, _, value in lines}


class Server:
    """A TLS server with the relay's certificate on a port that the system chooses."""

    def __init__(self, certificates):
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificates.relay, certificates.relay_key)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):  # Closed by `stop`.
            while True:
                threading.Thread(target=self._begin, args=(self._socket.accept()[0],), daemon=True).start()

    def _begin(self, plain):
        with contextlib.suppress(OSError, ValueError), self._context.wrap_socket(plain, server_side=True) as peer:
            self.serve(peer)

    def stop(self):
        # An accept that is in progress ends only with the end of both directions.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        return []


class FixedAnswer(Server):
    """A relay that answers every request with the same bytes."""

    def __init__(self, certificates, answer):
        self.requests, self._answer = [], answer
        super().__init__(certificates)

    def serve(self, peer):
        head = b""
        while b"\r\n\r\n" not in head:
            received = peer.recv(65536)
            if not received:
                return
            head += received
        self.requests.append(head)
        peer.sendall(self._answer)


class Observer(Server):
    """Passes everything on to the relay, and records it."""

    def __init__(self, certificates, relay_port):
        self._relay_port = relay_port
        self._trust = ssl.create_default_context(cafile=certificates.authority)
        #: All connections, in the order of their beginning.
        self.connections = []
        super().__init__(certificates)

    def serve(self, peer):
        connection = Connection()
        self.connections.append(connection)
        plain = socket.create_connection(("127.0.0.1", self._relay_port))
        with self._trust.wrap_socket(plain, server_hostname=HOST) as relay:
            back = threading.Thread(target=self._pump, args=(relay, peer, connection, "relay"), daemon=True)
            back.start()
            self._pump(peer, relay, connection, "peer")
            back.join()

    def _pump(self, source, target, connection, sender):
        buffer, has_head = b"", False
        try:
            while data := source.recv(65536):
                buffer += data
                if not has_head and b"\r\n\r\n" in buffer:
                    head, _, buffer = buffer.partition(b"\r\n\r\n")
                    has_head = True
                    setattr(connection, "head" if sender == "peer" else "response", head.decode("latin-1"))
                while has_head and (message := _take_frame(buffer)):
                    (opcode, payload), buffer = message
                    if opcode in (1, 2):
                        connection.messages.append((sender, payload))
                target.sendall(data)
        except (OSError, ValueError):
            pass
        # The other direction may be blocked in a read.
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


def _take_frame(buffer):
    """Returns opcode and unmasked payload of the first frame, and the bytes behind it; None if it is not complete."""
    if len(buffer) < 2:
        return None
    length, start = buffer[1] & 127, 2
    if length > 125:
        size = 2 if length == 126 else 8
        length, start = int.from_bytes(buffer[2:2 + size], "big"), 2 + size
    mask = b"\0\0\0\0"
    if buffer[1] & 128:
        mask, start = buffer[start:start + 4], start + 4
    if len(mask) < 4 or len(buffer) < start + length:
        return None
    payload = bytes(byte ^ mask[index % 4] for index, byte in enumerate(buffer[start:start + length]))
    return (buffer[0] & 15, payload), buffer[start + length:]
