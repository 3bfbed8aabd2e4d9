# SPDX-License-Identifier: Apache-2.0
"""Environment of transfers: radio, relay, and devices with vaults of their own."""
import itertools
import json
import re
import shutil
import sys

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from harness.certificates import Certificates
from harness.environment import TestEnvironment
from harness.exchange_file import exchange_document
from harness.phone import PIN, PINENTRY
from harness.programs import Program, brief
from harness.radio import VirtualRadio
from harness.relay import DOMAIN, HOST, Relay
from harness.relying_party import RelyingParty
from harness.waiting import Waiting, must

ORIGIN = "https://localhost"
# The limits cost time after a failure only.
LIMIT = 60
GIVER, RECEIVER = "hci1", "hci0"
# Folders of a device that commands change.
PARTS = ("vault", "state")
# No file may have more than 512 bytes: records do not fit, the other files do. The output goes through a pipe, which has no limit.
FULL_DISK = ["bash", "-o", "pipefail", "-c", """sh -c 'trap "" XFSZ; ulimit -f 1; exec "$@"' sh "$@" 2>&1 | cat""", "bash"]


class NearbyEnvironment(TestEnvironment):
    """Everything that a transfer needs."""

    def __init__(self, programs, folder, signals, counterparts, is_thorough):
        super().__init__()
        self.folder, self.waiting, self.programs = folder, Waiting(signals), programs
        self.counterparts, self.is_thorough = counterparts, is_thorough
        self._numbers = itertools.count(1)

    def start(self):
        self.certificates = Certificates(self.folder.scratch / "certificates", HOST, self.folder.environment())
        self.radio = self.keep(VirtualRadio(self.programs, self.folder, self.waiting))
        self.relay = self.keep(Relay(self.programs, self.folder, self.certificates, self.waiting,
                                     ["--log-level", "debug"]))
        self.site = RelyingParty(ORIGIN, self.folder.path("site.jsonl"))

    def number(self):
        """Returns the next number for a file."""
        return next(self._numbers)

    def environment(self, **more):
        return self.folder.environment(DBUS_SYSTEM_BUS_ADDRESS=self.radio.address, **more)

    @property
    def route(self):
        return ["--cacert", self.certificates.authority, "--connect-to", f"{HOST}:443:127.0.0.1:{self.relay.port}"]

    def device(self, name="device"):
        """Returns a device without a vault."""
        return Device(self, f"{name}-{self.number()}")

    def python(self, role, *options, text=None):
        """Starts a counterpart: `receive` or `give`."""
        argv = [sys.executable, "-u", self.counterparts / "transfer.py", role, "--relay",
                f"127.0.0.1:{self.relay.port}", "--ca", str(self.certificates.authority), "--adapter",
                GIVER if role == "give" else RECEIVER, *options]
        log = self.folder.path(f"python-{role}-{self.number()}.log")
        return self.keep(Run(f"transfer.py {role}", argv, self, log=log, text=text, environment=self.environment()))

    def ended(self, run, status=0, text=""):
        """Waits for the end of a program, and checks its status and its output."""
        self.waiting.until(f"{run.name} to end", lambda: run.status is not None, LIMIT)
        must(run.status == status and text in run.said(),
             f"expected {run.name} to end with status {status} and {text!r}; it {run.ending}: {run.said()}")
        return run

    def transfer(self, giver, receiver, *options, **people):
        """Gives from one device to the other; returns both runs, which have ended well."""
        receiving = receiver.receive()
        giving = giver.give(receiving.code, *options)
        self.ended(giving)
        self.ended(receiving)
        digits = giving.event("digits")["digits"], receiving.event("digits")["digits"]
        must(digits[0] == digits[1] and len(digits[0]) == 6, f"expected the same six digits; found {digits}")
        return giving, receiving


class Run(Program):
    """A program that a case may leave running."""

    def __init__(self, name, argv, env, **options):
        super().__init__(name, argv, **options)
        self._env = env

    @property
    def events(self):
        """The JSON objects of the output so far."""
        return [json.loads(line) for line in self.said().split("\n")[:-1] if line.startswith("{")]

    def has(self, name):
        """Returns a list with the last state, notice or other event of a name, if any."""
        return [event for event in self.events
                if name in (event.get("state"), event.get("notice"), event.get("event"))][-1:]

    def event(self, name):
        """Waits for a state, a notice or another event; returns the last one."""
        def look():
            if self.status is not None and not self.has(name):
                must(False, f"expected {name} from {self.name}; it {self.ending}: {self.said()}")
            return self.has(name)

        return self._env.waiting.until(f"{name} from {self.name}", look, LIMIT)[0]

    @property
    def has_code(self):
        return re.search(r"HYBRID:/\d+", self.said()) is not None

    @property
    def code(self):
        """Waits for the code's text."""
        def look():
            must(self.status is None, f"expected a code from {self.name}; it {self.ending}: {self.said()}")
            return re.findall(r"HYBRID:/\d+", self.said())[-1:]

        return self._env.waiting.until(f"a code from {self.name}", look, LIMIT)[0]

    @property
    def result(self):
        """The object on standard output."""
        found = [event for event in self.events if "event" not in event]
        must(len(found) == 1, f"expected one result of {self.name}; found {self.said()}")
        return found[0]

    @property
    def failure(self):
        return self.event("error")


