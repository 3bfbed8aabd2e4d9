# SPDX-License-Identifier: Apache-2.0
"""The virtual radio: `hybrid-lab air`, a recording of its bus, and the current adverts."""
import re

from jeepney import DBusAddress, MessageType, new_method_call
from jeepney.io.blocking import open_dbus_connection

from harness.programs import Program
from harness.waiting import Failed

# The lab ends with its command, and `cat` ends with this process, however it ends.
COMMAND = ["sh", "-c", 'printf "BUS %s\\n" "$DBUS_SYSTEM_BUS_ADDRESS"; exec cat']
CONTROL = DBusAddress("/org/hybrid/lab/air", bus_name="org.hybrid.Lab", interface="org.hybrid.Lab.Air1")


class VirtualRadio:
    """A bus with two adapters: hci0 is Chromium's, hci1 the phone's. As with real radios, neither receives itself."""

    def __init__(self, programs, folder, waiting):
        self._waiting = waiting
        self.lab = Program("hybrid-lab", [programs.lab, "air", "--no-loopback", "--", *COMMAND],
                           log=folder.path("lab.log"), environment=folder.environment(), pipe_input=True)
        try:
            self.address = waiting.until(
                "hybrid-lab to print the address of its bus",
                lambda: self._found_in(self.lab), 60)
            self._record = Program("dbus-monitor", ["dbus-monitor", "--address", self.address],
                                   log=folder.path("bus.txt"), environment=folder.environment())
        except BaseException:
            self.lab.stop(ask=self.lab.close_input)
            raise
        try:
            waiting.watch(self.lab)
            waiting.watch(self._record)
            waiting.until("dbus-monitor to start recording", self._record.said, 60)
        except BaseException:
            self.stop()
            raise

    @staticmethod
    def _found_in(lab):
        if lab.status is not None:
            raise Failed(f"hybrid-lab {lab.ending} before it had a bus: {lab.said().strip()}")
        found = re.search(r"^BUS (\S+)$", lab.said(), re.MULTILINE)
        return found and found[1]

    def calls(self, member):
        """Returns how many times a method has been called on the bus."""
        return len(re.findall(rf"^method call .* member={member}$", self._record.said(), re.MULTILINE))

    def until_browser_knows(self):
        """Returns when Chromium knows the adapters.

        Chromium makes two calls at startup: one for the Bluetooth service, one for its objects. If a passkey is
        requested
        between them, it treats Bluetooth as off and shows no code, even once it knows better.
        """
        self._waiting.until("Chromium to request the Bluetooth adapters",
                            lambda: self.calls("GetManagedObjects") >= 2, 60)
        # The lab replies in order, so earlier requests have their replies now.
        self.adverts()

    def adverts(self):
        """Returns the service data of current adverts in hexadecimal; the recording is complete up to here on
        return.
        """
        asked = self.calls("ActiveAdverts")
        with open_dbus_connection(bus=self.address) as connection:
            reply = connection.send_and_get_reply(new_method_call(CONTROL, "ActiveAdverts"), timeout=60)
        if reply.header.message_type is not MessageType.method_return:
            raise Failed(f"the lab did not report its adverts: {reply.body}")
        self._waiting.until("dbus-monitor to record the latest messages",
                            lambda: self.calls("ActiveAdverts") > asked, 60)
        return reply.body[0]

    def set_powered(self, adapter, is_on):
        """Turns an adapter on or off, as the user does in the settings of the desktop."""
        path = DBusAddress(f"/org/bluez/{adapter}", bus_name="org.bluez", interface="org.freedesktop.DBus.Properties")
        call = new_method_call(path, "Set", "ssv", ("org.bluez.Adapter1", "Powered", ("b", is_on)))
        with open_dbus_connection(bus=self.address) as connection:
            reply = connection.send_and_get_reply(call, timeout=60)
        if reply.header.message_type is not MessageType.method_return:
            raise Failed(f"the adapter {adapter} is not turned {'on' if is_on else 'off'}: {reply.body}")

    def stop(self):
        """Ends the bus; returns the errors found."""
        complaints = self._record.stop() + self.lab.stop(ask=self.lab.close_input)
        if self.lab.status != 0:
            complaints.append(f"hybrid-lab {self.lab.ending}; expected status 0, that of its command")
        return complaints
