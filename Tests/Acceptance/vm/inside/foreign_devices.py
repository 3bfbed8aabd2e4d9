# SPDX-License-Identifier: Apache-2.0
"""Other programs that use Bluetooth meanwhile."""
import os
import sys
from pathlib import Path

from harness.programs import Program

PROGRAM, IMPOSTOR = (Path(__file__).with_name(name) for name in ("foreign_device.py", "impostor.py"))


class ForeignDevice:
    """Such a program, from its first step to the end of the `with`."""

    def __init__(self, env, what, adapter, count=1):
        self._env, self._what = env, what
        self._command = [sys.executable, "-B", PROGRAM, what, adapter, str(count)]

    def __enter__(self):
        self._program = Program(
            f"foreign-{self._what}", self._command,
            log=self._env.folder / f"{self._env.case}-{self._what}-{os.urandom(3).hex()}",
            environment=dict(os.environ))
        try:
            self._env.waiting.until(f"another program to {self._what}", self.count, 60, pause=0.1)
        except BaseException:
            self._program.stop()
            raise
        return self

    def __exit__(self, *_):
        self._program.stop()

    def count(self):
        """Number of its steps so far."""
        return self._program.said().count("done\n")


class Impostor(ForeignDevice):
    """An impostor that repeats a phone's advert with its own channel number."""

    def __init__(self, env, what, adapter, data):
        super().__init__(env, what, adapter)
        # Old virtual controllers send an advert once, when it begins; a scan that begins later may miss it.
        seconds = 10 if env.bluez.is_old else 0
        self._command = [sys.executable, "-B", IMPOSTOR, what, adapter, data.hex(), str(seconds)]

    def said(self, what):
        """Number of its reports of a kind."""
        return self._program.said().count(f"{what}\n")
