# SPDX-License-Identifier: Apache-2.0
"""The virtual radio: `hybrid-lab air`, a record of all that is said on its bus, and a look at what is advertised."""
import re

from jeepney import DBusAddress, MessageType, new_method_call
from jeepney.io.blocking import open_dbus_connection

from programs import Program
from waiting import Failed

# The lab ends with its command, and `cat` ends when the driver is gone, in whatever way.
COMMAND = ["sh", "-c", 'printf "BUS %s\\n" "$DBUS_SYSTEM_BUS_ADDRESS"; exec cat']
CONTROL = DBusAddress("/org/hybrid/lab/air", bus_name="org.hybrid.Lab", interface="org.hybrid.Lab.Air1")


class Air:
    """A bus with two adapters: hci0 is Chromium's, hci1 the phone's. Neither hears itself, as in life."""

    def __init__(self, programs, folder, waiting):
        self._waiting = waiting
        self.lab = Program("hybrid-lab", [programs.lab, "air", "--no-loopback", "--", *COMMAND],
                           log=folder.path("lab.log"), environment=folder.environment(), pipe_input=True)
        try:
            self.address = waiting.until(
                "hybrid-lab to say the address of its bus",
                lambda: self._found_in(self.lab), 60)
            self._record = Program("dbus-monitor", ["dbus-monitor", "--address", self.address],
                                   log=folder.path("bus.txt"), environment=folder.environment())
        except BaseException:
            self.lab.stop(ask=self.lab.close_input)
            raise
        try:
            waiting.watch(self.lab)
            waiting.watch(self._record)
            waiting.until("dbus-monitor to begin its record", self._record.said, 60)
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
        """How often a method has been called on the bus so far."""
        return len(re.findall(rf"^method call .* member={member}$", self._record.said(), re.MULTILINE))

    def until_browser_knows(self):
        """Returns when Chromium has been told of the adapters.

        It asks twice while it starts: whether there is a Bluetooth service, and then for what there is. Asked for a
        passkey between the two, it takes Bluetooth for off and shows no code, also when it learns better.
        """
        self._waiting.until("Chromium to ask for the Bluetooth adapters",
                            lambda: self.calls("GetManagedObjects") >= 2, 60)
        # What the lab was asked before this, it has answered before this.
        self.adverts()

    def adverts(self):
        """The service data on the air now, in hexadecimal; the record is complete up to here when this returns."""
        asked = self.calls("ActiveAdverts")
        with open_dbus_connection(bus=self.address) as connection:
            reply = connection.send_and_get_reply(new_method_call(CONTROL, "ActiveAdverts"), timeout=60)
        if reply.header.message_type is not MessageType.method_return:
            raise Failed(f"the lab did not tell its adverts: {reply.body}")
        self._waiting.until("dbus-monitor to record what was said on the bus",
                            lambda: self.calls("ActiveAdverts") > asked, 60)
        return reply.body[0]

    def stop(self):
        """Ends the bus; returns what was not in order."""
        complaints = self._record.stop() + self.lab.stop(ask=self.lab.close_input)
        if self.lab.status != 0:
            complaints.append(f"hybrid-lab {self.lab.ending}; its command ended with status 0")
        return complaints
