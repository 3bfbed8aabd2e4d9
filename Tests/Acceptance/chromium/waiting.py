# SPDX-License-Identifier: Apache-2.0
"""Waiting for states: each wait is bounded and has a sentence of its own.

Nothing here sleeps for a time because something "should be done by then"; a pause between two looks at a state is all.
"""
import signal
import time


class Failed(Exception):
    """The run can't go on; the text says what was expected and what was seen."""


class Interrupted(Exception):
    """A signal asked the driver to end."""

    def __init__(self, number):
        super().__init__(f"interrupted by {signal.Signals(number).name}")
        self.number = number


class Signals:
    """SIGINT, SIGTERM and SIGHUP, taken down as a wish that the next wait fulfils.

    A handler that raised could do so between a program's start and the line that remembers it, and leave it behind.
    """

    def __init__(self):
        self.caught = None
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._catch)

    def _catch(self, number, _frame):
        self.caught = self.caught or number

    def check(self):
        if self.caught:
            raise Interrupted(self.caught)


def poll(look, seconds, pause=0.02):
    """Looks again and again; returns the first thing seen that is true, or None when the time is over."""
    end = time.monotonic() + seconds
    while True:
        seen = look()
        if seen:
            return seen
        if time.monotonic() > end:
            return None
        time.sleep(pause)


class Waiting:
    """Waits for states while it watches that nobody asked to stop and that no program has gone away."""

    def __init__(self, signals):
        self._signals = signals
        self._watched = []

    def watch(self, program):
        """From now on the run fails when `program` ends."""
        self._watched.append(program)

    def forget(self, program):
        """`program` may end from now on."""
        self._watched.remove(program)

    def until(self, what, look, seconds, pause=0.02):
        """Returns what `look` sees once that is true.

        Raises Failed with `what` ("hybrid-relay to say where it listens") after `seconds`, which are generous: they
        cost only when something is broken, and a busy machine is not.
        """
        def look_around():
            self._signals.check()
            for program in self._watched:
                if program.status is not None:
                    raise Failed(f"{program.name} {program.ending} while this was waited for: {what}")
            return look()

        seen = poll(look_around, seconds, pause)
        if not seen:
            raise Failed(f"waited {seconds} s for {what}")
        return seen
