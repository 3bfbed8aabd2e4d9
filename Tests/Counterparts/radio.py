# SPDX-License-Identifier: Apache-2.0
"""Adverts through BlueZ's D-Bus interface, with one connection on one thread."""
import os, time
from collections import deque
from contextlib import contextmanager

from jeepney import DBusAddress, HeaderFields, MessageType, new_error, new_method_call, new_method_return
from jeepney.io.blocking import open_dbus_connection

FIDO = "0000fff9-0000-1000-8000-00805f9b34fb"
# Older UUID of Google that some phones use.
GOOGLE = "0000fde2-0000-1000-8000-00805f9b34fb"
# Unrelated service of Google that every Android phone advertises.
FAST_PAIRING = "0000fcf1-0000-1000-8000-00805f9b34fb"

BLUEZ = "org.bluez"
ADAPTER = "org.bluez.Adapter1"
DEVICE = "org.bluez.Device1"
ADVERT = "org.bluez.LEAdvertisement1"
ADVERTISER = "org.bluez.LEAdvertisingManager1"
PROPERTIES = "org.freedesktop.DBus.Properties"
OBJECTS = "org.freedesktop.DBus.ObjectManager"
PATIENCE = 30


class RadioFailed(Exception):
    """bluetoothd refused, did not answer, or no advert arrived in time."""


class Radio:
    """Adapter on the bus of DBUS_SYSTEM_BUS_ADDRESS."""

    def __init__(self, adapter="hci0"):
        bus = os.environ.get("DBUS_SYSTEM_BUS_ADDRESS", "SYSTEM")
        self.bus = open_dbus_connection(bus, auth_timeout=PATIENCE)
        self.adapter = f"/org/bluez/{adapter}"
        self.signals = deque()
        self.adverts = {}
        self.last_advert = 0

    def close(self):
        self.bus.close()

    @contextmanager
    def advertising(self, services, kind="broadcast", list_uuids=False):
        """Advertises service data (bytes by UUID) while the body runs."""
        self.last_advert += 1
        path = f"/counterpart/advert{self.last_advert}"
        properties = {
            "Type": ("s", kind),
            "ServiceData": ("a{sv}", {uuid: ("ay", data) for uuid, data in services.items()}),
            "MinInterval": ("u", 100),
            "MaxInterval": ("u", 100),
        }
        if list_uuids:
            properties["ServiceUUIDs"] = ("as", list(services))
        self.adverts[path] = properties
        self._call(self.adapter, ADVERTISER, "RegisterAdvertisement", "oa{sv}", (path, {}))
        try:
            yield
        finally:
            self._call(self.adapter, ADVERTISER, "UnregisterAdvertisement", "o", (path,))
            del self.adverts[path]

    @contextmanager
    def scanning(self):
        """Scans while the body runs."""
        for rule in (
            f"type='signal',sender='{BLUEZ}',interface='{OBJECTS}',member='InterfacesAdded'",
            f"type='signal',sender='{BLUEZ}',interface='{PROPERTIES}',member='PropertiesChanged',arg0='{DEVICE}'",
        ):
            daemon = DBusAddress("/org/freedesktop/DBus", "org.freedesktop.DBus", "org.freedesktop.DBus")
            self._ask(new_method_call(daemon, "AddMatch", "s", (rule,)))
        scan_filter = {"Transport": ("s", "le"), "DuplicateData": ("b", True)}
        self._call(self.adapter, ADAPTER, "SetDiscoveryFilter", "a{sv}", (scan_filter,))
        self._call(self.adapter, ADAPTER, "StartDiscovery")
        try:
            yield
        finally:
            self._call(self.adapter, ADAPTER, "StopDiscovery")

    def heard(self, seconds):
        """Yields received service data, known devices first; raises RadioFailed on time-out."""
        end = time.monotonic() + seconds
        (objects,) = self._call("/", OBJECTS, "GetManagedObjects")
        for path, interfaces in objects.items():
            yield from self._service_data(path, interfaces.get(DEVICE, {}))
        while True:
            while self.signals:
                yield from self._sighting(self.signals.popleft())
            try:
                self._take(self.bus.receive(timeout=max(0, end - time.monotonic())))
            except TimeoutError:
                raise RadioFailed(f"nothing heard in {seconds} s") from None

    def _sighting(self, signal):
        member, body = signal.header.fields[HeaderFields.member], signal.body
        if member == "InterfacesAdded":
            yield from self._service_data(body[0], body[1].get(DEVICE, {}))
        elif member == "PropertiesChanged" and body[0] == DEVICE:
            yield from self._service_data(signal.header.fields[HeaderFields.path], body[1])

    def _service_data(self, path, properties):
        if path.startswith(self.adapter + "/"):
            services = properties.get("ServiceData", ("a{sv}", {}))[1]
            found = {uuid: bytes(data) for uuid, (_, data) in services.items()}
            if found:
                yield found

    def _call(self, path, interface, member, signature=None, body=()):
        return self._ask(new_method_call(DBusAddress(path, BLUEZ, interface), member, signature, body))

    def _ask(self, message):
        """Sends a call and waits for its reply, and serves calls of bluetoothd meanwhile."""
        serial = next(self.bus.outgoing_serial)
        self.bus.send(message, serial=serial)
        end = time.monotonic() + PATIENCE
        while True:
            try:
                answer = self.bus.receive(timeout=max(0, end - time.monotonic()))
            except TimeoutError:
                raise RadioFailed("bluetoothd does not answer") from None
            if answer.header.fields.get(HeaderFields.reply_serial) != serial:
                self._take(answer)
            elif answer.header.message_type is MessageType.error:
                raise RadioFailed(f"{answer.header.fields[HeaderFields.error_name]} {answer.body}")
            else:
                return answer.body

    def _take(self, message):
        if message.header.message_type is MessageType.signal:
            self.signals.append(message)
        elif message.header.message_type is MessageType.method_call:
            self.bus.send(self._answer(message))

    def _answer(self, call):
        fields = call.header.fields
        properties = self.adverts.get(fields[HeaderFields.path])
        if properties is None:
            return new_error(call, "org.freedesktop.DBus.Error.UnknownObject")
        if fields[HeaderFields.member] == "GetAll":
            return new_method_return(call, "a{sv}", (properties if call.body[0] == ADVERT else {},))
        if fields[HeaderFields.member] == "Release":
            return new_method_return(call)
        return new_error(call, "org.freedesktop.DBus.Error.UnknownMethod")
