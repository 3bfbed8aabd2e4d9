# SPDX-License-Identifier: Apache-2.0
"""Client of org.bluez that records received messages in order, and the initial state for each point."""

import re
import time

from bus import CALL, ERROR, RETURN, SIGNAL, Bus, Refused

BLUEZ, ADAPTER, DEVICE = "org.bluez", "org.bluez.Adapter1", "org.bluez.Device1"
MANAGER, ADVERT = "org.bluez.LEAdvertisingManager1", "org.bluez.LEAdvertisement1"
PROPERTIES, OBJECTS = "org.freedesktop.DBus.Properties", "org.freedesktop.DBus.ObjectManager"
SCANNER, SENDER = "/org/bluez/hci0", "/org/bluez/hci1"
FIDO = "0000fff9-0000-1000-8000-00805f9b34fb"
OTHER = "0000180d-0000-1000-8000-00805f9b34fb"
# Values that depend on the machine or the time: only their types are recorded.
PRIVATE = {"Address", "Name", "Alias", "Class", "Modalias", "UUIDs", "RSSI", "Manufacturer", "Version",
           "SupportedInstances", "SupportedFeatures", "SupportedCapabilities", "SupportedSecondaryChannels",
           "SupportedIncludes", "SupportedMonitorTypes", "ExperimentalFeatures", "Roles"}


def harmless(value):
    if isinstance(value, str):
        value = re.sub(r"([0-9A-F]{2}[:_-]){5}[0-9A-F]{2}", "ADDRESS", value)
        return re.sub(r":1\.\d+", "UNIQUE", value)
    if isinstance(value, (list, tuple)):
        return [harmless(one) for one in value]
    return value


def shape(name, variant):
    """Returns a property as signature and value."""
    signature, value = variant
    if isinstance(value, dict):
        return [signature, {harmless(str(key)): shape(name, one) for key, one in sorted(value.items())}]
    return [signature] if name in PRIVATE and name != "UUIDs" else [signature, harmless(value)]


def shapes(properties):
    return {name: shape(name, value) for name, value in sorted(properties.items())}


