# SPDX-License-Identifier: Apache-2.0
"""Environment of fingerprints: radio, relay, sensor, vault agent, and a phone with a vault."""
import json
import re
from pathlib import Path

from vault_agent import Agent
from harness.certificates import Certificates
from harness.environment import TestEnvironment
from harness.phone import PIN, Phone
from harness.programs import Program, brief
from harness.radio import VirtualRadio
from harness.relay import DOMAIN, HOST, Relay
from harness.relying_party import RelyingParty
from harness.waiting import Waiting, must
from sensor import Sensor

ORIGIN = "https://localhost"
PINENTRY = Path(__file__).with_name("finger_pinentry")
FINGER = "right-index-finger"
LIMIT = 60


class FingerEnvironment(TestEnvironment):
    """Everything that a sign-in with a finger needs."""

    def __init__(self, programs, folder, signals):
        super().__init__()
        self.folder, self.waiting, self.programs = folder, Waiting(signals), programs
        self._number = 0

    def start(self):
        self.certificates = Certificates(self.folder.scratch / "certificates", HOST, self.folder.environment())
        self.radio = self.keep(VirtualRadio(self.programs, self.folder, self.waiting))
        self.relay = self.keep(Relay(self.programs, self.folder, self.certificates, self.waiting))
        self.site = RelyingParty(ORIGIN, self.folder.path("site.jsonl"))
        self.phone = Phone(self.programs, self.folder, self.radio, self.relay, self.certificates, HOST, DOMAIN,
                           pinentry=PINENTRY)
        self.sensor = self.keep(Sensor(self))
        self.agent = self.keep(Agent(self))
        self.sensor.enroll(FINGER, "own")
        self.vault("init")
        self.vault_id = bytes.fromhex(json.loads(self.vault("status", "--json"))["id"])
        self.sign_in("no", create=True)

    def number(self):
        self._number += 1
        return self._number

    def environment(self, touches="no", **more):
        return self.folder.environment(
            DBUS_SYSTEM_BUS_ADDRESS=self.radio.address, XDG_STATE_HOME=str(self.folder.phone / "state"),
            PERSON_LOG=str(self.folder.path("pinentry.log")), PERSON_PIN=PIN, PERSON_TOUCHES=touches, **more)

    def vault(self, *words, check=True):
        """Runs a command of `hybrid-auth vault`; returns its output."""
        command = [str(self.programs.auth), "vault", *words, "--vault", str(self.folder.phone / "vault")]
        if words[0] in ("init", "change-pin") or words[:2] == ("finger", "enable"):
            command += ["--pinentry", str(PINENTRY)]
        done = brief(command, environment=self.environment(), check=check)
        return done.stdout if check else done

    def doctor(self):
        """Runs `hybrid-auth doctor --json`; returns how it ended."""
        command = [str(self.programs.auth), "doctor", "--json", "--timeout", "20", "--vault",
                   str(self.folder.phone / "vault"), "--pinentry", str(PINENTRY)]
        return brief(command, environment=self.environment(), check=False)

    def ready(self):
        """Makes the agent hold the key of the vault, with a fresh sensor."""
        self.sensor.deny.unlink(missing_ok=True)
        self.sensor.start()
        self.vault("finger", "enable")
        # Misses of the case before stay: only a match resets them.
        must(self.agent.status()[0] == [self.vault_id], f"expected one held key; found {self.agent.status()}")

    def after_case(self, name, failed):
        return []

    def sign_in(self, touches, act=lambda: None, create=False):
        """Signs in, or creates a passkey; the user touches the sensor, or types the PIN. Returns the log and prompts.

        `act` is called when the prompt is shown.
        """
        options = self.site.creation_options() if create else self.site.request_options(allow="any")
        client = self._show(options)
        code = self.waiting.until("a code", lambda: re.findall(r"FIDO:/\d+", client.said())[-1:], LIMIT)[0]
        before = len(self.phone.dialogues())
        scan = self.scan(code, touches)
        self.waiting.until("a prompt", lambda: self.phone.asks_more_than(before), LIMIT)
        act()
        for program in (scan, client):
            self.waiting.until(f"{program.name} to end", lambda: program.status is not None, LIMIT)
            must(program.status == 0, f"{program.name} {program.ending}: {program.said()}")
        found = [json.loads(line) for line in client.said().splitlines() if line.startswith("{") and "rawId" in line]
        must(len(found) == 1, f"expected one response; found {client.said()}")
        verify = self.site.verify_creation if create else self.site.verify_request
        verify(found[0], options["challenge"])
        return scan.said(), self.phone.dialogues()[before:]

    def scan(self, code, touches):
        command = [*self.phone._command, "--no-ask-to-link", "-"]
        return self.keep(Program("hybrid-auth", command, log=self.folder.path(f"scan-{self.number()}.log"),
                                 text=code + "\n", environment=self.environment(touches)))

    def give(self, touch):
        """Gives all passkeys to another vault, while `touch` acts at the sensor; returns the result and the prompts."""
        route = ["--cacert", self.certificates.authority, "--connect-to", f"{HOST}:443:127.0.0.1:{self.relay.port}"]
        other, before = self.folder.scratch / f"other-{self.number()}", len(self.phone.dialogues())
        receiver = self.keep(Program(
            "hybrid-auth receive",
            [self.programs.auth, "receive", "--json", "--adapter", "hci0", *route, "--vault", other, "--pinentry", PINENTRY],
            log=self.folder.path(f"receive-{self.number()}.log"),
            environment={**self.environment(), "XDG_STATE_HOME": f"{other}-state", "PERSON_LOG": f"{other}-log"}))
        code = self.waiting.until("a code", lambda: re.findall(r"HYBRID:/\d+", receiver.said())[-1:], LIMIT)[0]
        giver = self.keep(Program(
            "hybrid-auth give",
            [self.programs.auth, "give", "--all", "-", "--json", "--adapter", "hci1", "--tunnel-domain", DOMAIN, *route,
             "--vault", self.folder.phone / "vault", "--pinentry", PINENTRY],
            log=self.folder.path(f"give-{self.number()}.log"), text=code + "\n", environment=self.environment("yes")))
        touch()
        for program in (giver, receiver):
            self.waiting.until(f"{program.name} to end", lambda: program.status is not None, LIMIT)
            must(program.status == 0, f"{program.name} {program.ending}: {program.said()}")
        found = [json.loads(line) for line in giver.said().splitlines() if '"given"' in line]
        return found[-1], self.phone.dialogues()[before:]

    def _show(self, options):
        number = self.number()
        request = self.folder.scratch / f"request-{number}.json"
        request.write_text(json.dumps({"publicKey": options}))
        route = f"{HOST}:443:127.0.0.1:{self.relay.port}"
        command = [self.programs.client, "show-qr", "--json", "--request", request, "--origin", ORIGIN, "--adapter",
                   "hci0", "--cacert", str(self.certificates.authority), "--connect-to", route, "--no-phones"]
        environment = self.folder.environment(DBUS_SYSTEM_BUS_ADDRESS=self.radio.address,
                                              XDG_STATE_HOME=str(self.folder.scratch / "client"))
        return self.keep(Program("hybrid-client", command, log=self.folder.path(f"client-{number}.log"),
                                 environment=environment))
