# SPDX-License-Identifier: Apache-2.0
"""The relay, under the name of our tunnel domain."""
import re

from harness.programs import Program
from harness.waiting import Failed

# Hash of the number 266. It is a literal, so that a change of the hash is detected.
DOMAIN = 266
HOST = "cable.wufkweyy3uaxb.com"


class Relay:
    """`hybrid-relay serve` on a port of the loopback interface that the system chooses."""

    def __init__(self, programs, folder, certificates, waiting, options=()):
        self._waiting = waiting
        self._command = [programs.relay, "serve", "--tls-cert", certificates.relay, "--tls-key",
                         certificates.relay_key, *options, "--listen"]
        self._folder = folder
        self.port = 0
        self.start()

    def start(self):
        """Starts the relay, on the previous port after the first time."""
        # Output of the previous process must not count.
        self._said_before = len(self.program.said()) if self.port else 0
        self.program = Program("hybrid-relay", [*self._command, f"127.0.0.1:{self.port}"],
                               log=self._folder.path("relay.log"), environment=self._folder.environment())
        try:
            self.port = self._waiting.until("hybrid-relay to print its address", self._port, 60)
        except BaseException:
            self.stop()
            raise
        self._waiting.watch(self.program)

    def _port(self):
        said = self.program.said()[self._said_before:]
        if self.program.status is not None:
            raise Failed(f"hybrid-relay {self.program.ending}: {said.strip()}")
        found = re.search(r"listening on 127\.0\.0\.1:(\d+)", said)
        return found and int(found[1])

    def die(self):
        """Kills the relay; `start` starts another."""
        self._waiting.forget(self.program)
        self.program.kill()

    def stop(self):
        """Ends the relay; returns the errors found."""
        complaints = self.program.stop()
        if self.program.status != 0:
            complaints.append(f"hybrid-relay {self.program.ending}; expected status 0 after SIGTERM")
        return complaints
