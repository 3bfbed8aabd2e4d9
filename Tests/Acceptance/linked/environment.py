# SPDX-License-Identifier: Apache-2.0
"""Environment of linked phones: radio, relay, session bus, and clients and phones of both kinds."""
import json
import re
import secrets
import sys

import algorithms
import ctap
import linking
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from harness.certificates import Certificates
from harness.distributor import Distributor
from harness.environment import TestEnvironment
from harness.notifications import Notifications
from harness.phone import PIN, PINENTRY, Person, Phone
from harness.programs import Program, brief
from harness.push_server import PushServer
from harness.radio import VirtualRadio
from harness.relay import DOMAIN, HOST, Relay
from harness.relying_party import RelyingParty
from harness.waiting import Waiting, must
from website import to_base64url

ORIGIN = "https://localhost"
# The limits cost time after a failure only.
LIMIT = 60


class LinkedEnvironment(TestEnvironment):
    """Everything that a sign-in with a linked phone needs."""

    def __init__(self, programs, folder, signals, counterparts):
        super().__init__()
        self.folder, self.waiting, self.programs = folder, Waiting(signals), programs
        self.counterparts = counterparts
        self._number = 0

    def start(self):
        self.certificates = Certificates(self.folder.scratch / "certificates", HOST, self.folder.environment())
        self.radio = self.keep(VirtualRadio(self.programs, self.folder, self.waiting))
        # A name of its own, which the relay must be allowed to reach.
        push = Certificates(self.folder.scratch / "push-certificates", "localhost", self.folder.environment())
        self.push_server = PushServer(push.relay, push.relay_key, host="localhost")
        keys = self.folder.scratch / "push-keys"
        brief([str(self.programs.relay), "new-push-keys", str(keys)], environment=self.folder.environment())
        self.relay = self.keep(Relay(
            self.programs, self.folder, self.certificates, self.waiting,
            ["--contact-host", HOST, "--push-key-file", keys, "--push-subject", "mailto:relay@example.com",
             "--push-allow", f"localhost:{self.push_server.port}", "--push-cacert", push.authority]))
        self.notifications = self.keep(Notifications(self.folder, self.waiting))
        self.distributor = self.keep(Distributor(self.notifications.address, self.push_server))
        self.site = RelyingParty(ORIGIN, self.folder.path("site.jsonl"))
        self.phone = self.keep(OurPhone(self))

    def number(self):
        """Returns the next number for a file."""
        self._number += 1
        return self._number

    def after_case(self, name, failed):
        self.notifications.answer = "agree"
        return []

    def environment(self, **more):
        return self.folder.environment(DBUS_SYSTEM_BUS_ADDRESS=self.radio.address, **more)

    @property
    def address(self):
        return f"127.0.0.1:{self.relay.port}"

    @property
    def authority(self):
        return str(self.certificates.authority)

    def python(self, name, program, *options, text=None):
        """Starts a counterpart."""
        argv = [sys.executable, "-u", self.counterparts / program, "--relay", self.address, "--ca", self.authority,
                *options]
        log = self.folder.path(f"{name}-{self.number()}.log")
        return self.keep(Counterpart(program, argv, log=log, text=text, environment=self.environment()))

    def ended(self, program, status=0, text=""):
        """Waits for the end of a program, and checks its status and its output."""
        self.waiting.until(f"{program.name} to end", lambda: program.status is not None, LIMIT)
        must(program.status == status and text in program.said(),
             f"expected {program.name} to end with status {status} and {text!r}; it {program.ending}: {program.said()}")

    def register(self, client, phone):
        """Creates a passkey on a phone, which scans a code; returns its ID."""
        options = self.site.creation_options(account=f"account-{self.number()}@example.com")
        run = client.show(options, ["--no-phones"] if isinstance(client, OurClient) else [])
        scan = phone.scan(run.code)
        self.ended(run)
        self.ended(scan)
        return self.site.verify_creation(run.response, options["challenge"])["id"]

    def request(self, credential=None):
        """Returns options for a sign-in with a passkey, or with any."""
        options = self.site.request_options(allow="any")
        if credential:
            options["allowCredentials"] = [{"type": "public-key", "id": credential}]
        return options

    def accepted(self, run, options):
        """Checks the end of a sign-in and its response."""
        self.ended(run)
        self.site.verify_request(run.response, options["challenge"])


