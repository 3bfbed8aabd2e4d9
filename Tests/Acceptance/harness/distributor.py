# SPDX-License-Identifier: Apache-2.0
"""A UnifiedPush distributor on a session bus, written from the specification (DBUS_0.3.0)."""
import threading
from types import SimpleNamespace

from jeepney import DBusAddress, HeaderFields, MessageFlag, MessageType, new_error, new_method_call, new_method_return
from jeepney.io.blocking import open_dbus_connection

from harness.waiting import must

NAME = "org.unifiedpush.Distributor.Counterpart"
INTERFACE = "org.unifiedpush.Distributor2"
PATH = "/org/unifiedpush/Distributor"
CONNECTOR = "org.unifiedpush.Connector2"
CONNECTOR_PATH = "/org/unifiedpush/Connector"
DAEMON = DBusAddress("/org/freedesktop/DBus", bus_name="org.freedesktop.DBus", interface="org.freedesktop.DBus")


class Registration:
    """A registration of a program."""

    def __init__(self, service, token, vapid, subscription):
        self.service, self.token, self.vapid, self.subscription = service, token, vapid, subscription
        #: The bodies that were delivered.
        self.delivered = []
        #: The fields of the push server's requests.
        self.fields = []


class Distributor:
    """Registers programs at a push server, and passes its messages on to them."""

    def __init__(self, address, server):
        self._server, self._lock = server, threading.Lock()
        self.registrations = {}
        #: The tokens that programs unregistered.
        self.unregistered, self.complaints = [], []
        self._connection = open_dbus_connection(bus=address)
        reply = self._connection.send_and_get_reply(new_method_call(DAEMON, "RequestName", "su", (NAME, 4)), timeout=60)
        must(reply.body == (1,), f"expected the name of the distributor to be free; found {reply.body}")
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        try:
            while True:
                message = self._connection.receive()
                if message.header.message_type is MessageType.method_call:
                    self._respond(message)
        except (OSError, EOFError):
            pass  # The bus has ended.

    def _send(self, message):
        with self._lock:
            self._connection.send(message)

    def _respond(self, call):
        fields = call.header.fields
        member = fields.get(HeaderFields.member)
        known = (fields.get(HeaderFields.path), fields.get(HeaderFields.interface)) == (PATH, INTERFACE)
        if not known or member not in ("Register", "Unregister"):
            return self._send(new_error(call, "org.freedesktop.DBus.Error.UnknownMethod"))
        values = {name: value for name, (_, value) in call.body[0].items()}
        token = values["token"]
        if member == "Unregister":
            self.unregistered.append(token)
            registration = self.registrations.pop(token, None)
            self._send(new_method_return(call, "a{sv}", ({},)))
            if registration:
                registration.subscription.remove()
                self._call(registration, "Unregistered", {})
            return
        if token not in self.registrations:
            subscription = self._server.subscribe()
            # Messages go to this distributor instead of a queue. The keys of the subscription are the program's.
            subscription.messages = SimpleNamespace(put=lambda message: self._received(token, message))
            self.registrations[token] = Registration(values["service"], token, values.get("vapid"), subscription)
        registration = self.registrations[token]
        self._send(new_method_return(call, "a{sv}", ({"success": ("s", "REGISTRATION_SUCCEEDED")},)))
        self._call(registration, "NewEndpoint", {"endpoint": ("s", registration.subscription.endpoint)})

    def _call(self, registration, member, arguments):
        address = DBusAddress(CONNECTOR_PATH, bus_name=registration.service, interface=CONNECTOR)
        call = new_method_call(address, member, "a{sv}", ({"token": ("s", registration.token), **arguments},))
        # The specification: the caller must not wait for a response.
        call.header.flags |= MessageFlag.no_reply_expected
        self._send(call)

    def _received(self, token, message):
        registration = self.registrations[token]
        if message.claims["k"] != registration.vapid:
            self.complaints.append("the token of a message is of another key than that of the registration")
            return
        registration.fields.append({name.lower(): value for name, value in message.fields.items()})
        self.deliver(token, message.body)

    def deliver(self, token, body):
        """Passes a message on to its program, which the bus starts if it does not run."""
        registration = self.registrations[token]
        registration.delivered.append(body)
        self._call(registration, "Message", {"message": ("ay", body)})

    def drop(self, registration):
        """Ends a subscription, as the user can."""
        registration.subscription.remove()
        del self.registrations[registration.token]
        self._call(registration, "Unregistered", {})

    def stop(self):
        self._connection.close()
        return self.complaints
