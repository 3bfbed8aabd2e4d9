# SPDX-License-Identifier: Apache-2.0
"""A TCP proxy to the relay that can be closed: it accepts connections, but forwards data only when it is open."""
import contextlib
import socket
import threading


class Gate:
    def __init__(self, port):
        self._target = ("127.0.0.1", port)
        self._is_open = threading.Event()
        self._is_open.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def shut(self):
        self._is_open.clear()

    def open(self):
        self._is_open.set()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._carry, args=(client,), daemon=True).start()

    def _carry(self, client):
        self._is_open.wait()
        try:
            relay = socket.create_connection(self._target)
        except OSError:
            client.close()
            return
        threading.Thread(target=self._pump, args=(relay, client), daemon=True).start()
        self._pump(client, relay)

    @staticmethod
    def _pump(source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def stop(self):
        self._is_open.set()
        self._listener.close()
        return []
