# SPDX-License-Identifier: Apache-2.0
"""What a screen reader knows about windows: a session bus with the accessibility service, and questions to it."""
import json
import re
from pathlib import Path

from jeepney import DBusAddress, HeaderFields, MessageType, new_method_call
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import open_dbus_connection

from harness.programs import Program, brief

# Debian's Python; that of the tests does not have the bindings of the accessibility service.
SCRIPT = ["/usr/bin/python3", str(Path(__file__).with_name("accessible.py"))]
# The bus ends with its command, and `cat` ends with this process, however it ends.
SESSION = ["dbus-run-session", "--", "sh", "-c", 'printf "BUS %s\\n" "$DBUS_SESSION_BUS_ADDRESS"; exec cat']

BUS = DBusAddress("/org/a11y/bus", "org.a11y.Bus", "org.a11y.Bus")
REGISTRY = ("org.a11y.atspi.Registry", "/org/a11y/atspi/accessible/root")
ACCESSIBLE, COMPONENT = "org.a11y.atspi.Accessible", "org.a11y.atspi.Component"
PROPERTIES = "org.freedesktop.DBus.Properties"
IN_WINDOW = 1
# Programs have names of their own for roles; these are the usual ones.
ROLES = """
import gi, json
gi.require_version("Atspi", "2.0")
from gi.repository import Atspi
print(json.dumps([Atspi.role_get_name(Atspi.Role(number)) for number in range(Atspi.Role.LAST_DEFINED)]))
"""
# The numbers of states (AtspiStateType).
STATES = {"focused": 12, "focusable": 11, "checked": 4, "active": 1, "sensitive": 24, "showing": 25, "visible": 30}
UNSAID = ("sensitive", "showing", "visible")


class SessionBus:
    """A session bus, which starts the accessibility service when a program asks for it."""

    def __init__(self, folder, waiting, environment, name="session-bus"):
        self.program = Program("dbus-run-session", SESSION, log=folder.path(f"{name}.log"),
                                environment=environment, pipe_input=True)
        try:
            self.address = waiting.until("dbus-run-session to print the address of its bus", self._found, 60)
        except BaseException:
            self.stop()
            raise

    def _found(self):
        # The daemon writes its complaints to the same file, also in the middle of a line.
        found = re.search(r"BUS (unix:\S+)\n", self.program.said())
        return found and found[1]

    def stop(self):
        return self.program.stop(ask=self.program.close_input)


def elements_of(process, environment, *, places=False):
    """Returns [role, name, states] of each element that a process shows; with `places`, also its place."""
    said = brief([*SCRIPT, str(process), *(["places"] if places else [])], environment=environment)
    return json.loads(said.stdout)


class ScreenReader:
    """The same without a program for each question, and without a wait for each element: those of a level are asked at once."""

    def __init__(self, address, environment):
        said = brief(["/usr/bin/python3", "-c", ROLES], environment=environment)
        self._roles = json.loads(said.stdout)
        with open_dbus_connection(bus=address) as session:
            reply = session.send_and_get_reply(new_method_call(BUS, "GetAddress"), timeout=60)
        self._bus = open_dbus_connection(bus=reply.body[0])

    def elements_of(self, process, needed="visible"):
        """Returns [role, name, states, place] of each element that a process shows, in their order.

        `needed` is the state that says so: `visible`, or `showing`, which hidden pages of GTK 3 do not have.
        """
        programs = self._ask([(REGISTRY, ACCESSIBLE, "GetChildren")])[0] or []
        roots = [root for root in programs if self._is_of(root, process)]
        if not roots:
            return []
        tree, level = {}, roots
        while level:
            answers = self._ask([(node, ACCESSIBLE, "GetChildren") for node in level])
            children = [(parent, tuple(child)) for parent, found in zip(level, answers) for child in found or []]
            states = self._ask([(child, ACCESSIBLE, "GetState") for _, child in children])
            level = []
            for (parent, child), its in zip(children, states):
                if its and _has(its, needed) and child not in tree:
                    tree[child] = [parent, its]
                    level.append(child)
        shown = list(tree)
        roles = self._ask([(node, ACCESSIBLE, "GetRole") for node in shown])
        names = self._ask([(node, PROPERTIES, "Get", "ss", (ACCESSIBLE, "Name")) for node in shown])
        places = self._ask([(node, COMPONENT, "GetExtents", "u", (IN_WINDOW,)) for node in shown])
        below = {}
        for node, role, name, place in zip(shown, roles, names, places):
            parent, its = tree[node]
            said = [state for state in STATES if state not in UNSAID and _has(its, state)]
            below.setdefault(parent, []).append((node, [
                self._roles[role or 0], name[1] if name else "", said if _has(its, "sensitive") else [*said, "insensitive"],
                list(place or (0, 0, 0, 0))]))
        found, rest = [], [(root, None) for root in reversed(roots)]
        while rest:
            node, element = rest.pop()
            if element:
                found.append(element)
            rest += reversed(below.get(node, []))
        return found

    def _is_of(self, root, process):
        answer = self._bus.send_and_get_reply(message_bus.GetConnectionUnixProcessID(root[0]), timeout=60)
        return answer.body[0] == process

    def _ask(self, questions):
        """Returns the first value of each answer, in order; None for an element that is gone."""
        waiting, answers = {}, [None] * len(questions)
        for index, ((name, path), interface, member, *arguments) in enumerate(questions):
            serial = next(self._bus.outgoing_serial)
            waiting[serial] = index
            self._bus.send(new_method_call(DBusAddress(path, name, interface), member, *arguments), serial=serial)
        while waiting:
            message = self._bus.receive(timeout=60)
            index = waiting.pop(message.header.fields.get(HeaderFields.reply_serial), None)
            if index is not None and message.header.message_type is MessageType.method_return:
                answers[index] = message.body[0]
        return answers

    def stop(self):
        self._bus.close()
        return []


def _has(words, state):
    return bool(words[STATES[state] // 32] >> STATES[state] % 32 & 1)
