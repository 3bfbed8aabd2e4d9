# SPDX-License-Identifier: Apache-2.0
"""Our relay, under the name of our own tunnel domain."""
import re

from programs import Program
from waiting import Failed

# Number 266 is hashed to this name. It is written down here, so that a change of the hash does not go unseen.
DOMAIN = 266
HOST = "cable.wufkweyy3uaxb.com"


class Relay:
    """`hybrid-relay serve` on a port of the loopback interface that the system chose."""

    def __init__(self, programs, folder, certificates, waiting):
        self._waiting = waiting
        self._command = [programs.relay, "serve", "--tls-cert", certificates.relay, "--tls-key",
                         certificates.relay_key, "--listen"]
        self._folder = folder
        self.port = 0
        self.start()

    def start(self):
        """Starts it where it listened before, if it did."""
        # What the last one said does not speak of this one.
        self._said_before = len(self.program.said()) if self.port else 0
        self.program = Program("hybrid-relay", [*self._command, f"127.0.0.1:{self.port}"],
                               log=self._folder.path("relay.log"), environment=self._folder.environment())
        try:
            self.port = self._waiting.until("hybrid-relay to say where it listens", self._port, 60)
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
        """The relay is gone, from one moment to the next; `start` brings another."""
        self._waiting.forget(self.program)
        self.program.kill()

    def stop(self):
        """Ends the relay; returns what was not in order."""
        complaints = self.program.stop()
        if self.program.status != 0:
            complaints.append(f"hybrid-relay {self.program.ending}; after SIGTERM it ends with status 0")
        return complaints
