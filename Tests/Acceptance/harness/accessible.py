# SPDX-License-Identifier: Apache-2.0
"""Prints what a screen reader knows about the window of a process, as JSON: accessible.py PROCESS-ID [places]

Each line of the list is [role, name, states] of an element that is shown; with `places`, its place [left, top, width,
height] in the window follows. Runs with Debian's Python, which has the bindings (python3-gi, gir1.2-atspi-2.0).
"""
import json
import sys

import gi

gi.require_version("Atspi", "2.0")
from gi.repository import Atspi, GLib  # noqa: E402

STATES = {"focused": Atspi.StateType.FOCUSED, "focusable": Atspi.StateType.FOCUSABLE,
          "checked": Atspi.StateType.CHECKED, "active": Atspi.StateType.ACTIVE, "insensitive": None}


def states_of(node):
    states = node.get_state_set()
    found = [name for name, state in STATES.items() if state is not None and states.contains(state)]
    return found if states.contains(Atspi.StateType.SENSITIVE) else [*found, "insensitive"]


def place(node):
    area = node.get_extents(Atspi.CoordType.WINDOW)
    return [area.x, area.y, area.width, area.height]


def elements(node, with_places):
    """Yields the elements below a node that are shown, in their order."""
    for index in range(node.get_child_count()):
        child = node.get_child_at_index(index)
        if child is None:
            continue
        if child.get_state_set().contains(Atspi.StateType.VISIBLE):
            yield [child.get_role_name(), child.get_name(), states_of(child), *([place(child)] if with_places else [])]
            yield from elements(child, with_places)


def main():
    desktop = Atspi.get_desktop(0)
    found = []
    for index in range(desktop.get_child_count()):
        program = desktop.get_child_at_index(index)
        try:
            if program is not None and program.get_process_id() == int(sys.argv[1]):
                found += elements(program, sys.argv[2:] == ["places"])
        except GLib.Error:  # It has just ended.
            continue
    print(json.dumps(found))


if __name__ == "__main__":
    main()
