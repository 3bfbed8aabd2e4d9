# SPDX-License-Identifier: Apache-2.0
"""WebSocket end of a tunnel, small and fast enough for ten thousand in one process.

Not taken from a library because it must be able to stop at any point, to stop reading, and to send invalid frames.
"""
import asyncio
import collections
import hashlib
import random
import socket
import struct
import time

from harness.async_waiting import Failed

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
# A constant key, so that the response is known (RFC 6455 §1.3 has both).
KEY, ACCEPT = "dGhlIHNhbXBsZSBub25jZQ==", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
# Sub-protocol of the ends of a tunnel.
TUNNEL = "fido.cable"


class Refused(Failed):
    """The relay responded with a status other than 101; `fields` are the header fields of the response."""

    def __init__(self, status, fields=None):
        super().__init__(f"expected 101 from the relay; found {status}")
        self.status, self.fields = status, fields or {}


class HungUp(Failed):
    """The connection ended before a response."""

    def __init__(self, when):
        super().__init__(f"expected a response; the connection ended first, {when}")


def request(path, *, token=None, protocol=TUNNEL, fields=()):
    """Returns the upgrade request for an end of a tunnel, or for another protocol."""
    more = "".join(f"{name}: {value}\r\n" for name, value in fields)
    if token:
        more += f"Authorization: Bearer {token}\r\n"
    return (f"GET {path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {KEY}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: {protocol}\r\n"
            f"{more}\r\n").encode()


