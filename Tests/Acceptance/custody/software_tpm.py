# SPDX-License-Identifier: Apache-2.0
"""A simulated TPM (swtpm) in a process of its own, and a relay before it that can kill its user."""
import os
import signal
import socket
import struct
import threading

from harness.programs import Program
from harness.waiting import must, poll
from tpm import TPM

# TPM 2.0 Library, Part 2: response codes.
RETRY = 0x922


class SoftwareTPM(TPM):
    """A TPM without a resource manager: what its users do not flush stays."""

    def __init__(self, environment, name, tries=32, interval=600):
        self.folder = environment.folder.sockets / name
        self.folder.mkdir()
        self.socket = self.folder / "socket"
        super().__init__(environment, f"swtpm:path={self.socket}", self.folder / "log")
        self._program = Program(
            "swtpm", ["swtpm", "socket", "--tpm2", "--tpmstate", f"dir={self.folder}", "--flags",
                      "not-need-init,startup-clear", "--server", f"type=unixio,path={self.socket}", "--ctrl",
                      f"type=unixio,path={self.socket}.ctrl", "--log", f"file={self._log},level=20"],
            log=environment.folder.path(f"{name}.log"), environment=environment.folder.environment())
        environment.waiting.until(
            "the sockets of swtpm", lambda: self.socket.exists() and (self.folder / "socket.ctrl").exists(), 20)
        self.limit(tries, interval)

    def leftovers(self):
        """The handles of objects and sessions that were not flushed."""
        return self.handles("transient", "loaded-session")

    def flush(self):
        """Flushes what killed programs have left, as the kernel's resource manager does."""
        for kind in ("--transient-object", "--loaded-session"):
            self.tool("tpm2_flushcontext", kind)

    def clear(self):
        self.tool("tpm2_clear", "-c", "platform")

    def stop(self):
        def ask():
            # Repeated, because swtpm 0.10 forgets a signal that arrives while a client disconnects.
            poll(lambda: self._program.status is not None or os.kill(self._program.pid, signal.SIGTERM), 60)

        return self._program.stop(ask)


class TPMRelay:
    """Passes commands on to a TPM, counts them, and kills the user at one of them, or refuses all as a busy TPM does."""

    def __init__(self, environment, tpm):
        self._tpm = tpm
        folder = environment.folder.sockets / f"relay{environment.number()}"
        folder.mkdir()
        self._path = folder / "socket"
        self.commands = 0
        self.busy = False
        # Called with the number of a command, before and after the TPM executes it.
        self.before = self.after = lambda number: None
        self._listeners = [self._listen(self._path, self._pass_command),
                           self._listen(f"{self._path}.ctrl", self._pass_control)]

    @property
    def address(self):
        return f"swtpm:path={self._path}"

    def stop(self):
        for listener in self._listeners:
            listener.close()
        return []

    def _listen(self, path, serve):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(path))
        listener.listen()

        def accept():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    try:
                        serve(connection)
                    except (OSError, EOFError):
                        continue

        threading.Thread(target=accept, daemon=True).start()
        return listener

    def _pass_command(self, connection):
        while command := _message(connection):
            self.commands += 1
            number = self.commands
            self.before(number)
            response = struct.pack(">HII", 0x8001, 10, RETRY) if self.busy else self._ask(self._tpm.socket, command)
            self.after(number)
            connection.sendall(response)

    def _ask(self, path, command):
        with socket.socket(socket.AF_UNIX) as upstream:
            upstream.connect(str(path))
            upstream.sendall(command)
            return _message(upstream)

    def _pass_control(self, connection):
        # The only control command of the library asks for nothing that the user needs: it initializes the interface.
        while command := connection.recv(4096):
            with socket.socket(socket.AF_UNIX) as upstream:
                upstream.connect(f"{self._tpm.socket}.ctrl")
                upstream.sendall(command)
                connection.sendall(upstream.recv(4096))


def _message(connection):
    """Reads one command or response; empty at the end."""
    message = b""
    while len(message) < 10 or len(message) < struct.unpack(">I", message[2:6])[0]:
        part = connection.recv(65536)
        if not part:
            must(not message, "a message on the bus was cut")
            return b""
        message += part
    return message


def kill(pid):
    os.kill(pid, 9)