class Counterpart(Program):
    """A program that a case may leave running: it may end with any status."""

    def lines(self):
        """The JSON objects of the output so far."""
        found = []
        for line in self.said().split("\n")[:-1]:
            if line.startswith("{"):
                found.append(json.loads(line))
        return found


class Run(Counterpart):
    """A run of a client, which shows a code or contacts a phone."""

    waiting = None

    @property
    def events(self):
        return [line for line in self.lines() if "event" in line]

    @property
    def states(self):
        return [event["state"] for event in self.events if event["event"] == "state"]

    def event(self, name):
        """Waits for a state or a notice of show-qr; returns its last event."""
        def look():
            if self.status is not None and not found():
                must(False, f"expected {name} from {self.name}; it {self.ending}: {self.said()}")
            return found()

        def found():
            return [event for event in self.events if name in (event.get("state"), event.get("notice"))][-1:]

        return self.waiting.until(f"{name} from {self.name}", look, LIMIT)[0]

    def never_showed_code(self):
        return "FIDO:/" not in self.said()

    @property
    def code(self):
        """Waits for the code's text."""
        def look():
            must(self.status is None, f"expected a code from {self.name}; it {self.ending}: {self.said()}")
            return re.findall(r"FIDO:/\d+", self.said())[-1:]

        return self.waiting.until(f"a code from {self.name}", look, LIMIT)[0]

    @property
    def response(self):
        """The response for the website."""
        found = [line for line in self.lines() if "rawId" in line]
        must(len(found) == 1, f"expected one response from {self.name}; found {self.said()}")
        return found[0]


class OurClient:
    """hybrid-client with links of its own."""

    def __init__(self, env):
        self._env, self._state = env, env.folder.scratch / f"client-{env.number()}"

    def _environment(self):
        return self._env.environment(XDG_STATE_HOME=str(self._state))

    def show(self, options, flags=(), port=None):
        """Starts show-qr with options of the website."""
        env, number = self._env, self._env.number()
        request = env.folder.scratch / f"request-{number}.json"
        request.write_text(json.dumps({"publicKey": options}))
        route = f"{HOST}:443:127.0.0.1:{port or env.relay.port}"
        run = Run("hybrid-client", [env.programs.client, "show-qr", "--json", "--request", request, "--origin", ORIGIN,
                                    "--adapter", "hci0", "--cacert", env.authority, "--connect-to", route, *flags],
                  log=env.folder.path(f"client-{number}.log"), environment=self._environment(), pipe_input=True)
        run.waiting = env.waiting
        return env.keep(run)

    def remember(self, line):
        """Imports an SSH key."""
        brief([str(self._env.programs.key), "ssh-keys", "import", "-"], environment=self._environment(),
              text=f"# hybrid-key ssh keys 1\n{line}\n")

    def link_with_key(self):
        """Starts hybrid-key link."""
        env = self._env
        run = Run("hybrid-key", [env.programs.key, "link", "--json", "--adapter", "hci0", "--cacert", env.authority,
                                 "--connect-to", f"{HOST}:443:127.0.0.1:{env.relay.port}"],
                  log=env.folder.path(f"link-{env.number()}.log"), environment=self._environment(), pipe_input=True)
        run.waiting = env.waiting
        return env.keep(run)

    def phones(self):
        """Returns the linked phones."""
        said = brief([str(self._env.programs.client), "phones", "list", "--json"], environment=self._environment())
        return [json.loads(line) for line in said.stdout.splitlines()]

    def forget(self, name):
        brief([str(self._env.programs.client), "phones", "forget", name], environment=self._environment())

    def sessions(self):
        """Returns the modes of the files of TLS sessions."""
        return [f"{file.stat().st_mode & 0o777:o}" for file in (self._state / "hybrid" / "links").glob("*.tls")]

    def link(self, phone, credential, port=None):
        """Links a phone in a sign-in with a code; returns its name."""
        options = self._env.request(credential)
        run = self.show(options, ["--link"], port)
        scan = phone.scan(run.code, link=True)
        offer = run.event("link-offer")
        name = offer["phone"]
        must(offer["evidence"] == "verified", f"expected a passkey that this client saw being created; found {offer}")
        must(name not in [known["name"] for known in self.phones()], "expected no link before the user's answer")
        run.write("yes\n")
        self._env.accepted(run, options)
        self._env.ended(scan)
        must(isinstance(phone, PythonPhone) or f"link code {offer['link_code']}" in scan.said(),
             f"expected the digits of {offer} on the phone; found {scan.said()}")
        must(run.event("linked")["phone"] == name, f"expected a link with {name}; found {run.events}")
        must(name in [known["name"] for known in self.phones()], f"expected {name} in the list; found {self.phones()}")
        return name

    def sign_in(self, credential, port=None):
        """Signs in without a code."""
        options = self._env.request(credential)
        run = self.show(options, port=port)
        self._env.accepted(run, options)
        must(run.never_showed_code(), f"expected no code; found {run.states}")
        order = ["contacting", "phone-notified", "phone-found", "confirm", "done"]
        must([state for state in run.states if state in order] == order, f"expected {order}; found {run.states}")


