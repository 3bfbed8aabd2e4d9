# SPDX-License-Identifier: Apache-2.0
"""What all suites of hybrid-key share: radio, relay, phone, simulated prompts, and checks."""
from pathlib import Path

from harness.certificates import Certificates
from harness.environment import TestEnvironment
from harness.phone import PINENTRY, Person, Phone
from harness.programs import Program, brief, session_members
from harness.prompts import Prompts
from harness.radio import VirtualRadio
from harness.relay import DOMAIN, HOST, Relay
from harness.waiting import Waiting, must, poll

# The limits cost time after a failure only.
LIMIT = 30


class KeyEnvironment(TestEnvironment):
    """Everything around hybrid-key; `environment` and `route` are its variables and its options."""

    # The program that simulates the phone's user.
    pinentry = PINENTRY
    # Further options of the relay.
    relay_options = ()

    def __init__(self, programs, folder, signals):
        super().__init__()
        self.folder, self.waiting, self.programs = folder, Waiting(signals), programs
        self._number = 0

    def start(self):
        self.certificates = certificates = Certificates(
            self.folder.scratch / "certificates", HOST, self.folder.environment())
        self.radio = self.keep(VirtualRadio(self.programs, self.folder, self.waiting))
        self.relay = self.keep(Relay(self.programs, self.folder, certificates, self.waiting, self.relay_options))
        self.phone = Phone(self.programs, self.folder, self.radio, self.relay, certificates, HOST, DOMAIN, self.pinentry)
        self.prompts = Prompts(self.folder.path("prompts"), self.waiting)
        self.environment = self.folder.environment(
            DBUS_SYSTEM_BUS_ADDRESS=self.radio.address, XDG_STATE_HOME=str(self.folder.scratch / "state"),
            **self.prompts.environment)
        self.route = ["--cacert", certificates.authority, "--adapter", "hci0", "--connect-to",
                      f"{HOST}:443:127.0.0.1:{self.relay.port}"]

    def number(self):
        """Returns the next number for a file."""
        self._number += 1
        return self._number

    def ended(self, program, seconds=60):
        """Waits for the end of a program; returns its status."""
        self.waiting.until(f"{program.name} to end", lambda: program.status is not None, seconds)
        return program.status

    def scan(self, prompt, person=Person()):
        """Scans the code of a prompt with the phone."""
        return self.keep(self.phone.scan(prompt.code, person, f"{self.number()}"))

    def play(self, prompt, script):
        """Scans the code of a prompt with the lab's phone, which follows a script."""
        return self.keep(self.phone.play(prompt.code, script, f"{self.number()}"))

    def key_command(self, *words):
        """Returns the standard output of a short command of hybrid-key."""
        return brief([str(self.programs.key), *words], environment=self.environment).stdout

    def logged(self, result):
        """Checks the last entry of the journal, which is written when a prompt has closed."""
        lines = []

        def look():
            lines[:] = self.key_command("log").strip().split("\n")[-1:]
            return f"  {result}  " in "".join(lines)

        must(poll(look, LIMIT, pause=0.1), f"expected the last entry of the journal to be {result!r}; found {lines}")


class Agent:
    """`hybrid-key agent` on a socket of its own."""

    def __init__(self, number, options, env, socket):
        self.socket = socket or env.folder.sockets / f"agent-{number}.sock"
        self.program = Program(
            "hybrid-key", [env.programs.key, "agent", "--socket", self.socket, *env.route, *options],
            log=env.folder.path(f"agent-{number}.log"), environment=env.environment)
        env.waiting.until("hybrid-key to listen", lambda: "listening on" in self.program.said(), 60)

    def ceremonies(self):
        """Returns the process IDs of its ceremonies."""
        return ceremonies(self.program)

    def stop(self):
        complaints = self.program.stop()
        if self.program.status not in (0, -9):
            complaints.append(f"hybrid-key {self.program.ending}; expected status 0 after SIGTERM")
        return complaints


def ceremonies(program):
    """Returns the process IDs of the ceremonies of a hybrid-key."""
    return [process for process in session_members(program.pid) if b"ceremony" in _command_line(process)]


def nothing_left(program, prompt):
    """Checks that a prompt and the ceremonies of a hybrid-key have ended."""
    must(poll(lambda: prompt.is_gone, LIMIT), "expected the prompt to close; it did not")
    must(poll(lambda: not ceremonies(program), LIMIT), "expected the ceremony to end; it did not")


def _command_line(process):
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
    except OSError:  # The process has just ended.
        return []
