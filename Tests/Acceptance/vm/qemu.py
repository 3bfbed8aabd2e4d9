# SPDX-License-Identifier: Apache-2.0
"""QEMU's control socket (QMP): the guest's run state, and its complete state in a file."""
import json
import socket

from failure import Unavailable
from harness.waiting import poll


class Monitor:
    """A connection to QEMU; `is_alive` returns True while its process runs."""

    def __init__(self, path, is_alive):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(120)

        def connected():
            if not is_alive():
                raise Unavailable("QEMU ended at once")
            return self._socket.connect_ex(str(path)) == 0

        if not poll(connected, 60):
            raise Unavailable("QEMU opened no control socket")
        self._file = self._socket.makefile("rw")
        self._file.readline()
        self._ask("qmp_capabilities")

    def _ask(self, command, **arguments):
        self._file.write(json.dumps({"execute": command, "arguments": arguments}))
        self._file.flush()
        for line in self._file:
            answer = json.loads(line)
            if "return" in answer:
                return answer["return"]
            if "error" in answer:
                raise Unavailable(f"QEMU rejects {command}: {answer['error']['desc']}")
        raise Unavailable("QEMU ended")

    def wait_until_running(self):
        if not poll(lambda: self._ask("query-status")["status"] == "running", 60):
            raise Unavailable("the guest did not start to run")

    def save(self, command):
        """Writes the guest's state to the standard input of a shell command; the guest is paused afterwards."""
        self._ask("migrate-set-parameters", **{"max-bandwidth": 1 << 33})
        self._ask("migrate", uri=f"exec:{command}")

        def ended():
            status = self._ask("query-migrate").get("status")
            if status in ("failed", "cancelled"):
                raise Unavailable("the guest's state could not be saved")
            return status == "completed"

        if not poll(ended, 120):
            raise Unavailable("saving the guest's state took too long")
