# SPDX-License-Identifier: Apache-2.0
"""What bluetoothd says of its adapters, and what a superuser does to it and to them."""
import subprocess

import dbus

from waiting import Failed, poll

SERVICE, ADAPTER, DEVICE = "org.bluez", "org.bluez.Adapter1", "org.bluez.Device1"
ADVERTISING = "org.bluez.LEAdvertisingManager1"
PROPERTIES = "org.freedesktop.DBus.Properties"
ADAPTERS = ("hci0", "hci1", "hci2")
# The service data of an advert of a phone.
PASSKEY_DATA = "0000fff9-0000-1000-8000-00805f9b34fb"


class BlueZ:
    """bluetoothd, over the system bus."""

    def __init__(self, waiting):
        self._waiting = waiting
        self._bus = dbus.SystemBus()

    def _call(self, path, interface, member, signature="", arguments=()):
        return self._bus.call_blocking(SERVICE, path, interface, member, signature, arguments, timeout=10)

    def get(self, adapter, interface, name):
        """A property of an adapter; None while there is no adapter or no bluetoothd."""
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
        """The devices that some adapter has a link to, by their paths."""
        objects = self._call("/", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")
        return [str(path) for path, interfaces in objects.items() if interfaces.get(DEVICE, {}).get("Connected")]

    def remembered(self, adapter):
        """The passkey adverts that bluetoothd keeps from earlier scans of an adapter, by the device's path."""
        objects = self._call("/", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")
        kept = {}
        for path, interfaces in objects.items():
            data = interfaces.get(DEVICE, {}).get("ServiceData", {})
            if path.startswith(f"/org/bluez/{adapter}/") and PASSKEY_DATA in data:
                kept[str(path)] = bytes(data[PASSKEY_DATA])
        return kept

    def adverts(self, adapter):
        """How many adverts an adapter sends."""
        count = self.get(adapter, ADVERTISING, "ActiveInstances")
        return None if count is None else int(count)

    def slots(self, adapter):
        """How many adverts it could send besides."""
        return int(self.get(adapter, ADVERTISING, "SupportedInstances"))

    def is_scanning(self, adapter):
        return bool(self.get(adapter, ADAPTER, "Discovering"))

    @property
    def is_old(self):
        """Whether it is BlueZ 5.66 or older.

        Its virtual radios do not repeat an advert, and bluetoothd takes no interval for one unless it is started with
        --experimental.
        """
        return [int(part) for part in run("bluetoothctl --version").split()[-1].split(".")] <= [5, 66]

    def reload_bus(self):
        """Makes the bus read its policy again."""
        self._bus.call_blocking("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
                                "ReloadConfig", "", ())

    @property
    def are_on(self):
        return all(self.get(adapter, ADAPTER, "Powered") for adapter in ADAPTERS)

    def expect_silence(self):
        """No advert and no scan may be left; bluetoothd learns of a program's end a moment after it."""
        def left():
            return [f"{adapter} sends" for adapter in ADAPTERS if self.adverts(adapter)] + [
                f"{adapter} scans" for adapter in ADAPTERS if self.is_scanning(adapter)]

        try:
            self._waiting.until("silence on the air", lambda: not left(), 10)
        except Failed:
            raise Failed(f"left on the air: {', '.join(left())}") from None

    def expect_still_scanning(self, adapter):
        """A scan of another program's goes on after the end of ours, which bluetoothd may take a moment to hear of."""
        if poll(lambda: not self.is_scanning(adapter), 3, pause=0.1):
            raise Failed("our end has ended the scan of another program")

    def service(self, what):
        """`start` or `stop`; a stop returns when bluetoothd has gone."""
        run(f"/usr/lib/guest/bluetoothd {what}")

    def radios(self, what):
        """`start` plugs all adapters in, `stop` out."""
        run(f"/usr/lib/guest/radios {what}")
        if what == "stop":
            self._waiting.until("all adapters to be gone", lambda: self.get("hci0", ADAPTER, "Powered") is None, 20)

    def evidence(self, folder, case):
        """Keeps what kernel, radios and bluetoothd have said; returns which of the latter two crashed, if one has."""
        run(f"dmesg >{folder}/{case}.dmesg; cat /run/bluetoothd.log >{folder}/{case}.bluetoothd; "
            f"cat /run/radios.log >{folder}/{case}.radios")
        crashes = subprocess.run(["grep", "segfault", f"{folder}/{case}.dmesg"], capture_output=True, text=True,
                                 check=False).stdout
        return f"; crashed: {crashes.strip()}" if crashes else ""

    def recover(self):
        """Whatever a case did: service, adapters and power as at first."""
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
                        pass  # Busy; it is looked at again.
            return self.are_on

        self._waiting.until("all adapters to be on", on, 60, pause=0.2)


def run(line):
    """A line for the shell, which must succeed."""
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        raise Failed(f"{line}: {done.stderr.strip() or done.stdout.strip() or done.returncode}")
    return done.stdout
