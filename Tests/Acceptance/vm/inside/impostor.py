# SPDX-License-Identifier: Apache-2.0
"""Somebody near who repeats a phone's advert so that it leads to himself: impostor.py WHAT ADAPTER
BYTES SECONDS.

BYTES are the 20 of the phone, in hexadecimal digits; the number behind them is his own. Every so many SECONDS the advert
begins again, unless they are 0. It tells on standard output what he does.

  nobody      the number is one under which nobody listens
  closes      takes the channel, and closes it at once
  silent      takes the channel, and never says anything
  rubbish     answers the first message with one of the right length that nobody made
"""
import os
import sys
import threading

import radio

FIDO = "0000fff9-0000-1000-8000-00805f9b34fb"
# CBOR: a map from the channel's kind to its number, which takes two bytes.
SUFFIX = b"\xa1\x01\x18"
# The answer to a first message: a point of the curve and the tag of an empty message, and what ends it.
ANSWER = 65 + 16


def receive(listener, what):
    """Takes whoever comes."""
    kept = []
    while True:
        channel, _ = listener.accept()
        print("taken", flush=True)
        if what == "closes":
            channel.close()
            continue
        kept.append(channel)
        if what == "rubbish":
            channel.recv(4096)
            channel.send(b"\x04" + os.urandom(ANSWER - 1) + b"\r\n")
            print("answered", flush=True)


def main(what, adapter, data, seconds):
    import dbus
    import dbus.service
    from dbus.mainloop.glib import DBusGMainLoop
    from gi.repository import GLib

    DBusGMainLoop(set_as_default=True)
    loop = GLib.MainLoop()
    bus = dbus.SystemBus()
    path = f"/org/bluez/{adapter}"
    own = str(bus.call_blocking("org.bluez", path, "org.freedesktop.DBus.Properties", "Get", "ss",
                                ("org.bluez.Adapter1", "Address")))
    listener, number = radio.listening(own)
    if what == "nobody":
        listener.close()
    else:
        threading.Thread(target=receive, args=(listener, what), daemon=True).start()

    class Advert(dbus.service.Object):
        @dbus.service.method("org.freedesktop.DBus.Properties", in_signature="s", out_signature="a{sv}")
        def GetAll(self, _interface):
            leading = dbus.Array(data + SUFFIX + bytes([number]), signature="y")
            return {"Type": dbus.String("peripheral"),
                    "ServiceData": dbus.Dictionary({FIDO: leading}, signature="sv")}

        @dbus.service.method("org.bluez.LEAdvertisement1")
        def Release(self):
            pass

    advert = Advert(bus, "/impostor")

    def call(method, signature, arguments, then):
        bus.call_async("org.bluez", path, "org.bluez.LEAdvertisingManager1", method, signature, arguments, then,
                       lambda error: print(f"failed: {error}", flush=True))

    def register(then):
        call("RegisterAdvertisement", "oa{sv}", (dbus.ObjectPath("/impostor"), {}), then)

    def again():
        call("UnregisterAdvertisement", "o", (dbus.ObjectPath("/impostor"),), lambda *_: register(lambda *_: None))
        return True

    register(lambda *_: print("done", flush=True))
    if seconds:
        GLib.timeout_add_seconds(seconds, again)
    loop.run()
    return advert


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], bytes.fromhex(sys.argv[3]), int(sys.argv[4]))
