# SPDX-License-Identifier: Apache-2.0
"""Environment of the cases: the load, two relays for all cases, and relays for a single one."""
import contextlib
import itertools

from harness.contact import HOST
from harness.relay_process import NODE, Certificates, Relay
from load import Load

# Certificates that the TLS relay uses one after the other.
PAIRS = 4


class TestEnvironment:
    """Two relays with their default limits, one without TLS, one with; 127.0.0.1 is their balancer."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.load = Load()
        self.certificates = Certificates(folder, PAIRS)
        self.plain = self.tls = None
        self._numbers = itertools.count(1)
        self._relays = []

    async def begin(self):
        self.plain = self._make("plain", proxied=True)
        self.tls = self._make("tls", "--log-format", "json", proxied=True, certificates=self.certificates)
        for relay in self.lasting:
            await relay.listens()

    def _make(self, name, *options, **more):
        relay = Relay(name, self.program, self.folder, "--node", str(NODE), "--contact-host", HOST, *options, **more)
        self._relays.append(relay)
        return relay

    @property
    def lasting(self):
        return [self.plain, self.tls]

    @contextlib.asynccontextmanager
    async def own_relay(self, name, *options, **more):
        """Returns a relay for one case."""
        relay = self._make(f"{name}-{next(self._numbers)}", *options, **more)
        try:
            yield await relay.listens()
        finally:
            relay.kill()

    async def end(self):
        """Ends the two relays with SIGTERM; returns their exit statuses."""
        return {relay.name: await relay.stop() for relay in self.lasting}

    def kill(self):
        """Kills all processes that still run."""
        for relay in self._relays:
            relay.kill()
