# SPDX-License-Identifier: Apache-2.0
"""An impostor that repeats a phone's advert with its own channel number: impostor.py WHAT ADAPTER BYTES SECONDS.

BYTES are the phone's 20 bytes in hexadecimal digits; the impostor's channel number follows them. The advert restarts
every SECONDS, unless that is 0. Standard output reports the steps.

  nobody      no socket listens under the number
  closes      accepts the channel and closes it at once
  silent      accepts the channel and sends nothing
  rubbish     responds to the first message with random bytes of the right length
"""
import os
import sys
import threading

import radio

FIDO = "0000fff9-0000-1000-8000-00805f9b34fb"
# CBOR: a map from the channel's kind to its number of two bytes.
SUFFIX = b"\xa1\x01\x18"
# Length of a response to a first message: a point of the curve and the tag of an empty message, and the framing.
ANSWER = 65 + 16


def receive(listener, what):
    """Accepts any connection."""
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
