# SPDX-License-Identifier: Apache-2.0
"""Another program that uses Bluetooth: foreign_device.py WHAT ADAPTER [N]. Standard output reports its steps.

  chatter     sends one passkey advert of random bytes after another
  occupy N    keeps N adverts registered
  listen      scans for everything, including repeated adverts
  narrow      scans with its own filter, which excludes passkey adverts
"""
import os
import signal
import sys

DATA = "0000fff9-0000-1000-8000-00805f9b34fb"
OTHER_DATA = "0000180f-0000-1000-8000-00805f9b34fb"


def main(what, adapter, count):
    import dbus
    import dbus.service
    from dbus.mainloop.glib import DBusGMainLoop
    from gi.repository import GLib

    DBusGMainLoop(set_as_default=True)
    loop = GLib.MainLoop()
    bus = dbus.SystemBus()
    path = f"/org/bluez/{adapter}"

    def done(*_):
        print("done", flush=True)

    def failed(error):
        print(f"failed: {error}", flush=True)

    class Advert(dbus.service.Object):
        def __init__(self, number):
            super().__init__(bus, f"/foreign/{number}")
            self.path = f"/foreign/{number}"

        @dbus.service.method("org.freedesktop.DBus.Properties", in_signature="s", out_signature="a{sv}")
        def GetAll(self, _interface):
            uuid, data = (DATA, os.urandom(20)) if what == "chatter" else (OTHER_DATA, b"\x64")
            return {"Type": dbus.String("broadcast"),
                    "ServiceData": dbus.Dictionary({uuid: dbus.Array(data, signature="y")}, signature="sv")}

        @dbus.service.method("org.bluez.LEAdvertisement1")
        def Release(self):
            pass

        def put(self, then):
            bus.call_async("org.bluez", path, "org.bluez.LEAdvertisingManager1", "RegisterAdvertisement", "oa{sv}",
                           (dbus.ObjectPath(self.path), {}), then, failed)

        def take(self, then):
            bus.call_async("org.bluez", path, "org.bluez.LEAdvertisingManager1", "UnregisterAdvertisement", "o",
                           (dbus.ObjectPath(self.path),), then, failed)

    if what == "chatter":
        advert, asked_to_end = Advert(0), []
        # If the owner leaves during the registration of an advert, bluetoothd goes on counting it.
        GLib.unix_signal_add(GLib.PRIORITY_DEFAULT, signal.SIGTERM, lambda: asked_to_end.append(True) or True)

        def again(*_):
            done()
            if asked_to_end:
                advert.take(lambda *_: loop.quit())
            else:
                GLib.timeout_add(200, lambda: advert.take(lambda *_: advert.put(again)))

        advert.put(again)
    elif what == "occupy":
        adverts = [Advert(number) for number in range(count)]
        remaining = iter(adverts)

        def next_one(*_):
            advert = next(remaining, None)
            advert.put(next_one) if advert else done()

        next_one()
    else:
        wanted = {"Transport": dbus.String("le")}
        if what == "listen":
            wanted["DuplicateData"] = dbus.Boolean(True)
        else:
            wanted |= {"UUIDs": dbus.Array([OTHER_DATA], signature="s"), "DuplicateData": dbus.Boolean(False)}
        for member, signature, arguments in (
            ("SetDiscoveryFilter", "a{sv}", (dbus.Dictionary(wanted, signature="sv"),)), ("StartDiscovery", "", ())):
            bus.call_blocking("org.bluez", path, "org.bluez.Adapter1", member, signature, arguments)
        done()
    loop.run()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