class Device:
    """A device with a vault, and the runs of hybrid-auth that use it."""

    def __init__(self, env, name):
        self._env, self.name = env, name
        self.folder = env.folder.phone / name
        self.folder.mkdir(mode=0o700)
        self.vault = self.folder / "vault"
        self._log = self.folder / "pinentry.log"
        self._log.touch(mode=0o600)

    def _environment(self, answer="yes", permission=""):
        return self._env.environment(XDG_STATE_HOME=str(self.folder / "state"), PERSON_LOG=str(self._log),
                                     PERSON_PIN=PIN, PERSON_ANSWER=answer, PERSON_MAY=str(permission))

    def start(self, *words, text=None, answer="yes", permission="", prefix=()):
        """Starts a command of hybrid-auth with this vault; `prefix` is a command that starts it in some way."""
        env = self._env
        argv = [*prefix, env.programs.auth, *words, "--vault", self.vault, "--pinentry", PINENTRY]
        return env.keep(Run(f"hybrid-auth {words[0]}", argv, env, log=env.folder.path(f"{self.name}-{env.number()}.log"),
                            text=text, environment=self._environment(answer, permission)))

    def command(self, *words, check=True):
        """Runs a short command; returns the object on its standard output."""
        argv = [str(self._env.programs.auth), *map(str, words), "--vault", str(self.vault), "--pinentry", str(PINENTRY)]
        done = brief(argv, environment=self._environment(), check=check)
        return json.loads(done.stdout) if check and done.stdout.startswith("{") else done

    def receive(self, *options, **person):
        return self.start("receive", "--json", "--adapter", RECEIVER, *self._env.route, "--name", self.name, *options,
                          **person)

    def join(self, *options, **person):
        return self.start("vault", "join", "--nearby", "--json", "--adapter", RECEIVER, *self._env.route, "--name",
                          self.name, *options, **person)

    def give(self, code, *options, **person):
        return self.start("give", *options, "-", "--json", "--adapter", GIVER, "--tunnel-domain", DOMAIN,
                          *self._env.route, "--name", self.name, text=code + "\n", **person)

    def scan(self, code):
        """Scans a sign-in code."""
        return self.start("scan", "-", "--adapter", GIVER, "--tunnel-domain", DOMAIN, *self._env.route,
                          text=code + "\n")

    def with_passkeys(self, *accounts, site="example.com"):
        """Creates the vault, with a passkey for each account; returns this device."""
        self.command("vault", "init")
        if accounts:
            self.add(*accounts, site=site)
        return self

    def add(self, *accounts, site="example.com"):
        """Imports a new passkey for each account."""
        file = self.folder / "import.json"
        file.write_text(json.dumps(exchange_document(site, accounts, new_key)))
        self.command("import", file)
        file.unlink()

    @property
    def passkeys(self):
        """Returns the accounts, sorted; fails if a passkey is twice in the vault."""
        found = self.command("passkeys", "list", "--json")["passkeys"]
        ids = [(passkey["rpId"], passkey["credentialId"]) for passkey in found]
        must(len(set(ids)) == len(ids), f"expected no passkey twice in {self.name}; found {found}")
        return sorted(passkey["userName"] for passkey in found)

    @property
    def history(self):
        return self.command("passkeys", "history", "--json")["history"]

    @property
    def questions(self):
        """Returns the number of questions that its user was asked."""
        return len(re.findall(r"^< (?:GETPIN|CONFIRM)", self._log.read_text(), re.MULTILINE))

    @property
    def asked_for_pin(self):
        return "< GETPIN" in self._log.read_text()

    def records(self):
        """Returns the files of the records."""
        return {str(path.relative_to(self.vault)) for path in self.vault.glob("records/*/*")
                if not path.name.startswith(".")}

    def save(self):
        """Keeps a copy of vault and state for `restore`."""
        self._remove(self._saved)
        for part in PARTS:
            shutil.copytree(self.folder / part, self._saved / part)

    def restore(self):
        """Puts vault and state back as they were."""
        for part in PARTS:
            self._remove(self.folder / part)
            shutil.copytree(self._saved / part, self.folder / part)

    @property
    def _saved(self):
        return self.folder / "saved"

    @staticmethod
    def _remove(folder):
        if folder.exists():
            shutil.rmtree(folder)

    def sync_to(self, other):
        """Copies the files of the vault, as a file sync does."""
        shutil.copytree(self.vault, other.vault, dirs_exist_ok=True)


def new_key():
    """Returns a new private key of P-256 as PKCS #8."""
    return ec.generate_private_key(ec.SECP256R1()).private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
