#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records how an org.bluez service behaves where our programs use it; prints one JSON line for each point.

probe.py [--settle SECONDS] [POINT ...]

Uses the bus of DBUS_SYSTEM_BUS_ADDRESS, or the system bus. Needs two adapters, hci0 and hci1, that receive each other
and that no other program uses; changes their state. Values that differ from run to run (addresses, names, signal
strength) are replaced by a word or by their type, so that the lines of two services can be compared directly.

The exit status is 0 if every point was recorded, and 1 otherwise, with the reason on standard error.
"""

import argparse
import json
import sys
import time
import traceback
import xml.etree.ElementTree

from bus import CALL
from client import ADAPTER, ADVERT, DEVICE, FIDO, MANAGER, OTHER, PROPERTIES, SCANNER, SENDER
from client import Client, Stage, advert, shapes

POINTS = {}


def point(function):
    POINTS[function.__name__.replace("_", " ")] = function
    return function


# Existing objects and members


@point
def objects(stage):
    found = stage.client().objects()
    return {path: sorted(found.get(path, {})) for path in ("/org/bluez", SCANNER)}


@point
def adapter(stage):
    return shapes(stage.client().ask(SCANNER, PROPERTIES, "GetAll", "s", (ADAPTER,))[0])


@point
def advertising_manager(stage):
    return shapes(stage.client().ask(SCANNER, PROPERTIES, "GetAll", "s", (MANAGER,))[0])


@point
def introspection(stage):
    text = stage.client().ask(SCANNER, "org.freedesktop.DBus.Introspectable", "Introspect")[0]
    found = {}
    for interface in xml.etree.ElementTree.fromstring(text).iter("interface"):
        if interface.get("name") not in (ADAPTER, MANAGER):
            continue
        members = [f"{one.get('name')} {one.get('type')} {one.get('access')}" for one in interface.iter("property")]
        for method in interface.iter("method"):
            kinds = {way: "".join(one.get("type") for one in method.iter("arg") if one.get("direction") == way)
                     for way in ("in", "out")}
            members.append(f"{method.get('name')}({kinds['in']}) -> ({kinds['out']})")
        found[interface.get("name")] = sorted(members)
    return found


# Missing objects and members


@point
def strangers(stage):
    client = stage.client()
    return {
        "object": client.outcome("/org/bluez/hci9", ADAPTER, "StartDiscovery"),
        "object's property": client.outcome("/org/bluez/hci9", PROPERTIES, "Get", "ss", (ADAPTER, "Powered")),
        "interface": client.outcome(SCANNER, "org.bluez.Nothing1", "StartDiscovery"),
        "method": client.outcome(SCANNER, ADAPTER, "Fly"),
        "arguments": client.outcome(SCANNER, ADAPTER, "StartDiscovery", "s", ("x",)),
        "no arguments": client.outcome(SCANNER, ADAPTER, "SetDiscoveryFilter"),
        "property": client.outcome(SCANNER, PROPERTIES, "Get", "ss", (ADAPTER, "Nothing")),
        "property's interface": client.outcome(SCANNER, PROPERTIES, "Get", "ss", ("org.bluez.Nothing1", "Powered")),
        "all of no interface": client.outcome(SCANNER, PROPERTIES, "GetAll", "s", ("org.bluez.Nothing1",)),
    }


@point
def setting(stage):
    client = stage.client()

    def set_(name, value, interface=ADAPTER):
        return client.outcome(SCANNER, PROPERTIES, "Set", "ssv", (interface, name, value))
    return {
        "wrong type": set_("Powered", ("s", "on")),
        "read-only": set_("Address", ("s", "x")),
        "discovering": set_("Discovering", ("b", True)),
        "unknown": set_("Nothing", ("s", "x")),
        "unknown interface": set_("Powered", ("b", True), "org.bluez.Nothing1"),
        "unchanged": set_("Powered", ("b", True)),
    }


# Scanning


@point
def filters(stage):
    client = stage.client()
    wanted = {
        "empty": {}, "transport le": {"Transport": ("s", "le")}, "transport bredr": {"Transport": ("s", "bredr")},
        "transport unknown": {"Transport": ("s", "x")}, "transport of wrong type": {"Transport": ("u", 1)},
        "duplicates": {"DuplicateData": ("b", True)}, "duplicates of wrong type": {"DuplicateData": ("s", "x")},
        "unknown": {"Nothing": ("b", True)}, "rssi": {"RSSI": ("n", -80)}, "rssi of wrong type": {"RSSI": ("i", -80)},
        "rssi too high": {"RSSI": ("n", 100)},
        "pathloss": {"Pathloss": ("q", 80)}, "rssi and pathloss": {"RSSI": ("n", -80), "Pathloss": ("q", 80)},
        "uuid": {"UUIDs": ("as", [FIDO])}, "short uuid": {"UUIDs": ("as", ["fff9"])},
        "no uuid": {"UUIDs": ("as", ["x"])}, "uuids of wrong type": {"UUIDs": ("s", FIDO)},
        "pattern": {"Pattern": ("s", "x")}, "discoverable": {"Discoverable": ("b", False)},
    }
    found = {name: client.outcome(*client.filter(**one)) for name, one in wanted.items()}
    found["names"] = sorted(client.ask(SCANNER, ADAPTER, "GetDiscoveryFilters")[0])
    return found


@point
def scan(stage):
    client = stage.client()
    return {
        "stop before": client.outcome(SCANNER, ADAPTER, "StopDiscovery"),
        "start": client.trace(SCANNER, ADAPTER, "StartDiscovery"),
        "start again": client.trace(SCANNER, ADAPTER, "StartDiscovery"),
        "filter": client.trace(*client.filter(Transport=("s", "le"))),
        "stop": client.trace(SCANNER, ADAPTER, "StopDiscovery"),
        "stop again": client.trace(SCANNER, ADAPTER, "StopDiscovery"),
    }


@point
def two_scanners(stage):
    def of_bluez(client):
        return lambda message: message.sender == client.owner
    first, second = stage.client(), stage.client()
    first.scan()
    first.listen(Client.settle)
    found = {"second starts": second.trace(SCANNER, ADAPTER, "StartDiscovery")}
    found["first stops"] = first.trace(SCANNER, ADAPTER, "StopDiscovery")
    found["first asks"] = first.get(SCANNER, ADAPTER, "Discovering")
    second.close()
    found["second leaves"] = [first.event(message, 0) for message in [first.listen(10, of_bluez(first))] if message]
    return found


@point
def uuid_filters(stage):
    listed = {"ServiceUUIDs": ("as", [FIDO])}
    # The first advert ends the wait where one is expected; otherwise the wait covers a radio's slowest report.
    due, silence = 20, 5 * Client.settle
    found = {}
    for name, filters, more, patience in (
        ("none", [{}], {}, due),
        ("another's, advert without list", [{"UUIDs": ("as", [OTHER])}], {}, silence),
        ("ours, advert without list", [{"UUIDs": ("as", [FIDO])}], {}, silence),
        ("ours, advert with list", [{"UUIDs": ("as", [FIDO])}], listed, due),
        ("another's, advert with list", [{"UUIDs": ("as", [OTHER])}], listed, silence),
        ("another's and none", [{"UUIDs": ("as", [OTHER])}, {}], {}, due),
    ):
        sender, clients = stage.client(), [stage.client() for _ in filters]
        for client, filter_ in zip(clients, filters):
            client.scan(**filter_)
        clients[0].listen(Client.settle)
        sender.ask(*sender.register(**advert(**more)))
        found[name] = [bool(client.heard(patience)) for client in clients]
        stage.clear()
        stage.clients = []
    return found


# Advertising


@point
def advert_of_its_own(stage):
    client = stage.client()
    registered = client.trace(*client.register(**advert(MinInterval=("u", 100), MaxInterval=("u", 100))))
    again = client.outcome(*client.register(**advert()))
    # Effects may arrive before the next call.
    mark = client.mark()
    client.emit("/advert", PROPERTIES, "PropertiesChanged", "sa{sv}as", (
        ADVERT, {"ServiceData": ("a{sv}", {FIDO: ("ay", [7] * 20)})}, []))
    client.listen(10, lambda message: message.kind == CALL and message.member == "Set")
    changed = client.trace(mark=mark)
    unregistered = client.trace(*client.unregister())
    return {"registered": registered, "registered again": again, "changed": changed, "unregistered": unregistered,
            "unregistered again": client.outcome(*client.unregister())}


@point
def advert_that_is_refused(stage):
    client = stage.client()
    wanted = {
        "no type": {"ServiceData": advert()["ServiceData"]}, "unknown type": advert(kind="beacon"),
        "type of wrong type": advert(Type=("u", 1)), "nothing but a type": {"Type": ("s", "broadcast")},
        "service data of wrong type": advert(ServiceData=("s", "x")),
        "bytes of wrong type": advert(ServiceData=("a{sv}", {FIDO: ("s", "x")})),
        "uuid that is none": advert(ServiceData=("a{sv}", {"x": ("ay", [1])})),
        "uuid in four digits": advert(ServiceData=("a{sv}", {"fff9": ("ay", [1])})),
        "uuids of wrong type": advert(ServiceUUIDs=("s", FIDO)),
        "uuids that are none": advert(ServiceUUIDs=("as", ["x"])),
        "manufacturer of wrong type": advert(ManufacturerData=("s", "x")),
        "name of wrong type": advert(LocalName=("u", 1)),
        "shortest above longest interval": advert(MinInterval=("u", 200), MaxInterval=("u", 100)),
        "interval of wrong type": advert(MinInterval=("s", "x"), MaxInterval=("u", 100)),
        "interval too short": advert(MinInterval=("u", 1), MaxInterval=("u", 1)),
        "shortest interval alone": advert(MinInterval=("u", 100)),
        "unknown property": advert(Nothing=("s", "x")),
        "discoverable broadcast": advert(Discoverable=("b", True)),
    }
    found = tries(client, wanted)
    path = (SENDER, MANAGER, "RegisterAdvertisement")
    found["no object"] = client.outcome(*path, "oa{sv}", ("/none", {}))
    found["no path"] = client.outcome(*path, "sa{sv}", ("/advert", {}))
    found["unregister another's"] = client.outcome(*client.unregister("/other"))
    return found


@point
def advert_lengths(stage):
    """Needs a controller that accepts 31 bytes: a virtual one that reports 251 crashes on them."""
    client = stage.client()
    manager = client.ask(SENDER, PROPERTIES, "GetAll", "s", (MANAGER,))[0]
    # Older services do not forward it.
    if manager.get("SupportedCapabilities", ("", {}))[1].get("MaxAdvLen", ("y", 31))[1] != 31:
        return None
    listed = {"ServiceUUIDs": ("as", [FIDO])}
    return tries(client, {
        "31 bytes": advert(bytes(27)), "32 bytes in one field": advert(bytes(28)), "258 bytes": advert(bytes(254)),
        "31 bytes of a peripheral": advert(bytes(27), "peripheral"),
        "31 bytes in two fields": advert(bytes(23), **listed), "32 bytes in two fields": advert(bytes(24), **listed),
    })


def tries(client, wanted):
    """Records the result of registering each of these."""
    found = {}
    for name, properties in wanted.items():
        found[name] = client.outcome(*client.register(**properties))
        if "answer" in found[name]:
            client.ask(*client.unregister())
    return found


@point
def advertising_slots(stage):
    client = stage.client()
    free = client.get(SENDER, MANAGER, "SupportedInstances")
    taken, refusal = 0, None
    while refusal is None and taken < 40:
        found = client.outcome(*client.register(f"/advert{taken}", **advert()))
        if "error" in found:
            refusal = found
        else:
            taken += 1
    client.listen(Client.settle)
    counts = [client.get(SENDER, MANAGER, name) for name in ("ActiveInstances", "SupportedInstances")]
    client.close()
    other = stage.client()
    until = time.monotonic() + 10
    while other.get(SENDER, MANAGER, "ActiveInstances") and time.monotonic() < until:
        time.sleep(0.1)
    return {"as many as told": taken == free, "refusal": refusal, "left": counts[1], "all active": counts[0] == taken,
            "after the owner left": other.get(SENDER, MANAGER, "SupportedInstances") == free}


# Devices


@point
def device(stage):
    found = {}
    for name, properties in (
        ("broadcast", advert()), ("peripheral", advert(kind="peripheral")),
        ("with list", advert(ServiceUUIDs=("as", [FIDO]))),
    ):
        sender, client = stage.client(), stage.client()
        client.scan()
        client.listen(Client.settle)
        sender.ask(*sender.register(**properties))
        heard = client.heard(10)
        found[name] = client.event(heard, 0) if heard else None
        if heard and name == "broadcast":
            path = heard.body[0]
            found["in the adapter's tree"] = path.startswith(SCANNER + "/dev_")
            found["path is of the address"] = path.rpartition("dev_")[2].replace("_", ":") == (
                client.get(path, DEVICE, "Address"))
            sender.ask(*sender.unregister())
            client.listen(Client.settle)
            found["is removed"] = client.trace(SCANNER, ADAPTER, "RemoveDevice", "o", (path,), path="/")[:2]
            found["is removed again"] = client.outcome(SCANNER, ADAPTER, "RemoveDevice", "o", (path,))
        if heard and name == "with list":
            found["scan ends"] = [event for event in client.trace(SCANNER, ADAPTER, "StopDiscovery", path=SCANNER)
                                  if "changed" not in event or event["invalidated"] or ADAPTER in event["interface"]]
            found["known without scan"] = bool(client.devices())
        stage.clear()
        stage.clients = []
    return found


@point
def repetition(stage):
    """Records the signals for a repeated advert; the controllers must report it more than once."""
    found = {}
    for name, duplicates in (("with duplicates", True), ("without", False)):
        sender, client = stage.client(), stage.client()
        client.ask(*client.filter(Transport=("s", "le"), DuplicateData=("b", duplicates)))
        client.ask(SCANNER, ADAPTER, "StartDiscovery")
        client.listen(Client.settle)
        sender.ask(*sender.register(**advert(MinInterval=("u", 100), MaxInterval=("u", 100))))
        if not client.heard(10):
            return None
        told = client.listen(5, lambda message: message.member == "PropertiesChanged" and "/dev_" in message.path)
        found[name] = client.event(told, 0) if told else None
        stage.clear()
        stage.clients = []
    return found


@point
def new_data(stage):
    sender, client = stage.client(), stage.client()
    client.scan()
    client.listen(Client.settle)
    sender.ask(*sender.register(**advert()))
    first = client.heard(10)
    sender.adverts["/advert"] = advert([9] * 20)
    sender.emit("/advert", PROPERTIES, "PropertiesChanged", "sa{sv}as", (
        ADVERT, {"ServiceData": sender.adverts["/advert"]["ServiceData"]}, []))
    sender.listen(Client.settle)
    second = client.heard(10, [9] * 20)
    return {"first": bool(first), "second": client.event(second, 0) if second else None}


@point
def device_that_goes(stage):
    sender, client = stage.client(), stage.client()
    client.scan()
    client.listen(Client.settle)
    sender.ask(*sender.register(**advert()))
    if not client.heard(10):
        return None
    sender.close()
    started = time.monotonic()
    gone = client.listen(60, lambda message: message.member == "InterfacesRemoved")
    print(f"probe: a device was removed {time.monotonic() - started:.0f} s after its advert", file=sys.stderr)
    return client.event(gone, 0) if gone else None


# Power


@point
def power_off_while_scanning(stage):
    client, other = stage.client(), stage.client()
    client.scan()
    client.listen(Client.settle)
    found = {"off": client.trace(SCANNER, PROPERTIES, "Set", "ssv", (ADAPTER, "Powered", ("b", False)),
                                 seconds=2 * Client.settle)}
    found["then"] = {
        "stop": client.outcome(SCANNER, ADAPTER, "StopDiscovery"),
        "start": client.outcome(SCANNER, ADAPTER, "StartDiscovery"),
        "filter": client.outcome(*client.filter(Transport=("s", "le"))),
        "other starts": other.outcome(SCANNER, ADAPTER, "StartDiscovery"),
    }
    found["on"] = client.trace(SCANNER, PROPERTIES, "Set", "ssv", (ADAPTER, "Powered", ("b", True)),
                               seconds=3 * Client.settle)
    found["scans again"] = client.get(SCANNER, ADAPTER, "Discovering")
    return found


@point
def power_off_while_advertising(stage):
    client = stage.client()
    client.ask(*client.register(**advert()))
    client.listen(Client.settle)
    found = {"off": client.trace(SENDER, PROPERTIES, "Set", "ssv", (ADAPTER, "Powered", ("b", False)),
                                 seconds=2 * Client.settle)}
    found["active"] = client.get(SENDER, MANAGER, "ActiveInstances")
    found["register"] = client.outcome(*client.register("/second", **advert()))
    if "answer" in found["register"]:
        client.outcome(*client.unregister("/second"))
    found["on"] = client.trace(SENDER, PROPERTIES, "Set", "ssv", (ADAPTER, "Powered", ("b", True)),
                               seconds=2 * Client.settle)
    found["active again"] = client.get(SENDER, MANAGER, "ActiveInstances")
    found["unregister"] = client.outcome(*client.unregister())
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--settle", type=float, default=Client.settle, help="seconds without a message that count as "
                                                                            "idle")
    parser.add_argument("points", nargs="*", help=f"points, of: {', '.join(POINTS)}")
    options = parser.parse_args()
    Client.settle, failed = options.settle, 0
    for name, function in POINTS.items():
        if options.points and name not in options.points:
            continue
        stage = Stage()
        try:
            stage.clear()
            found = function(stage)
            print(json.dumps({"point": name, "found": found}, sort_keys=True), flush=True)
        except Exception:
            failed = 1
            print(f"probe: {name} was not recorded", file=sys.stderr)
            traceback.print_exc()
        finally:
            for client in stage.clients:
                client.close()
    return failed


if __name__ == "__main__":
    sys.exit(main())
