# SPDX-License-Identifier: Apache-2.0
"""D-Bus connection that needs only Python's standard library, so that the probe runs anywhere.

Types are kept: a variant is a pair (signature, value), and every message includes its body's signature. Received
messages keep their order, including that of replies and signals, because the recordings depend on it.
"""

import os
import re
import socket
import struct
import time

CALL, RETURN, ERROR, SIGNAL = 1, 2, 3, 4
FIXED = {"y": "B", "b": "I", "n": "h", "q": "H", "i": "i", "u": "I", "x": "q", "t": "Q", "d": "d"}
ALIGNMENT = {"y": 1, "b": 4, "n": 2, "q": 2, "i": 4, "u": 4, "x": 8, "t": 8, "d": 8, "s": 4, "o": 4, "g": 1, "a": 4,
             "(": 8, "{": 8, "v": 1}


class Refused(Exception):
    """A D-Bus error."""

    def __init__(self, name, text):
        super().__init__(f"{name}: {text}")
        self.name, self.text = name, text


def types(signature):
    """Returns the single complete types of a signature."""
    found, at = [], 0
    while at < len(signature):
        start = at
        while signature[at] == "a":
            at += 1
        if signature[at] in "({":
            depth = 0
            while True:
                depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(signature[at], 0)
                at += 1
                if depth == 0:
                    break
        else:
            at += 1
        found.append(signature[start:at])
    return found


class Writer:
    def __init__(self):
        self.data = bytearray()

    def align(self, size):
        self.data += bytes(-len(self.data) % size)

    def put(self, kind, value):
        first = kind[0]
        self.align(ALIGNMENT[first])
        if first in FIXED:
            self.data += struct.pack("<" + FIXED[first], value)
        elif first in "so":
            text = value.encode()
            self.data += struct.pack("<I", len(text)) + text + b"\0"
        elif first == "g":
            self.data += bytes([len(value)]) + value.encode() + b"\0"
        elif first == "v":
            self.put("g", value[0])
            self.put(*value)
        elif first in "({":
            for inner, one in zip(types(kind[1:-1]), value):
                self.put(inner, one)
        else:
            at = len(self.data)
            self.data += bytes(4)
            self.align(ALIGNMENT[kind[1]])
            start = len(self.data)
            for one in value.items() if kind[1] == "{" else value:
                self.put(kind[1:], one)
            self.data[at:at + 4] = struct.pack("<I", len(self.data) - start)


class Reader:
    def __init__(self, data, order):
        self.data, self.order, self.at = data, order, 0

    def align(self, size):
        self.at += -self.at % size

    def number(self, code):
        size = struct.calcsize(code)
        self.at += size
        return struct.unpack_from(self.order + code, self.data, self.at - size)[0]

    def text(self, length):
        self.at += length + 1
        return self.data[self.at - length - 1:self.at - 1].decode()

    def get(self, kind):
        first = kind[0]
        self.align(ALIGNMENT[first])
        if first in FIXED:
            value = self.number(FIXED[first])
            return bool(value) if first == "b" else value
        if first in "so":
            return self.text(self.number("I"))
        if first == "g":
            return self.text(self.number("B"))
        if first == "v":
            inner = self.get("g")
            return (inner, self.get(inner))
        if first in "({":
            return tuple(self.get(inner) for inner in types(kind[1:-1]))
        length = self.number("I")
        self.align(ALIGNMENT[kind[1]])
        end, values = self.at + length, []
        while self.at < end:
            values.append(self.get(kind[1:]))
        return dict(values) if kind[1] == "{" else values


class Message:
    def __init__(self, kind, fields, signature, body, flags=0, serial=0):
        self.kind, self.signature, self.body, self.flags, self.serial = kind, signature, body, flags, serial
        self.path, self.interface, self.member = fields.get(1, ""), fields.get(2, ""), fields.get(3, "")
        self.error, self.answers, self.sender = fields.get(4, ""), fields.get(5, 0), fields.get(7, "")
        self.time = time.monotonic()


