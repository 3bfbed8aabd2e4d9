# SPDX-License-Identifier: Apache-2.0
"""Environment of the security key: `hybrid-key serve` with a simulated hybrid-uhid in place of the kernel's device."""
import os
import socket
import sys
import threading

from device import Helper
from fido2.ctap import CtapError
from fido2.ctap2 import Ctap2
from harness.hybrid_key import KeyEnvironment, ceremonies, nothing_left
from harness.phone import Person
from harness.programs import Program
from harness.waiting import Failed, must
from libfido2 import LibFIDO2

# In a mount namespace of its own, the program finds our socket at the path of hybrid-uhid's.
IN_NAMESPACE = 'mount --bind "$0" /run && exec "$@"'
# What a service manager does for a socket-activated service.
ACTIVATE = """import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_FDS="1", LISTEN_FDNAMES="agent", LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[2], sys.argv[2:])"""


class SecurityKeyEnvironment(KeyEnvironment):
    """Everything that a security key on the phone needs."""

    def __init__(self, programs, folder, signals):
        super().__init__(programs, folder, signals)
        self._credential = None

    @property
    def credential(self):
        """The ID and the public key of the credential that most cases need."""
        must(self._credential, "expected the credential of the case register; it did not run or did not pass")
        return self._credential

    @credential.setter
    def credential(self, value):
        self._credential = value

    def start_key(self):
        """Starts a hybrid-key; each may open three windows in a minute, so each case has its own."""
        return self.keep(Key(self.number(), self))

    def confirmed(self, call, person=Person(), key=None):
        """Answers the next prompt with the phone and waits for the end of a call; returns the prompt."""
        prompt = self.prompts.next(program=key and key.program)
        phone = self.scan(prompt, person)
        call.wait()
        self.ended(phone)
        return prompt


class Key:
    """A running `hybrid-key serve` with its device."""

    def __init__(self, number, env):
        self._env = env
        run = env.folder.sockets / f"run-{number}"
        self._helper = Helper(run / "hybrid-uhid" / "socket")
        with socket.socket(socket.AF_UNIX) as agent:
            agent.bind(str(env.folder.sockets / f"agent-{number}.sock"))
            agent.listen()
            mapped = [] if os.geteuid() == 0 else ["--map-root-user"]
            self.program = Program(
                "hybrid-key", ["unshare", "--mount", *mapped, "--", "sh", "-c", IN_NAMESPACE, run, sys.executable, "-c",
                               ACTIVATE, agent.fileno(), env.programs.key, "serve", *env.route],
                log=env.folder.path(f"key-{number}.log"), environment=env.environment, pass_fds=(agent.fileno(),))
        self.device = None
        self.connected()

    def connected(self):
        """Waits for the next device of the key, which becomes `device`."""
        if self.device:
            self.device.close()
        self.device = self._env.waiting.until("hybrid-key to connect to hybrid-uhid", self._connection, 60)

    def _connection(self):
        if self.program.status is not None:
            raise Failed(f"hybrid-key {self.program.ending}: {self.program.said().strip()}")
        return self._helper.device()

    def fido2(self):
        """Returns python-fido2 with a channel of its own."""
        return Ctap2(self.device.fido2())

    def libfido2(self):
        return LibFIDO2(self.device.open())

    def call(self, function, *arguments, **options):
        """Starts a call that waits for the user."""
        return Call(self._env, lambda: function(*arguments, **options))

    def ceremonies(self):
        return ceremonies(self.program)

    def leaves_nothing(self, prompt):
        nothing_left(self.program, prompt)

    def stop(self):
        complaints = self.program.stop()
        if self.program.status not in (0, -9):
            complaints.append(f"hybrid-key {self.program.ending}; expected status 0 after SIGTERM")
        self._helper.close()
        self.device.close()
        return complaints


class Call(threading.Thread):
    """A blocking call of a client on a thread of its own."""

    def __init__(self, env, function):
        super().__init__(daemon=True)
        self._env, self._function, self._result, self._error = env, function, None, None
        self.start()

    def run(self):
        try:
            self._result = self._function()
        except Exception as error:  # Raised again by the thread that waits.
            self._error = error

    def wait(self):
        """Waits for the end."""
        self._env.waiting.until("the client's call to return", lambda: not self.is_alive(), 60)

    def result(self):
        """Waits for the end; returns the result, or raises the error of the call."""
        self.wait()
        if isinstance(self._error, CtapError):
            raise Failed(f"expected the call to succeed; it failed with {self._error}")
        if self._error:
            raise self._error
        return self._result

    def fails(self, status):
        """Waits for the end; the call must fail with a status of CTAP."""
        self.wait()
        found = self._error.code if isinstance(self._error, CtapError) else self._error or "success"
        must(isinstance(self._error, CtapError) and found == status,
             f"expected the call to fail with {status:#x}; found {found!r}")
