# SPDX-License-Identifier: Apache-2.0
"""Prints what a screen reader knows about the window of a process, as JSON: accessible.py PROCESS-ID

Each line of the list is [role, name, states] of an element that is shown. Runs with Debian's Python, which has the
bindings (python3-gi, gir1.2-atspi-2.0).
"""
import json
import sys

import gi

gi.require_version("Atspi", "2.0")
from gi.repository import Atspi, GLib  # noqa: E402

STATES = {"focused": Atspi.StateType.FOCUSED, "focusable": Atspi.StateType.FOCUSABLE}


def elements(node):
    """Yields the elements below a node that are shown, in their order."""
    for index in range(node.get_child_count()):
        child = node.get_child_at_index(index)
        if child is None:
            continue
        states = child.get_state_set()
        if states.contains(Atspi.StateType.VISIBLE):
            yield [child.get_role_name(), child.get_name(),
                   [name for name, state in STATES.items() if states.contains(state)]]
            yield from elements(child)


def main():
    desktop = Atspi.get_desktop(0)
    found = []
    for index in range(desktop.get_child_count()):
        program = desktop.get_child_at_index(index)
        try:
            if program is not None and program.get_process_id() == int(sys.argv[1]):
                found += elements(program)
        except GLib.Error:  # It has just ended.
            continue
    print(json.dumps(found))


if __name__ == "__main__":
    main()