class PythonClient:
    """client.py, with a link in a file."""

    def __init__(self, env):
        self._env, self.file = env, env.folder.scratch / f"link-{env.number()}.json"

    def show(self, options, flags=()):
        env = self._env
        argv = [sys.executable, "-u", env.counterparts / "client.py", "--relay", env.address, "--ca", env.authority,
                "--origin", ORIGIN, "--adapter", "hci0", "--inspect", *flags]
        run = Run("client.py", argv, log=env.folder.path(f"client-{env.number()}.log"),
                  text=json.dumps({"publicKey": options}) + "\n", environment=env.environment())
        run.waiting = env.waiting
        return env.keep(run)

    @property
    def stored(self):
        return linking.ClientLink.load(self.file)

    def link(self, phone, credential):
        options = self._env.request(credential)
        run = self.show(options, ["--link", self.file])
        scan = phone.scan(run.code, link=True)
        self._env.accepted(run, options)
        self._env.ended(scan)

    def sign_in(self, credential):
        options = self._env.request(credential)
        run = self.show(options, ["--contact", self.file])
        self._env.accepted(run, options)
        must(run.never_showed_code(), "expected no code")


class OurPhone:
    """hybrid-auth: scans codes, and listens for linked computers."""

    def __init__(self, env, folder=None):
        self._env = env
        self._own = folder or env.folder
        self._phone = Phone(env.programs, self._own, env.radio, env.relay, env.certificates, HOST, DOMAIN)
        self.listener = None
        #: The user's name for the computer that was linked last.
        self.label = None

    def scan(self, code, link=False, options=()):
        """Scans a code; with `link`, the user agrees to a link."""
        env = self._env
        if link:
            self.label = f"laptop {env.number()}"
            options = ["--link-as", self.label, *options]
        return env.keep(self._phone.scan(code, Person(), f"scan-{env.number()}", options))

    def listen(self, port=None):
        """Starts hybrid-auth listen, if it does not run on this port already; returns it."""
        env, port = self._env, port or self._env.relay.port
        if self.listener and self.listener.port == port and self.listener.status is None:
            return self.listener
        self.stop()
        self.listener = Counterpart(
            "hybrid-auth listen",
            [env.programs.auth, "listen", *self._route(port), "--vault", env.folder.phone / "vault", "--adapter",
             "hci1", "--pinentry", PINENTRY],
            log=env.folder.path(f"listen-{env.number()}.log"),
            environment=self._environment(PERSON_PIN=PIN, PERSON_ANSWER="yes", PERSON_MAY=""))
        self.listener.port = port
        return self.listener

    def listening(self, port=None):
        """Starts hybrid-auth listen, and waits until it listens for every link."""
        listener = self.listen(port)
        labels = [link["name"] for link in self.links() if link["state"] == "active"]

        def look():
            must(listener.status is None, f"hybrid-auth listen {listener.ending}: {listener.said()}")
            return all(f'"{label}" can wake this device' in listener.said() for label in labels)

        self._env.waiting.until("hybrid-auth to listen for all links", look, LIMIT)
        return listener

    def heard(self, text, count=1):
        """Waits until a line of hybrid-auth listen was printed at least `count` times."""
        listener = self.listener
        self._env.waiting.until(f"{text!r} from {listener.name}", lambda: listener.said().count(text) >= count, LIMIT)

    def links(self):
        return json.loads(self.command("links", "list", "--json"))["links"]

    def command(self, *words):
        return brief([str(self._env.programs.auth), *words], environment=self._environment()).stdout

    def forget(self, link_id):
        self.command("links", "forget", *map(str, self._route(self._env.relay.port)), "--", link_id.hex())

    def _route(self, port):
        return ["--cacert", self._env.authority, "--connect-to", f"{HOST}:443:127.0.0.1:{port}"]

    def _environment(self, **more):
        env = self._env
        return env.environment(XDG_STATE_HOME=str(self._own.phone / "state"),
                               DBUS_SESSION_BUS_ADDRESS=env.notifications.address,
                               PERSON_LOG=str(env.folder.path("pinentry.log")), **more)

    def stop(self):
        if not self.listener or self.listener.status is not None:
            return []
        complaints = self.listener.stop()
        if self.listener.status != 0:
            complaints.append(f"hybrid-auth listen {self.listener.ending}; expected status 0 after SIGTERM")
        return complaints