class Client(Bus):
    """A program on the bus that receives all of bluetoothd's signals."""

    # Seconds without a message after which the service counts as idle.
    settle = 1.0

    def __init__(self):
        super().__init__()
        self.adverts, self.names = {}, {}
        self.serve = self.read
        self.match("type='signal',sender='org.bluez'")
        self.owner = self.call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
                               "GetNameOwner", "s", (BLUEZ,))[0]

    def read(self, call):
        """Serves bluetoothd's calls to an advertisement object."""
        properties = self.adverts.get(call.path)
        if properties is not None and (call.interface, call.member) == (PROPERTIES, "GetAll"):
            return "a{sv}", (properties,)
        if (call.interface, call.member) == (ADVERT, "Release"):
            return "", ()
        raise Refused("org.freedesktop.DBus.Error.UnknownMethod", "No such method.")

    def ask(self, path, interface, member, signature="", body=()):
        return self.call(BLUEZ, path, interface, member, signature, body)

    def outcome(self, path, interface, member, signature="", body=()):
        try:
            return {"answer": harmless(self.ask(path, interface, member, signature, body))}
        except Refused as refusal:
            return {"error": refusal.name, "text": harmless(refusal.text)}

    def mark(self):
        """Returns the beginning of a trace; earlier effects are not part of it."""
        self.call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetId")
        return len(self.log)

    def trace(self, *call, seconds=None, path=None, mark=None):
        """Returns all messages from a call (or a mark) on, in order, once no more are expected."""
        mark = self.mark() if mark is None else mark
        serial = self.start(BLUEZ, *call) if call else 0
        if call:
            self.listen(30, lambda message: message.answers == serial)
        self.listen(self.settle if seconds is None else seconds)
        events = [self.event(message, serial) for message in self.log[mark:] if message.sender == self.owner]
        return [event for event in events if event and (path is None or event.get("path", path).startswith(path))]

    def event(self, message, serial):
        if message.kind == CALL:
            return {"call": f"{message.interface}.{message.member}",
                    "arguments": harmless([str(one) for one in message.body])}
        if message.kind in (RETURN, ERROR) and message.answers == serial:
            return {"answer": harmless(message.body)} if message.kind == RETURN else {
                "error": message.error, "text": harmless(message.body[0])}
        if message.kind != SIGNAL:
            return None
        if message.member == "PropertiesChanged":
            interface, changed, gone = message.body
            return {"path": harmless(message.path), "interface": interface, "changed": shapes(changed),
                    "invalidated": sorted(gone)}
        if message.member == "InterfacesAdded":
            return {"path": harmless(message.body[0]), "added": {
                interface: shapes(values) for interface, values in sorted(message.body[1].items())}}
        if message.member == "InterfacesRemoved":
            return {"path": harmless(message.body[0]), "removed": sorted(message.body[1])}
        return {"signal": message.member}

    def get(self, path, interface, name):
        return self.ask(path, PROPERTIES, "Get", "ss", (interface, name))[0][1]

    def set(self, path, name, value):
        return self.ask(path, PROPERTIES, "Set", "ssv", (ADAPTER, name, value))

    def filter(self, **filters):
        return (SCANNER, ADAPTER, "SetDiscoveryFilter", "a{sv}", (filters,))

    def scan(self, **filters):
        self.ask(*self.filter(Transport=("s", "le"), DuplicateData=("b", True), **filters))
        self.ask(SCANNER, ADAPTER, "StartDiscovery")

    def register(self, path="/advert", **properties):
        """Returns the call that registers an advertisement."""
        self.adverts[path] = properties
        return SENDER, MANAGER, "RegisterAdvertisement", "oa{sv}", (path, {})

    def unregister(self, path="/advert"):
        return SENDER, MANAGER, "UnregisterAdvertisement", "o", (path,)

    def objects(self):
        return self.ask("/", OBJECTS, "GetManagedObjects")[0]

    def devices(self):
        return [path for path, interfaces in self.objects().items() if DEVICE in interfaces]

    def heard(self, seconds, data=None):
        """Returns the first device with an advert of ours that the scanner's signals report, as reported."""
        def fits(message):
            if message.kind != SIGNAL or not (message.path + str(message.body[:1])).count(SCANNER + "/dev_"):
                return False
            properties = (message.body[1].get(DEVICE, {}) if message.member == "InterfacesAdded" else
                          message.body[1] if message.member == "PropertiesChanged" else {})
            service = properties.get("ServiceData", ("", {}))[1].get(FIDO)
            return service is not None and (data is None or list(service[1]) == list(data))
        return self.listen(seconds, fits)


def advert(data=bytes(range(20)), kind="broadcast", **more):
    return {"Type": ("s", kind), "ServiceData": ("a{sv}", {FIDO: ("ay", list(data))}), **more}


class Stage:
    """Clients of one point, which disconnect at its end; the adapters are on, idle and know no device."""

    def __init__(self):
        self.clients = []

    def client(self):
        self.clients.append(Client())
        return self.clients[-1]

    def clear(self):
        for one in self.clients:
            one.close()
        client = Client()
        until = time.monotonic() + 30
        for path in (SCANNER, SENDER):
            while not client.get(path, ADAPTER, "Powered"):
                try:
                    client.set(path, "Powered", ("b", True))
                except Refused:
                    time.sleep(0.2)
                assert time.monotonic() < until, f"{path} cannot be switched on"
            while client.get(path, ADAPTER, "Discovering") or client.get(path, MANAGER, "ActiveInstances"):
                time.sleep(0.1)
                assert time.monotonic() < until, f"{path} does not become idle"
        for device in client.devices():
            client.outcome(device.rpartition("/")[0], ADAPTER, "RemoveDevice", "o", (device,))
        client.close()
