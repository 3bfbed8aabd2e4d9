# SPDX-License-Identifier: Apache-2.0
"""Environment of the SSH agent: radio, relay, phone, agent with a simulated prompt, and three SSH servers."""
import base64
import getpass
import hashlib
import hmac
import json
import os
import re
import shlex
import socket
from pathlib import Path

from harness.certificates import Certificates
from harness.environment import TestEnvironment
from harness.phone import Person, Phone
from harness.programs import Program, brief
from harness.radio import VirtualRadio
from harness.relay import DOMAIN, HOST, Relay
from harness.waiting import Failed, Waiting

PROMPT = Path(__file__).with_name("prompt")
COMMENT = "work laptop"


class SSHEnvironment(TestEnvironment):
    """Everything that a login with a phone's key needs."""

    def __init__(self, programs, folder, signals):
        super().__init__()
        self.folder, self.waiting, self.programs = folder, Waiting(signals), programs
        self._number, self._prompts = 0, set()

    def start(self):
        environment = self.folder.environment()
        certificates = Certificates(self.folder.scratch / "certificates", HOST, environment)
        self.radio = self.keep(VirtualRadio(self.programs, self.folder, self.waiting))
        self.relay = self.keep(Relay(self.programs, self.folder, certificates, self.waiting))
        self.phone = Phone(self.programs, self.folder, self.radio, self.relay, certificates, HOST, DOMAIN)
        self.prompt_folder = self.folder.path("prompts")
        self.prompt_folder.mkdir(mode=0o700)
        self.environment = self.folder.environment(
            DBUS_SYSTEM_BUS_ADDRESS=self.radio.address, HYBRID_PROMPT=str(PROMPT),
            PROMPT_FOLDER=str(self.prompt_folder), XDG_STATE_HOME=str(self.folder.scratch / "state"))
        self.route = ["--cacert", certificates.authority, "--adapter", "hci0", "--connect-to",
                      f"{HOST}:443:127.0.0.1:{self.relay.port}"]
        self.authorized_keys = self.folder.scratch / "authorized_keys"
        self.authorized_keys.touch()
        known = self.folder.home / ".ssh" / "known_hosts"
        known.parent.mkdir(mode=0o700)
        self.servers = [self.keep(Server(name, self)) for name in "ABC"]
        # The name of the first server is hashed, as with Debian's configuration.
        known.write_text("".join([self.servers[0].known(hashed=True), *(s.known() for s in self.servers[1:])]))
        self.agent = self.start_agent()
        self._config = self.folder.scratch / "ssh_config"
        self._config.write_text(
            f"Host *\n  UserKnownHostsFile {known}\n  GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n"
            "  PasswordAuthentication no\n  KbdInteractiveAuthentication no\n  IdentityFile none\n  BatchMode yes\n"
            f"  ConnectTimeout 30\n  User {getpass.getuser()}\n", encoding="ascii")

    def start_agent(self, *options):
        """Starts another agent."""
        self._number += 1
        return self.keep(Agent(self._number, options, self))

    def run(self, name, argv, *, agent=None, environment=None, folder=None):
        """Starts a program whose SSH agent is ours; its output is in a file."""
        self._number += 1
        said = self.folder.path(f"{self._number}-{name}.log")
        variables = {**(environment or self.environment), "SSH_AUTH_SOCK": str((agent or self.agent).socket)}
        command = ["env", f"--chdir={folder}", *argv] if folder else argv
        return self.keep(Program(name, command, log=said, environment=variables))

    def ssh_words(self, server, *options, program="ssh"):
        """Returns a command for ssh or scp to a server, without the destination."""
        port = "-P" if program == "scp" else "-p"
        return [program, "-F", str(self._config), *options, port, str(server.port)]

    def ssh(self, server, *command, agent=None, options=()):
        """Starts ssh with a command to run on a server."""
        return self.run("ssh", [*self.ssh_words(server, *options), "127.0.0.1", shlex.join(command)], agent=agent)

    def ended(self, program, seconds=60):
        """Waits for the end of a program; returns its status."""
        self.waiting.until(f"{program.name} to end", lambda: program.status is not None, seconds)
        return program.status

    def prompts(self):
        """Returns the prompts so far, in no order."""
        return [Prompt(path, self) for path in self.prompt_folder.glob("*.jsonl")]

    def next_prompt(self):
        """Waits for a prompt with a code that has not been returned before."""
        def look():
            return next((p for p in self.prompts() if p.name not in self._prompts and p.code), None)

        prompt = self.waiting.until("a prompt with a code", look, 60)
        self._prompts.add(prompt.name)
        return prompt

    def scan(self, prompt, person=Person()):
        """Scans the code of a prompt with the phone."""
        self._number += 1
        return self.keep(self.phone.scan(prompt.code, person, f"{self._number}"))

    def answered(self, program, person=Person()):
        """Answers the next prompt with the phone and waits for the end of a program; returns the prompt."""
        prompt = self.next_prompt()
        phone = self.scan(prompt, person)
        self.ended(program)
        self.ended(phone)
        return prompt

    def key_command(self, *words):
        """Returns the standard output of a short command of hybrid-key."""
        return brief([str(self.programs.key), *words], environment=self.environment).stdout


