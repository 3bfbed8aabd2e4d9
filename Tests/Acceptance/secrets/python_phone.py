# SPDX-License-Identifier: Apache-2.0
"""The phone in Python, on a thread of this process: its passkeys and their secrets are known to the test."""
import os
import threading

import algorithms
import answers
import authenticator
import cbor
import ctap
import fido2prf


class PythonPhone:
    """A phone with passkeys of its own; `options` are those of authenticator.py."""

    def __init__(self, env, *options):
        self._env, self._options, self.passkeys = env, options, {}

    def add(self, rp_id, credential_id, secret, key=None):
        """Gives the phone a passkey."""
        key = key or algorithms.new_key(ctap.ES256)
        self.passkeys[credential_id.hex()] = {
            "rp": rp_id, "user": "01", "key": algorithms.stored(key).hex(), "prf": secret.hex()}

    def forget(self):
        """Deletes all passkeys."""
        self.passkeys.clear()

    def secret(self, credential_id):
        """Returns the secret of a passkey."""
        return answers.prf_secret(self.passkeys[credential_id.hex()])

    def results(self, credential_id, nonce):
        return fido2prf.results(self.secret(credential_id), nonce)

    def scan(self, code, *options):
        """Scans a code; returns the session, which goes on by itself."""
        # The radio of all phones in this process.
        os.environ["DBUS_SYSTEM_BUS_ADDRESS"] = self._env.radio.address
        authority = str(self._env.certificates.authority)
        relay = f"127.0.0.1:{self._env.relay.port}"
        words = ["--relay", relay, "--ca", authority, "--inspect", *self._options, *options]
        return Session(authenticator.arguments(words), code, self.passkeys)


class Session(threading.Thread):
    """One scanned code."""

    def __init__(self, options, code, passkeys):
        super().__init__(daemon=True)
        self._authenticator = authenticator.Authenticator(options, code)
        self._authenticator.answers.passkeys.kept = passkeys
        self._answer, self._authenticator.answer = self._authenticator.answer, self._record
        #: Command and parameters of each request.
        self.requests = []
        self.error = None
        self.start()

    def _record(self, request):
        self.requests.append((request[0], cbor.read(request[1:])))
        return self._answer(request)

    def run(self):
        try:
            self._authenticator.run()
        except Exception as error:  # The case decides if that is an error: the client may have gone.
            self.error = error

    @property
    def is_over(self):
        return not self.is_alive()

    @property
    def faults(self):
        """Violations of the rules for clients."""
        return self._authenticator.inspection.faults
