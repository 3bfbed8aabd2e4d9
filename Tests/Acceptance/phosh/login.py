# SPDX-License-Identifier: Apache-2.0
"""A simulated logind: one session, which Phosh finds, and whose lock it reports."""
import threading
from pathlib import Path

from jeepney import DBusAddress, HeaderFields, MessageType, new_error, new_method_return, new_signal
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import open_dbus_connection

NAME, PATH = "org.freedesktop.login1", "/org/freedesktop/login1"
SESSION = f"{PATH}/session/c1"
INTERFACE = f"{NAME}.Session"
# libsystemd reads these files of logind.
FILES = {
    "users/0": "NAME=root\nSTATE=active\nRUNTIME=/run/user/0\nDISPLAY=c1\nSESSIONS=c1\nACTIVE_SESSIONS=c1\n",
    "sessions/c1": "UID=0\nUSER=root\nACTIVE=1\nSTATE=active\nREMOTE=0\nTYPE=wayland\nCLASS=user\nDESKTOP=phosh\n",
}


class Login:
    """logind on a bus; the files appear in /run/systemd, as in a system that has booted.

    The computer that asks the phone is on the same bus, but no program of the session: for it, nothing is locked.
    """

    def __init__(self, address):
        #: What the desktop has reported with SetLockedHint, in order.
        self.hints = []
        for name, text in FILES.items():
            path = Path("/run/systemd", name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="ascii")
        self._connection, self._asking = (open_dbus_connection(bus=address) for _ in range(2))
        self._connection.send_and_get_reply(message_bus.RequestName(NAME), timeout=60)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        try:
            while True:
                message = self._connection.receive()
                if message.header.message_type is MessageType.method_call:
                    self._connection.send(self._reply(message))
        except (OSError, EOFError):
            pass  # The bus has ended.

    def _reply(self, call):
        member = call.header.fields[HeaderFields.member]
        if member == "GetSession":
            return new_method_return(call, "o", (SESSION,))
        if member == "SetLockedHint":
            self.hints.append(call.body[0])
            return new_method_return(call)
        if member == "Get" and call.body == (INTERFACE, "LockedHint"):
            is_locked = bool(self.hints) and self.hints[-1] and not self._is_computer(call.header.fields[HeaderFields.sender])
            return new_method_return(call, "v", (("b", is_locked),))
        if member == "GetAll":
            return new_method_return(call, "a{sv}", ({"Id": ("s", "c1"), "Active": ("b", True)},))
        return new_error(call, "org.freedesktop.DBus.Error.UnknownMethod")

    def _is_computer(self, sender):
        process, = self._asking.send_and_get_reply(message_bus.GetConnectionUnixProcessID(sender), timeout=60).body
        return Path(f"/proc/{process}/comm").read_text(encoding="ascii").strip() == "hybrid-client"

    def unlock(self):
        """Asks the desktop to unlock, as `loginctl unlock-session` does."""
        self._connection.send(new_signal(DBusAddress(SESSION, interface=INTERFACE), "Unlock"))

    def stop(self):
        for connection in (self._connection, self._asking):
            connection.close()
        for name in FILES:
            Path("/run/systemd", name).unlink(missing_ok=True)
        return []