def masked(payload, mask):
    length = len(payload)
    repeated = (mask * (length // 4 + 1))[:length]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(repeated, "big")).to_bytes(length, "big")


def frame_head(length, opcode=BINARY, final=True):
    """Returns a client's frame header up to the mask."""
    first = opcode | (0x80 if final else 0)
    if length < 126:
        return bytes((first, 0x80 | length))
    if length < 1 << 16:
        return struct.pack("!BBH", first, 0x80 | 126, length)
    return struct.pack("!BBQ", first, 0x80 | 127, length)


def frame(payload, opcode=BINARY, final=True):
    """Returns a client's frame with a random mask."""
    mask = random.randbytes(4)
    return frame_head(len(payload), opcode, final) + mask + masked(payload, mask)


def stamp(digest, length):
    """Adds the end of a message to a hash, so that boundaries count as well as bytes."""
    digest.update(length.to_bytes(8, "big"))


class Line(asyncio.Protocol):
    """A connection that stores what it receives."""

    def __init__(self):
        self.transport = None
        self.began = time.monotonic()
        self.heard = bytearray()
        self.over = asyncio.get_running_loop().create_future()
        self._writable = None
        self._is_paused = False

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.heard += data

    def connection_lost(self, error):
        if not self.over.done():
            self.over.set_result(error)
        self.resume_writing()

    @property
    def is_over(self):
        return self.over.done()

    def write(self, data):
        self.transport.write(data)

    def pause_writing(self):
        self._is_paused = True

    def resume_writing(self):
        self._is_paused = False
        if self._writable and not self._writable.done():
            self._writable.set_result(None)

    async def drained(self):
        """Yields, and returns once the socket accepts more or is closed."""
        await asyncio.sleep(0)
        if self._is_paused and not self.is_over:
            self._writable = asyncio.get_running_loop().create_future()
            await self._writable

    @property
    def unsent(self):
        """Number of bytes that the kernel has not accepted."""
        return self.transport.get_write_buffer_size()

    def hang_up(self):
        self.transport.close()

    def reset(self):
        """Closes with RST: with a linger time of 0 the kernel discards all data."""
        raw = self.transport.get_extra_info("socket")
        if raw is not None and not self.is_over:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()


class End(Line):
    """An end of a tunnel: the upgrade response, then messages.

    Both directions are hashed, including message boundaries. With `keeps` set, receive() returns messages.
    """

    def __init__(self, *, stalls=False, keeps=True, protocol=TUNNEL):
        super().__init__()
        self._protocol = protocol
        self.answered = asyncio.get_running_loop().create_future()
        self.fields = {}
        self.sent = hashlib.sha256()
        self.received = hashlib.sha256()
        self.sent_bytes = self.received_bytes = 0
        self.messages = collections.deque()
        self.pongs = 0
        self.last_pong = None
        #: Code of the relay's close frame; 1005 if it had none, None without a close frame.
        self.code = None
        #: A protocol violation by the relay, if any.
        self.fault = None
        self.on_close = self.hang_up
        self._stalls = stalls
        self.keeps = keeps
        self._waiter = None
        self._status = None
        self._rest = b""
        self._opcode = None
        self._is_final = True
        self._missing = 0
        self._control = bytearray()
        self._parts = []
        self._message_length = 0

    # Receiving

    def data_received(self, data):
        if self._status == 101:
            self._frames(data)
            return
        self.heard += data
        end = self.heard.find(b"\r\n\r\n")
        if self._status is not None or end < 0:
            return
        lines = self.heard[:end].decode("latin-1").split("\r\n")
        self.fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        self._status = int(lines[0].split()[1])
        if self._status != 101:
            self._answer(Refused(self._status, self.fields))
        elif self.fields.get("sec-websocket-accept") != ACCEPT or \
                self.fields.get("sec-websocket-protocol") != self._protocol:
            self._answer(Failed(f"expected all fields of the upgrade response; found {lines}"))
        else:
            rest = bytes(self.heard[end + 4:])
            self.heard.clear()
            if self._stalls:
                self.transport.pause_reading()
            self._answer(None)
            self._frames(rest)

    def _answer(self, error):
        if self.answered.done():
            return
        if error:
            self.answered.set_exception(error)
        else:
            self.answered.set_result(None)

    def connection_lost(self, error):
        self._answer(HungUp(f"{time.monotonic() - self.began:.1f} s after it began"))
        super().connection_lost(error)
        self._wake()

    def _wake(self):
        if self._waiter and not self._waiter.done():
            self._waiter.set_result(None)

    def _frames(self, data):
        if self._rest:
            data = self._rest + data
        view = memoryview(data)
        at, end = 0, len(data)
        while at < end:
            if self._missing:
                piece = view[at:at + self._missing]
                at += len(piece)
                self._missing -= len(piece)
                self._take(piece)
                if not self._missing:
                    self._frame_ended()
                continue
            header = self._header(view[at:])
            if not header:
                break
            at += header
            if not self._missing:
                self._frame_ended()
        self._rest = bytes(view[at:])

    def _header(self, view):
        """Reads a server's frame header and returns its length; 0 if it is incomplete."""
        if len(view) < 2:
            return 0
        length = view[1] & 0x7F
        header = {126: 4, 127: 10}.get(length, 2)
        if len(view) < header:
            return 0
        if view[1] & 0x80 or view[0] & 0x70:
            self.fault = f"the relay sent an invalid frame: {bytes(view[:2]).hex()}"
            self.transport.abort()
            return 0
        self._missing = length if header == 2 else int.from_bytes(view[2:header], "big")
        self._opcode, self._is_final = view[0] & 0x0F, bool(view[0] & 0x80)
        return header

    def _take(self, piece):
        if self._opcode >= CLOSE:
            self._control += piece
            return
        self.received.update(piece)
        self.received_bytes += len(piece)
        self._message_length += len(piece)
        if self.keeps:
            self._parts.append(bytes(piece))

    def _frame_ended(self):
        if self._opcode < CLOSE:
            if self._is_final:
                self._message_ended()
            return
        payload = bytes(self._control)
        self._control.clear()
        if self._opcode == PING:
            self.write(frame(payload, PONG))
        elif self._opcode == PONG:
            self.pongs += 1
            self.last_pong = payload
        elif self.code is None:
            self.code = int.from_bytes(payload[:2], "big") if payload else 1005
            self.on_close()

    def _message_ended(self):
        stamp(self.received, self._message_length)
        self._message_length = 0
        if self.keeps:
            self.messages.append(b"".join(self._parts))
            self._parts.clear()
            self._wake()

    # Sending

    def send(self, message):
        """Sends a message in one frame, regardless of the socket's buffer."""
        self.write(frame(message))
        self.note_sent(message)

    def note_sent(self, message):
        """Records a message that was sent in another way."""
        self.sent.update(message)
        stamp(self.sent, len(message))
        self.sent_bytes += len(message)

    async def receive(self):
        while not self.messages:
            if self.is_over:
                raise Failed(f"expected a message; the tunnel ended ({self.ending})")
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        return self.messages.popleft()

    def read_on(self):
        """Resumes reading."""
        if not self.is_over:
            self.transport.resume_reading()

    def say_close(self, code=1000):
        self.write(frame(code.to_bytes(2, "big"), CLOSE))

    async def close_code(self):
        """Waits for the end; returns the close code, or None without a close frame."""
        await asyncio.shield(self.over)
        return self.code

    @property
    def ending(self):
        """End of the connection, for messages."""
        if self.fault:
            return self.fault
        if self.code is not None:
            return f"closed with {self.code}"
        if not self.is_over:
            return "still open"
        return f"cut, {self.over.result() or 'no close frame'}"
