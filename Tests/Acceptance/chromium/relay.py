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
        self.program = Program(
            "hybrid-relay",
            [programs.relay, "serve", "--listen", "127.0.0.1:0", "--tls-cert", certificates.relay,
             "--tls-key", certificates.relay_key],
            log=folder.path("relay.log"), environment=folder.environment())
        try:
            self.port = waiting.until("hybrid-relay to say where it listens", self._port, 60)
        except BaseException:
            self.stop()
            raise
        waiting.watch(self.program)

    def _port(self):
        if self.program.status is not None:
            raise Failed(f"hybrid-relay {self.program.ending}: {self.program.said().strip()}")
        found = re.search(r"listening on 127\.0\.0\.1:(\d+)", self.program.said())
        return found and int(found[1])

    def stop(self):
        """Ends the relay; returns what was not in order."""
        complaints = self.program.stop()
        if self.program.status != 0:
            complaints.append(f"hybrid-relay {self.program.ending}; after SIGTERM it ends with status 0")
        return complaints
