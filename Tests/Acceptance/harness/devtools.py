# SPDX-License-Identifier: Apache-2.0
"""Chromium's DevTools protocol over two pipes: JSON messages, each with a zero byte at the end.

No port is opened, and Chromium ends when this process's ends of the pipes are closed.
"""
import collections
import json
import os

from harness.waiting import Failed


class DevTools:
    def __init__(self, reader, writer, waiting):
        os.set_blocking(reader, False)
        self._reader = reader
        self._writer = writer
        self._waiting = waiting
        self._unread = b""
        self._number = 0
        self._answers = {}
        self._events = collections.deque()

    def send(self, method, session=None, **parameters):
        """Sends a command without waiting; returns its number."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        try:
            os.write(self._writer, json.dumps(message).encode() + b"\0")
        except BrokenPipeError:
            raise Failed(f"Chromium no longer accepts commands ({method})") from None
        return self._number

    def call(self, method, session=None, **parameters):
        """Sends a command and returns its result."""
        number = self.send(method, session, **parameters)

        def answer():
            self._take_in()
            return self._answers.pop(number, None)

        answer = self._waiting.until(f"Chromium to respond to the command {method}", answer, 120, pause=0.005)
        if "error" in answer:
            raise Failed(f"Chromium refused the command {method}: {answer['error'].get('message')}")
        return answer["result"]

    def events(self, method, session=None):
        """Removes and returns the parameters of received events of this kind, in one session or in all."""
        self._take_in()
        events, self._events, taken = self._events, collections.deque(), []
        for event in events:
            if event["method"] == method and session in (None, event.get("sessionId")):
                taken.append(event["params"])
            else:
                self._events.append(event)
        return taken

    def close(self):
        for descriptor in (self._reader, self._writer):
            os.close(descriptor)

    def _take_in(self):
        while True:
            try:
                chunk = os.read(self._reader, 65536)
            except BlockingIOError:
                break
            if not chunk:  # Chromium is gone; the check of its process reports that.
                break
            self._unread += chunk
        *messages, self._unread = self._unread.split(b"\0")
        for message in map(json.loads, messages):
            if "id" in message:
                self._answers[message["id"]] = message
            else:
                self._events.append(message)
