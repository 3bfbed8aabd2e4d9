# SPDX-License-Identifier: Apache-2.0
"""A stand-in for polkit on a private bus: every action is allowed, or none while the file `deny` exists."""
import sys
from pathlib import Path

from jeepney import DBusAddress, MessageType, new_error, new_method_return
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import open_dbus_connection

NAME, INTERFACE = "org.freedesktop.PolicyKit1", "org.freedesktop.PolicyKit1.Authority"


def main(bus, deny):
    with open_dbus_connection(bus=bus) as connection:
        connection.send_and_get_reply(message_bus.RequestName(NAME))
        print("ready", flush=True)
        while True:
            message = connection.receive()
            if message.header.message_type is not MessageType.method_call:
                continue
            member = message.header.fields.get(3)
            if member == "CheckAuthorization":
                allowed = not Path(deny).exists()
                connection.send(new_method_return(message, "(bba{ss})", ((allowed, False, {}),)))
            elif member == "GetAll":
                connection.send(new_method_return(message, "a{sv}", ({
                    "BackendName": ("s", "stand-in"), "BackendVersion": ("s", "1"), "BackendFeatures": ("u", 0)},)))
            else:
                connection.send(new_error(message, "org.freedesktop.DBus.Error.UnknownMethod"))


if __name__ == "__main__":
    main(*sys.argv[1:])
