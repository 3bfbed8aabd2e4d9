# SPDX-License-Identifier: Apache-2.0
"""State of bluetoothd's adapters, and a superuser's operations on the service and on them."""
import subprocess

import dbus

from harness.waiting import Failed, poll

SERVICE, ADAPTER, DEVICE = "org.bluez", "org.bluez.Adapter1", "org.bluez.Device1"
ADVERTISING = "org.bluez.LEAdvertisingManager1"
PROPERTIES = "org.freedesktop.DBus.Properties"
ADAPTERS = ("hci0", "hci1", "hci2")
# The service data of a phone's advert.
PASSKEY_DATA = "0000fff9-0000-1000-8000-00805f9b34fb"


class BlueZ:
    """bluetoothd, over the system bus."""

    def __init__(self, waiting):
        self._waiting = waiting
        self._bus = dbus.SystemBus()

    def _call(self, path, interface, member, signature="", arguments=()):
        return self._bus.call_blocking(SERVICE, path, interface, member, signature, arguments, timeout=10)

    def get(self, adapter, interface, name):
        """Returns a property of an adapter; None while there is no adapter or no bluetoothd."""
        try:
            return self._call(f"/org/bluez/{adapter}", PROPERTIES, "Get", "ss", (interface, name))
        except dbus.DBusException:
            return None

    def switch(self, adapter, powered):
        """Switches an adapter on or off."""
        value = dbus.Boolean(powered, variant_level=1)
        self._call(f"/org/bluez/{adapter}", PROPERTIES, "Set", "ssv", (ADAPTER, "Powered", value))

    def address(self, adapter):
        return str(self.get(adapter, ADAPTER, "Address"))

    def links(self):
        """Returns the paths of devices with a link to any adapter."""
        objects = self._call("/", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")
        return [str(path) for path, interfaces in objects.items() if interfaces.get(DEVICE, {}).get("Connected")]

    def remembered(self, adapter):
        """Returns the passkey adverts that bluetoothd keeps from an adapter's earlier scans, by the device's path."""
        objects = self._call("/", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")
        kept = {}
        for path, interfaces in objects.items():
            data = interfaces.get(DEVICE, {}).get("ServiceData", {})
            if path.startswith(f"/org/bluez/{adapter}/") and PASSKEY_DATA in data:
                kept[str(path)] = bytes(data[PASSKEY_DATA])
        return kept

    def adverts(self, adapter):
        """Returns the number of adverts that an adapter sends."""
        count = self.get(adapter, ADVERTISING, "ActiveInstances")
        return None if count is None else int(count)

    def slots(self, adapter):
        """Returns the number of free advertising slots."""
        return int(self.get(adapter, ADVERTISING, "SupportedInstances"))

    def is_scanning(self, adapter):
        return bool(self.get(adapter, ADAPTER, "Discovering"))

    @property
    def is_old(self):
        """True for BlueZ 5.66 or older.

        Its virtual controllers do not repeat an advert, and bluetoothd accepts no interval for one unless it is started
        with --experimental.
        """
        return [int(part) for part in run("bluetoothctl --version").split()[-1].split(".")] <= [5, 66]

    def reload_bus(self):
        """Makes the bus reload its policy."""
        self._bus.call_blocking("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
                                "ReloadConfig", "", ())

    @property
    def are_on(self):
        return all(self.get(adapter, ADAPTER, "Powered") for adapter in ADAPTERS)

    def expect_silence(self):
        """Checks that no advert and no scan is left; bluetoothd detects the end of a program with a short delay."""
        def left():
            return [f"{adapter} sends" for adapter in ADAPTERS if self.adverts(adapter)] + [
                f"{adapter} scans" for adapter in ADAPTERS if self.is_scanning(adapter)]

        try:
            self._waiting.until("all adverts and scans to end", lambda: not left(), 10)
        except Failed:
            raise Failed(f"expected no adverts and scans; found {', '.join(left())}") from None

    def expect_still_scanning(self, adapter):
        """Checks that another program's scan outlives ours; bluetoothd may detect our end with a short delay."""
        if poll(lambda: not self.is_scanning(adapter), 3, pause=0.1):
            raise Failed("expected another program's scan to go on; it ended with ours")

    def service(self, what):
        """Runs `start` or `stop`; a stop returns when bluetoothd is gone."""
        run(f"/usr/lib/guest/bluetoothd {what}")

    def radios(self, what):
        """Plugs all adapters in with `start`, out with `stop`."""
        run(f"/usr/lib/guest/radios {what}")
        if what == "stop":
            self._waiting.until("all adapters to be gone", lambda: self.get("hci0", ADAPTER, "Powered") is None, 20)

    def evidence(self, folder, case):
        """Saves the logs of kernel, controllers and bluetoothd; returns which of the latter two crashed, if any."""
        run(f"dmesg >{folder}/{case}.dmesg; cat /run/bluetoothd.log >{folder}/{case}.bluetoothd; "
            f"cat /run/radios.log >{folder}/{case}.radios")
        crashes = subprocess.run(["grep", "segfault", f"{folder}/{case}.dmesg"], capture_output=True, text=True,
                                 check=False).stdout
        return f"; crashed: {crashes.strip()}" if crashes else ""

    def recover(self):
        """Restores service, adapters and power after any case."""
        def is_gone(path):
            with open(path, encoding="ascii") as file:
                return subprocess.run(["kill", "-0", file.read().strip()], stderr=subprocess.DEVNULL,
                                      check=False).returncode != 0

        if is_gone("/run/radios.pid"):
            self.radios("start")
        if is_gone("/run/bluetoothd.pid"):
            self.service("start")
        run("rfkill unblock bluetooth")

        def on():
            for adapter in ADAPTERS:
                if self.get(adapter, ADAPTER, "Powered") == 0:
                    try:
                        self.switch(adapter, True)
                    except dbus.DBusException:
                        pass  # Busy; the next poll tries again.
            return self.are_on

        self._waiting.until("all adapters to be on", on, 60, pause=0.2)


def run(line):
    """Runs a line in the shell; it must succeed."""
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        raise Failed(f"{line}: {done.stderr.strip() or done.stdout.strip() or done.returncode}")
    return done.stdout
