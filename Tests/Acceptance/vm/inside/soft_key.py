# SPDX-License-Identifier: Apache-2.0
"""A second security key, in software, with /dev/uhid: ES256, keys in memory, no PIN; it runs until it is killed.

It signs at once, as a key that the user touches, but a request for a touch alone is never answered: the user wants the
other key.
"""
import hashlib
import os
import select
import struct

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from fido2 import cbor

CREATE2, INPUT2, OUTPUT = 11, 12, 6
DESCRIPTOR = bytes.fromhex("06d0f10901a1010920150026ff007508954081020921150026ff00750895409102c0")
PING, INIT, CBOR, CANCEL, KEEPALIVE = 0x81, 0x86, 0x90, 0x91, 0xBB
MAKE, GET, INFO = 1, 2, 4
CANCELLED, NO_CREDENTIALS, INVALID_COMMAND = b"\x2d", b"\x2e", b"\x01"
TOUCH = (".dummy", "make.me.blink", "localhost")


class SoftKey:
    def __init__(self):
        self._device = os.open("/dev/uhid", os.O_RDWR)
        self._keys, self._channels = {}, 1
        # The channel of a request for a touch.
        self._waiting = None
        os.write(self._device, struct.pack("<I128s64s64sHHIIII", CREATE2, b"Soft key", b"soft", b"soft", len(DESCRIPTOR), 3,
                                           0x1209, 0xF1D0, 1, 0) + DESCRIPTOR)

    def run(self):
        messages = {}
        while True:
            if not select.select([self._device], [], [], 0.1 if self._waiting else None)[0]:
                self._send(self._waiting, KEEPALIVE, b"\2")
                continue
            event = os.read(self._device, 4380)
            if struct.unpack_from("<I", event)[0] != OUTPUT:
                continue
            # The report number precedes each report.
            report = event[5:69]
            channel, command = report[:4], report[4]
            if command & 0x80:
                messages[channel] = [command, int.from_bytes(report[5:7], "big"), report[7:]]
            elif channel in messages:
                messages[channel][2] += report[5:]
            command, length, data = messages.get(channel, (0, 1, b""))
            if len(data) >= length:
                del messages[channel]
                self._message(channel, command, data[:length])

    def _send(self, channel, command, data):
        reports, rest = [channel + bytes([command]) + len(data).to_bytes(2, "big") + data[:57]], data[57:]
        while rest:
            reports.append(channel + bytes([len(reports) - 1]) + rest[:59])
            rest = rest[59:]
        for report in reports:
            os.write(self._device, struct.pack("<IH", INPUT2, 64) + report.ljust(64, b"\0"))

    def _message(self, channel, command, data):
        if command == INIT:
            self._channels += 1
            self._send(channel, INIT, data + self._channels.to_bytes(4, "big") + b"\2\1\0\0\x0c")
        elif command == PING:
            self._send(channel, PING, data)
        elif command == CANCEL and self._waiting == channel:
            self._waiting = None
            self._send(channel, CBOR, CANCELLED)
        elif command == CBOR:
            answer = self._answer(data[0], cbor.decode(data[1:]) if data[1:] else {})
            if answer is None:
                self._waiting = channel
            else:
                self._send(channel, CBOR, answer)

    def _answer(self, command, request):
        """Returns status and response; None if the user is to touch this key."""
        if command == INFO:
            return b"\0" + cbor.encode({1: ["FIDO_2_0"], 3: bytes(16), 4: {"rk": False, "up": True}, 5: 1200})
        if command == MAKE:
            return None if request[2]["id"] in TOUCH else self._create(request)
        if command == GET:
            return self._sign(request)
        return INVALID_COMMAND

    def _create(self, request):
        key, identifier = ec.generate_private_key(ec.SECP256R1()), os.urandom(32)
        self._keys[identifier] = key
        numbers = key.public_key().public_numbers()
        point = {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32, "big"), -3: numbers.y.to_bytes(32, "big")}
        data = (hashlib.sha256(request[2]["id"].encode()).digest() + b"\x41" + bytes(4) + bytes(16)
                + len(identifier).to_bytes(2, "big") + identifier + cbor.encode(point))
        signature = key.sign(data + request[1], ec.ECDSA(hashes.SHA256()))
        return b"\0" + cbor.encode({1: "packed", 2: data, 3: {"alg": -7, "sig": signature}})

    def _sign(self, request):
        for descriptor in request.get(3, []):
            if key := self._keys.get(descriptor["id"]):
                flags = b"\1" if request.get(5, {}).get("up", True) else b"\0"
                data = hashlib.sha256(request[1].encode()).digest() + flags + bytes(3) + b"\1"
                signature = key.sign(data + request[2], ec.ECDSA(hashes.SHA256()))
                return b"\0" + cbor.encode({1: {"id": descriptor["id"], "type": "public-key"}, 2: data, 3: signature})
        return NO_CREDENTIALS


SoftKey().run()