class Agent:
    """`hybrid-key agent` on a socket of its own."""

    def __init__(self, number, options, env):
        self.socket = env.folder.sockets / f"agent-{number}.sock"
        self.program = Program(
            "hybrid-key", [env.programs.key, "agent", "--socket", self.socket, *env.route, *options],
            log=env.folder.path(f"agent-{number}.log"), environment=env.environment)
        env.waiting.until("hybrid-key to listen", lambda: "listening on" in self.program.said(), 60)

    def stop(self):
        complaints = self.program.stop()
        if self.program.status not in (0, -9):
            complaints.append(f"hybrid-key {self.program.ending}; expected status 0 after SIGTERM")
        return complaints


class Prompt:
    """A simulated prompt, by its process ID."""

    def __init__(self, path, env):
        self.name, self._path, self._env = path.stem, path, env

    @property
    def events(self):
        lines = self._path.read_text(encoding="utf-8").split("\n")[:-1]
        return [json.loads(line) for line in lines]

    @property
    def code(self):
        return next((event["text"] for event in self.events if event["event"] == "qr"), None)

    @property
    def request(self):
        first = self.events[0]
        if first["event"] != "request":
            raise Failed(f"expected a prompt that begins with the request; found {first}")
        return first

    @property
    def is_gone(self):
        state = Path(f"/proc/{self.name}/stat")
        try:
            return state.read_text().rpartition(")")[2].split()[0] in "ZX"
        except OSError:
            return True

    def cancel(self):
        self._path.with_suffix(".cancel").touch()


class Server:
    """sshd with a host key of its own."""

    def __init__(self, name, env):
        folder = env.folder.scratch / f"sshd-{name}"
        folder.mkdir(mode=0o700)
        key = folder / "host_key"
        brief(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], environment=env.environment)
        self._key = key.with_suffix(".pub").read_text().split()[:2]
        self.fingerprint = "SHA256:" + base64.b64encode(
            hashlib.sha256(base64.b64decode(self._key[1])).digest()).decode().rstrip("=")
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
        configuration = folder / "sshd_config"
        configuration.write_text(
            f"ListenAddress 127.0.0.1\nPort {self.port}\nHostKey {key}\nAuthorizedKeysFile {env.authorized_keys}\n"
            "PidFile none\nStrictModes no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
            "LogLevel VERBOSE\nSubsystem sftp internal-sftp\n", encoding="ascii")
        self.program = Program("sshd", ["/usr/sbin/sshd", "-D", "-e", "-f", configuration],
                               log=env.folder.path(f"sshd-{name}.log"), environment=env.environment)
        env.waiting.until("sshd to listen", lambda: "Server listening" in self.program.said(), 60)

    @property
    def name(self):
        return f"[127.0.0.1]:{self.port}"

    def known(self, hashed=False):
        """Returns the line of this server in known_hosts."""
        name = self.name
        if hashed:
            salt = os.urandom(20)
            digest = hmac.new(salt, name.encode(), "sha1").digest()
            name = f"|1|{base64.b64encode(salt).decode()}|{base64.b64encode(digest).decode()}"
        return f"{name} {' '.join(self._key)}\n"

    def accepted(self):
        """Returns the accepted keys in the log, with their types."""
        return re.findall(r"Accepted publickey for \S+ from \S+ port \d+ ssh2: (.*)", self.program.said())

    def stop(self):
        return self.program.stop()