class PythonPhone:
    """authenticator.py, with its passkeys and its link in files."""

    def __init__(self, env, name="Counterpart"):
        self._env, self.name, number = env, name, env.number()
        self._keys = env.folder.scratch / f"keys-{number}.json"
        self.file = env.folder.scratch / f"phone-link-{number}.json"

    @property
    def link(self):
        return linking.PhoneLink.load(self.file)

    def ssh_key(self):
        """Makes an SSH key on this phone; returns its line for `ssh-keys import`."""
        key, identifier, site = algorithms.new_key(ctap.ES256), secrets.token_bytes(20), "ssh-acceptance.invalid"
        self._store(identifier, site, key)
        point = key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        fields = (b"sk-ecdsa-sha2-nistp256@openssh.com", b"nistp256", point, site.encode())
        blob = b"".join(len(field).to_bytes(4, "big") + field for field in fields)
        return f"{to_base64url(blob)} {to_base64url(identifier)} - acceptance"

    def forge_keys_of(self, other):
        """Gives this phone keys of its own under the credential IDs of another."""
        for identifier, passkey in json.loads(other._keys.read_text()).items():
            self._store(bytes.fromhex(identifier), passkey["rp"], algorithms.new_key(ctap.ES256))

    def _store(self, identifier, site, key):
        passkey = {"rp": site, "user": "01", "key": algorithms.stored(key).hex()}
        self._keys.write_text(json.dumps({identifier.hex(): passkey}))

    def use_keys_of(self, other):
        """Makes this phone have the passkeys of another."""
        self._keys = other._keys

    def scan(self, code, link=False, options=()):
        links = ["--link", self.file, "--name", self.name] if link else []
        return self._env.python("phone", "authenticator.py", "--inspect", "--keys", self._keys, *links, *options,
                                text=code + "\n")

    def listen(self, *options):
        """Starts to listen; returns when the relay has accepted."""
        program = self._env.python("listen", "authenticator.py", "--inspect", "--keys", self._keys, "--listen",
                                   self.file, *options)
        self._env.waiting.until("authenticator.py to listen", lambda: "listening" in program.said() or must(
            program.status is None, f"authenticator.py {program.ending}: {program.said()}"), LIMIT)
        return program

    def listener(self):
        """Returns a connection of this phone in this process."""
        link = self.link
        return linking.Listener(link.contact_key, link.host, self._env.address, self._env.authority)
