# SPDX-License-Identifier: Apache-2.0
"""A server that is far away."""
import contextlib
import itertools
import queue
import socket
import threading
import time


class DelayedAddress:
    """Forwards connections to an address, and holds back all bytes in both directions for the same time.

    The kernel accepts connections without delay, so the round trip of the TCP handshake is missing. The log has an entry
    for each piece: time at which it was sent, number of the connection, direction, length.
    """

    def __init__(self, address, delay):
        self._address, self._delay = address, delay
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.log, self._connections = [], itertools.count(1)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                peer, _ = self._socket.accept()
                target = socket.create_connection(self._address)
                number = next(self._connections)
                for source, end, direction in ((peer, target, "there"), (target, peer, "back")):
                    source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    chunks = queue.SimpleQueue()
                    threading.Thread(target=self._read, args=(source, chunks, number, direction), daemon=True).start()
                    threading.Thread(target=self._write, args=(end, chunks), daemon=True).start()

    def _read(self, source, chunks, number, direction):
        data = b"-"
        while data:
            try:
                data = source.recv(65536)
            except OSError:
                data = b""
            now = time.monotonic()
            self.log.append((now, number, direction, len(data)))
            chunks.put((now + self._delay, data))

    def _write(self, target, chunks):
        with contextlib.suppress(OSError):
            while True:
                due, data = chunks.get()
                time.sleep(max(0, due - time.monotonic()))
                if not data:
                    target.shutdown(socket.SHUT_WR)
                    return
                target.sendall(data)

    def stop(self):
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        return []
