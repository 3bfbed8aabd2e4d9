# SPDX-License-Identifier: Apache-2.0
"""Firefox's Marionette protocol: JSON arrays over TCP, each after its length in decimal digits and a colon."""
import json
import socket

from harness.waiting import Failed

CHROME, CONTENT = "chrome", "content"


class Marionette:
    """A session. Commands are those of WebDriver, and a few that only Firefox has."""

    def __init__(self, port, waiting, capabilities):
        self._waiting, self._number, self._unread = waiting, 0, b""
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setblocking(False)
        hello = waiting.until("Firefox to greet", self._message, 120)
        if hello.get("marionetteProtocol") != 3:
            raise Failed(f"expected protocol 3 of Marionette; found {hello}")
        self.capabilities = self.call("WebDriver:NewSession", capabilities=capabilities)["capabilities"]

    def call(self, command, seconds=300, **parameters):
        """Sends a command and returns its result."""
        self._number += 1
        data = json.dumps([0, self._number, command, parameters]).encode()
        self._socket.setblocking(True)
        try:
            self._socket.sendall(b"%d:%s" % (len(data), data))
        except OSError as error:
            raise Failed(f"Firefox no longer accepts commands ({command}): {error}") from None
        finally:
            self._socket.setblocking(False)
        _, number, error, result = self._waiting.until(
            f"Firefox to respond to the command {command}", self._message, seconds, pause=0.005)
        if number != self._number:
            raise Failed(f"expected the response to command {self._number}; found {number}")
        if error:
            raise Failed(f"Firefox refused the command {command}: {error.get('error')}: {error.get('message')}")
        return result

    def script(self, text, *arguments, context=CONTENT):
        """Returns the result of a script, in the page or (`chrome`) in the browser's window."""
        if context == CONTENT:
            return self._execute(text, arguments)
        self.call("Marionette:SetContext", value=context)
        try:
            return self._execute(text, arguments)
        finally:
            self.call("Marionette:SetContext", value=CONTENT)

    def _execute(self, text, arguments):
        return self.call("WebDriver:ExecuteScript", script=text, args=list(arguments), newSandbox=False)["value"]

    def close(self):
        self._socket.close()

    def _message(self):
        """Returns the next complete message, or None."""
        try:
            while chunk := self._socket.recv(65536):
                self._unread += chunk
        except BlockingIOError:
            pass
        length, colon, rest = self._unread.partition(b":")
        if not colon or len(rest) < int(length):
            return None
        self._unread = rest[int(length):]
        return json.loads(rest[:int(length)])
