# SPDX-License-Identifier: Apache-2.0
"""Simulated hybrid-uhid: the device of a hybrid-key, and clients that open it like a hidraw node."""
import os
import queue
import socket
import struct
import threading
import time

from fido2.hid import CtapHidDevice
from fido2.hid.base import CtapHidConnection, HidDescriptor
from harness.waiting import Failed

REPORT = 64
BROADCAST = 0xFFFFFFFF
INIT, KEEPALIVE, ERROR = 0x86, 0xBB, 0xBF
PATIENCE = 60


class Helper:
    """The socket of hybrid-uhid: each connection is a device, and each packet a report of 64 bytes."""

    def __init__(self, path):
        path.parent.mkdir(parents=True)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(str(path))
        self._listener.listen()
        self._listener.setblocking(False)

    def device(self):
        """Returns the device of the next connection, or None if there is none yet."""
        try:
            connection, _ = self._listener.accept()
        except BlockingIOError:
            return None
        connection.setblocking(True)
        return Device(connection)

    def close(self):
        self._listener.close()


class Device:
    """A device that any number of clients have opened: each of them receives all reports, as from a hidraw node."""

    def __init__(self, connection):
        self._connection, self._clients, self._lock = connection, [], threading.Lock()
        self.is_gone = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        while True:
            try:
                packet = self._connection.recv(REPORT + 1)
            except OSError:
                packet = b""
            with self._lock:
                clients = list(self._clients)
            # The end of the connection, or a packet that no helper accepts.
            if len(packet) != REPORT:
                self.is_gone.set()
                for client in clients:
                    client.received.put(None)
                return
            for client in clients:
                client.received.put((time.monotonic(), packet))

    def write(self, report):
        self._connection.send(report)

    def unplug(self):
        """Ends the connection, as the helper does when another user takes over."""
        self._connection.shutdown(socket.SHUT_RDWR)

    def open(self):
        """Returns a new client."""
        client = Client(self)
        with self._lock:
            self._clients.append(client)
        if self.is_gone.is_set():
            client.received.put(None)
        return client

    def fido2(self):
        """Returns python-fido2's device on a channel of its own."""
        return CtapHidDevice(HidDescriptor("simulated", 0, 0, REPORT, REPORT, "key", "1"), self.open())

    def close(self):
        self._connection.close()


class Gone(ConnectionError):
    """The device has disappeared."""


class Client(CtapHidConnection):
    """An open device. Reports of other channels are skipped, as libfido2 and browsers do."""

    def __init__(self, device):
        self._device, self.channel, self.received = device, BROADCAST, queue.Queue()
        # The time of arrival of each keepalive.
        self.keepalives = []

    def read_packet(self, patience=PATIENCE):
        while True:
            try:
                item = self.received.get(timeout=patience)
            except queue.Empty:
                raise Failed(f"waited {patience} s for a report of the key") from None
            if item is None:
                self.received.put(None)
                raise Gone("the device is gone")
            when, packet = item
            channel, command = struct.unpack_from(">IB", packet)
            if channel not in (self.channel, BROADCAST):
                continue
            if command == KEEPALIVE:
                self.keepalives.append(when)
            return packet

    def write_packet(self, data):
        self.channel = struct.unpack_from(">I", data)[0]
        self._device.write(bytes(data))

    def close(self):
        pass

    # MARK: Messages of one report, without a library

    def init(self):
        """Opens a channel."""
        nonce = os.urandom(8)
        reply = self.exchange(INIT, nonce, channel=BROADCAST)
        while reply[:8] != nonce:
            reply = self.receive()[1]
        self.channel = int.from_bytes(reply[8:12], "big")

    def send(self, command, payload=b"", channel=None):
        header = struct.pack(">IBH", self.channel if channel is None else channel, command, len(payload))
        first, rest, sequence = payload[:57], payload[57:], 0
        self.write_packet((header + first).ljust(REPORT, b"\0"))
        while rest:
            self.write_packet((header[:4] + bytes([sequence]) + rest[:59]).ljust(REPORT, b"\0"))
            rest, sequence = rest[59:], sequence + 1

    def receive(self, patience=PATIENCE):
        """Returns the command and the payload of the next message; keepalives are messages, too."""
        packet = self.read_packet(patience)
        command, length = struct.unpack_from(">BH", packet, 4)
        payload, sequence = packet[7:], 0
        while len(payload) < length:
            packet = self.read_packet(patience)
            if packet[4] != sequence:
                raise Failed(f"expected part {sequence} of a message; found {packet[4]:#x}")
            payload, sequence = payload + packet[5:], sequence + 1
        return command, payload[:length]

    def exchange(self, command, payload=b"", channel=None):
        """Sends a message and returns the payload of the reply, which must have the same command."""
        self.send(command, payload, channel)
        found, reply = self.receive()
        if found != command:
            raise Failed(f"expected a reply to {command:#x}; found {found:#x} {reply.hex()}")
        return reply
