# SPDX-License-Identifier: Apache-2.0
"""Programs with a terminal of their own, on which a test reads and types."""
import fcntl
import os
import subprocess
import termios
import threading
from pathlib import Path

from harness.programs import Program


class TerminalProgram(Program):
    """A program whose standard input and error are a terminal; what appears there is in `log`.

    Standard output is a file of its own, or the terminal, too.
    """

    def __init__(self, name, argv, *, log, environment, output=None):
        self.name, self.log = name, Path(log)
        self.log.touch()
        self._output = output and Path(output)
        self._master, slave = os.openpty()
        with open(self._output or os.ttyname(slave), "wb", buffering=0) as standard:
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "TERM", "--", *map(str, argv)], env={"TERM": "xterm", **environment},
                stdin=slave, stderr=slave, stdout=standard, start_new_session=True,
                preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        with open(self.log, "ab", buffering=0) as record:
            while True:
                try:
                    data = os.read(self._master, 65536)
                except OSError:  # No process has the terminal any more.
                    data = b""
                if not data:
                    return
                record.write(data)

    def write(self, text):
        """Types a text."""
        os.write(self._master, text.encode())

    def said(self):
        """Returns what has appeared on the terminal, all of it once the program has ended."""
        if self.status is not None:
            self._reader.join(5)
        return super().said()

    def printed(self):
        """Returns the standard output so far."""
        return self._output.read_text(encoding="utf-8")

    def stop(self, ask=None, seconds=60):
        complaints = super().stop(ask, seconds)
        self._reader.join(5)
        os.close(self._master)
        return complaints
