# SPDX-License-Identifier: Apache-2.0
"""The test's side of native messaging hosts: one object for each process that Chromium starts."""
import base64
import contextlib
import json
import os
import shutil
import socket
import struct
import threading
from pathlib import Path

from harness.waiting import Failed

NAME = "hybrid.remote"
EXTENSION = "ehnlpifebkfbbnhalojmhoakhidfhifo"


def frame(message):
    """Returns a message as the browser expects it: its length in the machine's byte order, then JSON."""
    text = json.dumps(message).encode()
    return struct.pack("=I", len(text)) + text


def lines(connection):
    """Yields the lines of a host until it ends, in any way."""
    with contextlib.suppress(ConnectionError):
        yield from connection.makefile("rb")


def is_running(process):
    """Returns true for a process that has not ended, even if its parent has not noticed."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(errors="replace")
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] not in "ZX"


class Call:
    """A host with a request of a page."""

    def __init__(self, connection, process, caller):
        self._connection, self.process, self.caller = connection, process, caller
        self.request, self.is_closed = None, False

    @property
    def challenge(self):
        return self.request["publicKey"]["challenge"]

    def answer(self, message):
        self.write(frame(message))

    def refuse(self, name="NotAllowedError", code="refused", **more):
        self.answer({"error": {"name": name, "code": code, "message": "said by the host", **more}})

    def write(self, data):
        """Writes bytes to the browser, whatever they are."""
        self._order(write=base64.b64encode(data).decode())

    def exit(self, status=0):
        self._order(exit=status)

    def kill(self):
        os.kill(self.process, 9)

    def _order(self, **order):
        try:
            self._connection.sendall(json.dumps(order).encode() + b"\n")
        except OSError:
            raise Failed("the host had ended before it was told to answer") from None


class NativeHosts:
    """Answers whether a phone can be reached by itself; requests of pages wait in `calls`.

    `availability` is that answer, or None for a host that never gives one.
    """

    def __init__(self, folder, profile):
        self.availability = None
        self.calls, self.checks, self._processes = [], 0, set()
        self._taken = 0
        program = folder / "host"
        shutil.copy(Path(__file__).with_name("host"), program)
        self._manifest = Path(profile) / "NativeMessagingHosts" / f"{NAME}.json"
        self._manifest.parent.mkdir(parents=True)
        self._text = json.dumps({
            "name": NAME, "description": "Stub for the test", "path": str(program), "type": "stdio",
            "allowed_origins": [f"chrome-extension://{EXTENSION}/"]})
        self.install(True)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / "host.sock"))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def install(self, is_there):
        if is_there:
            self._manifest.write_text(self._text, encoding="utf-8")
        else:
            self._manifest.unlink()

    def next(self):
        """Returns the next request of a page, if there is one."""
        if self._taken == len(self.calls):
            return None
        self._taken += 1
        return self.calls[self._taken - 1]

    @property
    def running(self):
        # A copy, because a host may start meanwhile.
        return set(filter(is_running, tuple(self._processes)))

    def _accept(self):
        try:
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()
        except OSError:
            pass  # The listener was closed.

    def _serve(self, connection):
        call = None
        for line in lines(connection):
            said = json.loads(line)
            if said["event"] == "started":
                self._processes.add(said["process"])
                call = Call(connection, said["process"], said["caller"])
            elif said["event"] == "closed":
                call.is_closed = True
            elif said["message"].get("type") == "available":
                self.checks += 1
                if self.availability is not None:
                    call.answer(self.availability)
            else:
                call.request = said["message"]
                self.calls.append(call)
        if call:
            call.is_closed = True

    def stop(self):
        self._listener.close()
        return [f"a native messaging host is left: process {process}" for process in sorted(self.running)]
