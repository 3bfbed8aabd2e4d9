# SPDX-License-Identifier: Apache-2.0
"""Environment of the SSH agent: radio, relay, phone, agent with a simulated prompt, and three SSH servers."""
import base64
import getpass
import hmac
import os
import re
import shlex
import socket

from harness.hybrid_key import Agent, KeyEnvironment
from harness.openssh import OpenSSH
from harness.phone import Person
from harness.programs import Program, brief
from harness.ssh_agent import fingerprint

COMMENT = "work laptop"


class SSHEnvironment(KeyEnvironment):
    """Everything that a login with a phone's key needs."""

    def __init__(self, programs, folder, signals, openssh=None):
        super().__init__(programs, folder, signals)
        self._openssh = openssh

    def start(self):
        super().start()
        self.openssh = installed = OpenSSH(self.environment)
        self.heading = installed.version
        if self._openssh:
            # The second server is still of the installed version.
            self.openssh = OpenSSH.unpacked(self.environment, self._openssh, self.folder.scratch / "openssh")
            self.heading = f"{self.openssh.version}; server B: {installed.version}"
        self.authorized_keys = self.folder.scratch / "authorized_keys"
        self.authorized_keys.touch()
        # The servers trust its certificates for users.
        self.authority = self.folder.scratch / "authority"
        brief(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.authority)], environment=self.environment)
        known = self.folder.home / ".ssh" / "known_hosts"
        known.parent.mkdir(mode=0o700)
        self.servers = [self.keep(Server(name, self, openssh))
                        for name, openssh in zip("ABC", (self.openssh, installed, self.openssh))]
        # The name of the first server is hashed, as with Debian's configuration.
        known.write_text("".join([self.servers[0].known(hashed=True), *(s.known() for s in self.servers[1:])]))
        self.agent = self.start_agent()
        self.config = self.folder.scratch / "ssh_config"
        self.config.write_text(
            f"Host *\n  UserKnownHostsFile {known}\n  GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n"
            "  PasswordAuthentication no\n  KbdInteractiveAuthentication no\n  IdentityFile none\n  BatchMode yes\n"
            f"  ConnectTimeout 30\n  User {getpass.getuser()}\n", encoding="ascii")

    def start_agent(self, *options, socket=None):
        """Starts another agent, on a socket of its own, or on that of an agent that has ended."""
        return self.keep(Agent(self.number(), options, self, socket))

    def run(self, name, argv, *, agent=None, environment=None):
        """Starts a program whose SSH agent is ours; its output is in a file."""
        said = self.folder.path(f"{self.number()}-{name}.log")
        variables = {**(environment or self.environment), "SSH_AUTH_SOCK": str((agent or self.agent).socket)}
        return self.keep(Program(name, argv, log=said, environment=variables))

    def ssh_words(self, server, *options, program="ssh"):
        """Returns a command for ssh or scp to a server, without the destination."""
        words = [self.openssh[program], "-F", str(self.config), *options]
        if program == "scp":
            return [*words, "-S", self.openssh["ssh"], "-P", str(server.port)]
        return [*words, "-p", str(server.port)]

    def ssh(self, server, *command, agent=None, options=()):
        """Starts ssh with a command to run on a server."""
        return self.run("ssh", [*self.ssh_words(server, *options), "127.0.0.1", shlex.join(command)], agent=agent)

    def answered(self, program, person=Person()):
        """Answers the next prompt with the phone and waits for the end of a program; returns the prompt."""
        prompt = self.prompts.next(program=program)
        phone = self.scan(prompt, person)
        self.ended(program)
        self.ended(phone)
        return prompt

    def public_key(self):
        """Returns the path of a file with the public key."""
        path = self.folder.scratch / "key.pub"
        path.write_text(self.key_command("ssh-keys", "list").split("\n")[0] + "\n")
        return path

    def offered(self, agent):
        """Returns the keys that an agent offers to ssh-add."""
        return brief([self.openssh["ssh-add"], "-L"],
                     environment={**self.environment, "SSH_AUTH_SOCK": str(agent.socket)}).stdout


class Server:
    """sshd with a host key of its own."""

    def __init__(self, name, env, openssh):
        folder = env.folder.scratch / f"sshd-{name}"
        folder.mkdir(mode=0o700)
        key = folder / "host_key"
        brief(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], environment=env.environment)
        self._key = key.with_suffix(".pub").read_text().split()[:2]
        self.fingerprint = fingerprint(key.with_suffix(".pub"))
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
        configuration = folder / "sshd_config"
        configuration.write_text(
            f"ListenAddress 127.0.0.1\nPort {self.port}\nHostKey {key}\nAuthorizedKeysFile {env.authorized_keys}\n"
            f"TrustedUserCAKeys {env.authority.with_suffix('.pub')}\n"
            "PidFile none\nStrictModes no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
            "LogLevel VERBOSE\nSubsystem sftp internal-sftp\n" + "".join(f"{line}\n" for line in openssh.server_options),
            encoding="ascii")
        self.program = Program("sshd", [openssh["sshd"], "-D", "-e", "-f", configuration],
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
