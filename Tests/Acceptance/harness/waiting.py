# SPDX-License-Identifier: Apache-2.0
"""Waiting for states: each wait is bounded and has its own message.

No fixed delays: a wait polls its state and ends as soon as the state is reached.
"""
import signal
import time


class Failed(Exception):
    """The run cannot continue; the text says what was expected and found."""


def must(condition, sentence):
    """Raises Failed unless a condition is true; the sentence says what was expected and found."""
    if not condition:
        raise Failed(sentence)


class Interrupted(Exception):
    """A signal requested the end."""

    def __init__(self, number):
        super().__init__(f"interrupted by {signal.Signals(number).name}")
        self.number = number


class Signals:
    """SIGINT, SIGTERM and SIGHUP, recorded for the next wait, which then raises.

    A handler that raises could do so between a program's start and the line that stores it, and leave it running.
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
    """Polls; returns the first true result, or None after the time limit."""
    end = time.monotonic() + seconds
    while True:
        seen = look()
        if seen:
            return seen
        if time.monotonic() > end:
            return None
        time.sleep(pause)


class Waiting:
    """Waits for states; fails if a signal has arrived or a watched program has ended."""

    def __init__(self, signals):
        self._signals = signals
        self._watched = []

    def watch(self, program):
        """Adds a program whose end makes the run fail."""
        self._watched.append(program)

    def forget(self, program):
        """Removes a watched program, which may end from now on."""
        self._watched.remove(program)

    def until(self, what, look, seconds, pause=0.02):
        """Returns the result of `look` once it is true.

        Raises Failed with `what` ("hybrid-relay to print its address") after `seconds`. The limits are generous: they
        only cost
        time after a failure, and a busy machine is none.
        """
        def look_around():
            self._signals.check()
            for program in self._watched:
                if program.status is not None:
                    raise Failed(f"{program.name} {program.ending} during the wait for {what}")
            return look()

        seen = poll(look_around, seconds, pause)
        if not seen:
            raise Failed(f"waited {seconds} s for {what}")
        return seen
