# SPDX-License-Identifier: Apache-2.0
"""WebSocket through a relay."""
import contextlib, socket, ssl

import websockets
from websockets.sync.client import connect

SUBPROTOCOL = "fido.cable"


class TunnelFailed(Exception):
    """The relay refused, or the tunnel ended.

    `code` is the close code or None, `status` and `fields` are those of an HTTP response.
    """

    def __init__(self, words, code=None, status=None, fields=None):
        super().__init__(words)
        self.code, self.status, self.fields = code, status, fields


class Tunnel:
    """One end of a tunnel; carries unmodified binary messages."""

    def __init__(self, host, path, relay, ca, headers=(), origin=None, subprotocol=SUBPROTOCOL):
        address, port = relay.rsplit(":", 1)
        try:
            self.socket = connect(
                f"wss://{host}{path}",
                sock=socket.create_connection((address, int(port)), timeout=30),
                ssl=ssl.create_default_context(cafile=ca),
                server_hostname=host,
                subprotocols=[subprotocol],
                additional_headers=list(headers),
                origin=origin,
                compression=None,
                ping_interval=None,
                proxy=None,
                open_timeout=30,
                close_timeout=5,
                max_size=None,
            )
        except websockets.InvalidStatus as error:
            response = error.response
            raise TunnelFailed(f"no tunnel: {error}", status=response.status_code, fields=response.headers) from None
        except (websockets.WebSocketException, OSError) as error:
            raise TunnelFailed(f"no tunnel: {error}") from None
        if self.socket.subprotocol != subprotocol:
            raise TunnelFailed(f"the relay did not choose {subprotocol}")

    @property
    def routing_id(self):
        """Returns the routing ID from the relay's response: one header field, six digits."""
        values = self.socket.response.headers.get_all("X-caBLE-Routing-ID")
        if len(values) != 1 or len(values[0]) != 6:
            raise TunnelFailed(f"routing IDs: {values}")
        return bytes.fromhex(values[0])

    def send(self, message):
        try:
            self.socket.send(message)
        except websockets.ConnectionClosed as error:
            raise self._failure(error) from None

    def receive(self, timeout=60):
        try:
            message = self.socket.recv(timeout)
        except websockets.ConnectionClosed as error:
            raise self._failure(error) from None
        except TimeoutError:
            raise TunnelFailed(f"nothing came in {timeout} s") from None
        if not isinstance(message, bytes):
            raise TunnelFailed("a text message")
        return message

    def close(self, code=1000):
        self.socket.close(code)

    def drop(self):
        """Cuts the TCP connection, as when a phone's program dies."""
        # The peer may have closed first.
        with contextlib.suppress(OSError):
            self.socket.socket.shutdown(socket.SHUT_RDWR)

    @staticmethod
    def _failure(error):
        code = error.rcvd.code if error.rcvd else 1006
        return TunnelFailed(f"the tunnel ended with {code}", code)
