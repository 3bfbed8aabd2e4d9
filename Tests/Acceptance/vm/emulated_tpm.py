# SPDX-License-Identifier: Apache-2.0
"""The TPM of a guest: swtpm, which QEMU connects with a device of the guest."""
import os

from failure import Unavailable
from harness.programs import Program
from harness.waiting import poll


class EmulatedTPM:
    """A TPM 2.0 for one run of a guest. Its state stays in a folder, as the state of a chip does without power.

    - `model`: QEMU's device, tpm-crb or tpm-tis.
    - `log`: a file for all that is on its bus.
    """

    def __init__(self, state, sockets, log, model):
        self._state, self._socket, self._log, self._model = state, sockets / "tpm", log, model
        self._program = None

    @property
    def arguments(self):
        """QEMU's arguments."""
        return ["-chardev", f"socket,id=tpm,path={self._socket}", "-tpmdev", "emulator,id=tpm0,chardev=tpm",
                "-device", f"{self._model},tpmdev=tpm0"]

    def __enter__(self):
        self._state.mkdir(exist_ok=True)
        self._socket.unlink(missing_ok=True)
        self._program = Program(
            "swtpm", ["swtpm", "socket", "--tpm2", "--tpmstate", f"dir={self._state}", "--ctrl",
                      f"type=unixio,path={self._socket}", "--log", f"file={self._log},level=20"],
            log=self._state / "swtpm", environment=dict(os.environ))
        poll(lambda: self._socket.exists() or self._program.status is not None, 60)
        if self._program.status is not None or not self._socket.exists():
            raise Unavailable(f"swtpm {self._program.ending}: {self._program.said()}")
        return self

    def __exit__(self, *_):
        self._program.stop()
