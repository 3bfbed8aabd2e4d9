# SPDX-License-Identifier: Apache-2.0
"""A real fprintd with libfprint's virtual device, and other programs on its bus."""
import socket
import sys
from pathlib import Path

from harness.programs import Program
from harness.waiting import Failed, must
from jeepney import DBusAddress, HeaderFields, MatchRule, MessageType, new_method_call, new_signal
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import open_dbus_connection

FPRINTD = "/usr/libexec/fprintd"
NAME = "net.reactivated.Fprint"
MANAGER = DBusAddress("/net/reactivated/Fprint/Manager", bus_name=NAME, interface=f"{NAME}.Manager")
LIMIT = 60


class Sensor:
    """fprintd on the bus of the virtual radio; a file lets its authority deny everything."""

    def __init__(self, env):
        self._env = env
        self.deny = env.folder.scratch / "deny"
        self._socket = env.folder.sockets / "finger"
        self._state = env.folder.scratch / "fprint"
        self._state.mkdir()
        script = Path(__file__).with_name("authority.py")
        self._authority = Program("authority.py", [sys.executable, "-u", script, env.radio.address, self.deny],
                                  log=env.folder.path("authority.log"), environment=env.folder.environment())
        env.waiting.until("the authority to start", lambda: "ready" in self._authority.said(), LIMIT)
        self._fprintd = None
        self.start()

    def start(self):
        """Starts fprintd, again after the first time; enrolled fingers stay."""
        if self._fprintd:
            self._fprintd.stop()
        self._socket.unlink(missing_ok=True)
        self._fprintd = Program(
            "fprintd", [FPRINTD, "-t"], log=self._env.folder.path("fprintd.log"),
            environment=self._env.folder.environment(
                DBUS_SYSTEM_BUS_ADDRESS=self._env.radio.address, FP_VIRTUAL_DEVICE=str(self._socket),
                STATE_DIRECTORY=str(self._state)))
        self._env.waiting.until("fprintd to own its name", self._is_owned, LIMIT)

    def _is_owned(self):
        must(self._fprintd.status is None, f"fprintd {self._fprintd.ending}: {self._fprintd.said()[-500:]}")
        with open_dbus_connection(bus=self._env.radio.address) as bus:
            return bus.send_and_get_reply(message_bus.NameHasOwner(NAME)).body[0]

    def commands(self, *texts):
        """Gives the virtual device commands, one per connection, each when it needs a finger.

        The device loses commands that arrive earlier, such as at the end of the attempt before.
        """
        with self.user() as user:
            for text in texts:
                self._env.waiting.until("the sensor to need a finger", user.is_needed, LIMIT, pause=0.001)
                with socket.socket(socket.AF_UNIX) as connection:
                    connection.settimeout(LIMIT)
                    connection.connect(str(self._socket))
                    connection.sendall(text.encode())
                    connection.shutdown(socket.SHUT_WR)
                    # The device closes the connection after it has handled the command.
                    connection.recv(4096)

    def user(self):
        return SensorUser(self._env)

    def is_free(self):
        """True if the device can be claimed."""
        with self.user() as user:
            if user.call("Claim", "s", ("",)) is not None:
                return False
            # The end of the connection would release the device at some later time.
            user.must("Release")
            return True

    def is_gone(self):
        """True if there is no device, which fprintd notices after it has reported the failure of an attempt."""
        with open_dbus_connection(bus=self._env.radio.address) as bus:
            reply = bus.send_and_get_reply(new_method_call(MANAGER, "GetDefaultDevice"), timeout=LIMIT)
            return reply.header.message_type is MessageType.error

    def enroll(self, finger, name):
        """Enrolls a finger under a name of the virtual device."""
        with self.user() as user:
            user.must("Claim", "s", ("",))
            user.must("EnrollStart", "s", (finger,))
            for _ in range(5):
                self.commands(f"SCAN {name}")
            user.until(lambda status: status == ("enroll-completed", True))
            user.must("EnrollStop")
            user.must("Release")

    def stop(self):
        return self._fprintd.stop() + self._authority.stop()


class SensorUser:
    """Another program that uses the sensor."""

    def __init__(self, env):
        self._env = env
        self.bus = open_dbus_connection(bus=env.radio.address)
        self.bus.send_and_get_reply(message_bus.AddMatch(MatchRule(type="signal", interface=f"{NAME}.Device")))
        path = self.bus.send_and_get_reply(new_method_call(MANAGER, "GetDefaultDevice"), timeout=LIMIT).body[0]
        self.device = DBusAddress(path, bus_name=NAME, interface=f"{NAME}.Device")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.bus.close()

    def call(self, member, signature=None, body=()):
        """Calls a method; returns the name of the error, or None."""
        reply = self.bus.send_and_get_reply(new_method_call(self.device, member, signature, body), timeout=LIMIT)
        if reply.header.message_type is MessageType.error:
            return reply.header.fields[HeaderFields.error_name].rpartition(".")[2]
        return None

    def must(self, member, signature=None, body=()):
        error = self.call(member, signature, body)
        must(error is None, f"expected {member} to succeed; found {error}")

    def is_needed(self):
        """True if the sensor waits for a finger."""
        properties = DBusAddress(self.device.object_path, bus_name=NAME, interface="org.freedesktop.DBus.Properties")
        call = new_method_call(properties, "Get", "ss", (self.device.interface, "finger-needed"))
        return self.bus.send_and_get_reply(call, timeout=LIMIT).body[0][1]

    def until(self, accepts):
        for _ in range(50):
            message = self.bus.receive(timeout=LIMIT)
            if message.header.message_type is MessageType.signal and accepts(tuple(message.body)):
                return
        raise Failed("the expected signal of fprintd did not arrive")

    def forge(self, receiver):
        """Sends a match to a connection, as only fprintd may."""
        address = DBusAddress(self.device.object_path, interface=f"{NAME}.Device")
        signal = new_signal(address, "VerifyStatus", "sb", ("verify-match", True))
        signal.header.fields[HeaderFields.destination] = receiver
        self.bus.send(signal)
