# SPDX-License-Identifier: Apache-2.0
"""What a screen reader knows about windows: a session bus with the accessibility service, and questions to it."""
import json
import re
from pathlib import Path

from harness.programs import Program, brief

# Debian's Python; that of the tests does not have the bindings of the accessibility service.
ACCESSIBLE = ["/usr/bin/python3", str(Path(__file__).with_name("accessible.py"))]
# The bus ends with its command, and `cat` ends with this process, however it ends.
SESSION = ["dbus-run-session", "--", "sh", "-c", 'printf "BUS %s\\n" "$DBUS_SESSION_BUS_ADDRESS"; exec cat']


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
    said = brief([*ACCESSIBLE, str(process), *(["places"] if places else [])], environment=environment)
    return json.loads(said.stdout)
