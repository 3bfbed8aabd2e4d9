# SPDX-License-Identifier: Apache-2.0
"""A session bus with a simulated notification server, whose user answers as told."""
import threading
import time
from dataclasses import dataclass

from jeepney import DBusAddress, HeaderFields, MessageType, new_error, new_method_call, new_method_return, new_signal
from jeepney.io.blocking import open_dbus_connection

from harness.programs import Program

NAME = "org.freedesktop.Notifications"
SERVER = DBusAddress("/org/freedesktop/Notifications", bus_name=NAME, interface=NAME)
DAEMON = DBusAddress("/org/freedesktop/DBus", bus_name="org.freedesktop.DBus", interface="org.freedesktop.DBus")
# A bus that starts only the services of one folder, which is empty at first.
CONFIGURATION = """\
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:path={socket}</listen><auth>EXTERNAL</auth>
<servicedir>{services}</servicedir>
<policy context="default"><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy></busconfig>
"""
# NotificationClosed: dismissed by the user.
DISMISSED = 2


@dataclass(frozen=True)
class Notification:
    """A notification that was shown."""

    number: int
    application: str
    summary: str
    text: str
    #: Names of the actions, without their labels.
    actions: tuple
    #: Time of the monotonic clock.
    at: float


class Notifications:
    """The bus and its server; `answer` is the name of an action, `dismiss`, or None for a user who does nothing."""

    def __init__(self, folder, waiting):
        socket = folder.sockets / "session"
        configuration = folder.scratch / "session.conf"
        #: The folder of files for services that the bus starts.
        self.services = folder.scratch / "session-services"
        self.services.mkdir(mode=0o700)
        configuration.write_text(CONFIGURATION.format(socket=socket, services=self.services), encoding="ascii")
        self.address = f"unix:path={socket}"
        self._bus = Program("dbus-daemon", ["dbus-daemon", "--nofork", f"--config-file={configuration}"],
                            log=folder.path("session-bus.log"), environment=folder.environment())
        self.shown, self.closed, self.answer = [], [], "agree"
        self._connection = None
        try:
            waiting.watch(self._bus)
            self._connection = waiting.until("the session bus to listen", self._connect, 60)
            self._connection.send_and_get_reply(new_method_call(DAEMON, "RequestName", "su", (NAME, 0)), timeout=60)
        except BaseException:
            self.stop()
            raise
        threading.Thread(target=self._serve, daemon=True).start()

    def _connect(self):
        try:
            return open_dbus_connection(bus=self.address)
        except OSError:
            return None  # The socket exists before the bus listens on it.

    @property
    def questions(self):
        """The notifications with actions so far."""
        return [shown for shown in list(self.shown) if shown.actions]

    def _serve(self):
        try:
            while True:
                message = self._connection.receive()
                if message.header.message_type is MessageType.method_call:
                    self._respond(message)
        except (OSError, EOFError):
            pass  # The bus has ended.

    def _respond(self, call):
        member = call.header.fields[HeaderFields.member]
        if member == "GetCapabilities":
            reply = new_method_return(call, "as", (["actions", "body"],))
        elif member == "GetServerInformation":
            reply = new_method_return(call, "ssss", ("counterpart", "hybrid", "1", "1.2"))
        elif member == "CloseNotification":
            self.closed.append(call.body[0])
            reply = new_method_return(call)
        elif member == "Notify":
            application, _, _, summary, text, actions, _, _ = call.body
            number = len(self.shown) + 1
            reply = new_method_return(call, "u", (number,))
            self._connection.send(reply)
            self.shown.append(Notification(number, application, summary, text, tuple(actions[::2]), time.monotonic()))
            return self._act(self.shown[-1])
        else:
            reply = new_error(call, "org.freedesktop.DBus.Error.UnknownMethod")
        self._connection.send(reply)

    def _act(self, shown):
        if self.answer == "dismiss":
            self._connection.send(new_signal(SERVER, "NotificationClosed", "uu", (shown.number, DISMISSED)))
        elif self.answer in shown.actions:
            self._connection.send(new_signal(SERVER, "ActionInvoked", "us", (shown.number, self.answer)))

    def stop(self):
        complaints = self._bus.stop()
        if self._connection:
            self._connection.close()
        return complaints
