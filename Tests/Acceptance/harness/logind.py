# SPDX-License-Identifier: Apache-2.0
"""The systemd-logind of a private bus, which has no sessions and only says that the computer suspends."""
from jeepney import DBusAddress, message_bus, new_signal
from jeepney.io.blocking import open_dbus_connection

NAME = "org.freedesktop.login1"
MANAGER = DBusAddress("/org/freedesktop/login1", interface=f"{NAME}.Manager")


class Logind:
    """The owner of logind's name, for the length of a `with` statement."""

    def __init__(self, address):
        self._connection = open_dbus_connection(bus=address)

    def __enter__(self):
        self._connection.send_and_get_reply(message_bus.RequestName(NAME), timeout=60)
        return self

    def __exit__(self, *_):
        self._connection.close()

    def suspend(self):
        self._connection.send(new_signal(MANAGER, "PrepareForSleep", "b", (True,)))