class Bus:
    """A connection; `serve` handles calls of others, and `log` holds every received message."""

    def __init__(self, address=None):
        address = address or os.environ.get("DBUS_SYSTEM_BUS_ADDRESS") or "unix:path=/run/dbus/system_bus_socket"
        path = re.search(r"unix:path=([^,;]+)", address)[1]
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.socket.sendall(b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\n")
        line = self.socket.recv(4096)
        if not line.startswith(b"OK"):
            raise OSError(f"expected OK from the bus; found {line!r}")
        self.socket.sendall(b"BEGIN\r\n")
        self.buffer, self.serial, self.log = b"", 0, []
        self.serve = lambda call: None
        self.name = self.call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello")[0]

    def close(self):
        self.socket.close()

    def send(self, kind, fields, signature="", body=()):
        self.serial += 1
        content = Writer()
        for one, value in zip(types(signature), body):
            content.put(one, value)
        if signature:
            fields = {**fields, 8: ("g", signature)}
        message = Writer()
        for one, value in zip("yyyyuu", (ord("l"), kind, 0, 1, len(content.data), self.serial)):
            message.put(one, value)
        message.put("a(yv)", list(fields.items()))
        message.align(8)
        self.socket.sendall(bytes(message.data + content.data))
        return self.serial

    def receive(self, until):
        """Returns the next message, or None after `until`."""
        while True:
            message = self.take()
            if message:
                return message
            left = until - time.monotonic()
            if left <= 0:
                return None
            self.socket.settimeout(left)
            try:
                data = self.socket.recv(65536)
            except TimeoutError:
                return None
            finally:
                self.socket.settimeout(None)
            if not data:
                raise OSError("the bus closed the connection")
            self.buffer += data

    def take(self):
        if len(self.buffer) < 16:
            return None
        order = "<" if self.buffer[:1] == b"l" else ">"
        length, serial, header = struct.unpack_from(order + "III", self.buffer, 4)
        start = 16 + header + -header % 8
        if len(self.buffer) < start + length:
            return None
        reader = Reader(self.buffer[:start + length], order)
        reader.at = 12
        fields = {code: value for code, (_, value) in reader.get("a(yv)")}
        reader.align(8)
        body = Reader(self.buffer[start:start + length], order)
        signature = fields.get(8, "")
        kind, flags = self.buffer[1], self.buffer[2]
        message = Message(kind, fields, signature, [body.get(one) for one in types(signature)], flags, serial)
        self.buffer = self.buffer[start + length:]
        return message

    def step(self, until):
        """Receives one message; returns None after `until`."""
        message = self.receive(until)
        if message:
            self.log.append(message)
            if message.kind == CALL:
                self.answer(message)
        return message

    def answer(self, call):
        fields = {5: ("u", call.serial), 6: ("s", call.sender)}
        try:
            signature, body = self.serve(call) or ("", ())
            self.send(RETURN, fields, signature, body)
        except Refused as refusal:
            self.send(ERROR, {**fields, 4: ("s", refusal.name)}, "s", (refusal.text,))

    def start(self, destination, path, interface, member, signature="", body=()):
        fields = {1: ("o", path), 3: ("s", member), 6: ("s", destination)}
        if interface:
            fields[2] = ("s", interface)
        return self.send(CALL, fields, signature, body)

    def call(self, destination, path, interface, member, signature="", body=(), patience=30):
        """Returns the values of the reply; raises `Refused` for an error."""
        serial = self.start(destination, path, interface, member, signature, body)
        until = time.monotonic() + patience
        while True:
            message = self.step(until)
            if message is None:
                raise TimeoutError(f"no reply to {member} in {patience} s")
            if message.answers == serial and message.kind == RETURN:
                return message.body
            if message.answers == serial and message.kind == ERROR:
                raise Refused(message.error, message.body[0] if message.body else "")

    def match(self, rule):
        self.call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "AddMatch", "s", (rule,))

    def emit(self, path, interface, member, signature, body):
        self.send(SIGNAL, {1: ("o", path), 2: ("s", interface), 3: ("s", member)}, signature, body)

    def listen(self, seconds, done=lambda message: False):
        """Receives messages for so many seconds, or until `done` is true for one."""
        until = time.monotonic() + seconds
        while True:
            message = self.step(until)
            if message is None:
                return None
            if done(message):
                return message
