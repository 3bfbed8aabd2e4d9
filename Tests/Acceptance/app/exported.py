# SPDX-License-Identifier: Apache-2.0
"""Prints the actions that a program exports on the session bus, as JSON: exported.py NAME

Runs with Debian's Python, which has the bindings (python3-gi).
"""
import json
import sys

from gi.repository import Gio, GLib


def call(bus, path, interface, method):
    return bus.call_sync(sys.argv[1], path, interface, method, None, None, Gio.DBusCallFlags.NONE, 10_000, None).unpack()


def objects(bus, path):
    """Yields an object of the program and those below it."""
    node = Gio.DBusNodeInfo.new_for_xml(call(bus, path, "org.freedesktop.DBus.Introspectable", "Introspect")[0])
    yield path, [one.name for one in node.interfaces]
    for child in node.nodes:
        yield from objects(bus, path.rstrip("/") + "/" + child.path)


def main():
    bus = Gio.bus_get_sync(Gio.BusType.SESSION, None)
    names = set()
    for path, interfaces in objects(bus, "/"):
        if "org.gtk.Actions" in interfaces:
            try:
                names.update(call(bus, path, "org.gtk.Actions", "List")[0])
            except GLib.Error as error:
                sys.exit(str(error))
    print(json.dumps(sorted(names)))


if __name__ == "__main__":
    main()
