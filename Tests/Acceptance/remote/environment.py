# SPDX-License-Identifier: Apache-2.0
"""Environment of sign-ins in a browser on another host: this computer with radio, relay, phone and agent, and two hosts
behind it.

    this computer ── b ── c

This process has a network of its own, from which ssh reaches b, and b reaches c. No host has a route to anything else.
"""
import json
import os
import shlex
import socket

from harness.hybrid_key import LIMIT, Agent, KeyEnvironment
from harness.openssh import OpenSSH
from harness.phone import Person
from harness.programs import Program, brief
from harness.relying_party import RelyingParty
from harness.ssh_agent import string
from harness.waiting import must, poll
from hosts import RAW_COMMAND, Ask, Host, asking, raw_answers, raw_input

ORIGIN = "http://localhost:8000"
EXTENSION = b"webauthn@hybrid.invalid"


class RemoteEnvironment(KeyEnvironment):
    """Everything that a sign-in on another host needs."""

    def __init__(self, programs, folder, signals, openssh=None):
        super().__init__(programs, folder, signals)
        self._openssh = openssh

    def start(self):
        self._agents = []
        brief(["ip", "link", "set", "lo", "up"], environment=os.environ)
        super().start()
        self.openssh = installed = OpenSSH(self.environment)
        self.heading = installed.version
        if self._openssh:
            # The host c is still of the installed version.
            self.openssh = OpenSSH.unpacked(self.environment, self._openssh, self.folder.scratch / "openssh")
            self.heading = f"{self.openssh.version}; host c: {installed.version}"
        key = self.folder.scratch / "id"
        brief(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], environment=self.environment)
        hosts = self.start_hosts(key)
        known = self.folder.home / ".ssh" / "known_hosts"
        known.parent.mkdir(mode=0o700)
        known.write_text("".join(host.known() for host in hosts), encoding="ascii")
        self.config = self.folder.scratch / "ssh_config"
        self.configure(self.config, known, key, hosts)
        self.site = RelyingParty(ORIGIN, self.folder.path("site.jsonl"))
        self.allow("b.test")

    def start_hosts(self, key):
        """Starts the hosts, which permit logins with a key; returns them."""
        public = key.with_suffix(".pub").read_text()
        self.b = self.keep(Host("b", self, public, self._openssh))
        self.c = self.keep(Host("c", self, public))
        self.b.link(1)
        self.c.link(2, self.b)
        # The programs of b log in to c with a copy of the key.
        on_b = self.b.folder / "home" / ".ssh"
        (on_b / "known_hosts").write_text(self.c.known(), encoding="ascii")
        (on_b / "id").write_bytes(key.read_bytes())
        (on_b / "id").chmod(0o600)
        self.configure(on_b / "config", "/tmp/home/.ssh/known_hosts", "/tmp/home/.ssh/id", [self.c])
        return [self.b, self.c]

    @staticmethod
    def configure(file, known, key, hosts):
        """Writes the configuration of ssh."""
        hosts = "".join(f"Host {host.alias}\n  HostName {host.address}\n  HostKeyAlias {host.alias}\n  User {host.user}\n"
                        for host in hosts)
        file.write_text(
            f"{hosts}Host *\n  UserKnownHostsFile {known}\n  GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n"
            f"  IdentityFile {key}\n  IdentitiesOnly yes\n  BatchMode yes\n  ConnectTimeout 30\n  LogLevel ERROR\n"
            "  ExitOnForwardFailure yes\n", encoding="ascii")

    # ---- This computer -----------------------------------------------------------------------------------------------

    def start_agent(self, *options):
        """Starts an agent; each opens three windows without a response in a minute, so cases have their own."""
        agent = self.keep(Agent(self.number(), options, self, None))
        self._agents.append(agent)
        return agent

    def after_case(self, name, failed):
        # The windows of a case that failed must not meet the next one.
        if failed:
            for agent in self._agents:
                agent.stop()
            self.prompts.forget()
        self._agents = []
        return []

    def remote(self, *words, check=True):
        """Runs a command of `hybrid-key remote`; returns the completed process."""
        return brief([str(self.programs.key), "remote", *words], environment=self.environment, check=check)

    def allow(self, host, *words):
        self.remote("allow", host, *words)

    def forget(self, host, *words):
        self.remote("forget", host, *words, check=False)

    def journal(self):
        """Returns the entries of the journal."""
        said = brief([str(self.programs.key), "log", "--json"], environment=self.environment).stdout
        return [json.loads(line) for line in said.splitlines()]

    def recorded(self, before, *expected):
        """Checks the journal's entries after the first `before`: each has these texts."""
        def look():
            return len(self.journal()) >= before + len(expected)

        poll(look, LIMIT, pause=0.05)
        new = [json.dumps(entry) for entry in self.journal()[before:]]
        must(len(new) == len(expected) and all(text in entry for entry, texts in zip(new, expected) for text in texts),
             f"expected entries of the journal with {expected}; found {new}")

    # ---- ssh ---------------------------------------------------------------------------------------------------------

    def ssh(self, agent, command, *options, host=None, text=None, kind=Program, name="ssh", **more):
        """Starts ssh from this computer to b, or another host, with a command for its shell; with -A by default.

        Without a command, it is a login whose shell reads the text.
        """
        forwards = any(option == "-a" or option.startswith("ForwardAgent=") for option in options)
        words = [self.openssh["ssh"], "-F", self.config, *([] if forwards else ["-A"]), *options,
                 (host or self.b).alias, *([command] if command else [])]
        variables = {**self.environment, "SSH_AUTH_SOCK": str(agent.socket)}
        return self.keep(kind(name, words, log=self.folder.path(f"{self.number()}-{name}.log"), environment=variables,
                              text=text, **more))

    def ask(self, agent, options, *ssh_options, origin=ORIGIN, host=None, through=None):
        """Starts `hybrid-remote ask` on b, or another host, through ssh -A."""
        command = asking(origin)
        return self.ssh(agent, through(command) if through else command, *ssh_options, host=host, kind=Ask, name="ask",
                        text=json.dumps({"publicKey": options}))

    def ask_here(self, path, options):
        """Starts `hybrid-remote ask` on this computer, like a container into which a socket is mounted."""
        folder = os.pathsep.join([str(self.programs.remote.parent), os.environ["PATH"]])
        variables = {**self.environment, "SSH_AUTH_SOCK": str(path), "PATH": folder}
        return self._start_ask(["sh", "-c", asking(ORIGIN)], options, variables)

    def ask_on_b(self, options, *variables):
        """Starts `hybrid-remote ask` on b outside any ssh session, like a browser of a remote desktop."""
        return self._start_ask(self.b.words("sh", "-c", asking(ORIGIN), variables=variables), options, dict(os.environ))

    def _start_ask(self, words, options, variables):
        return self.keep(Ask("ask", words, log=self.folder.path(f"{self.number()}-ask.log"), environment=variables,
                             text=json.dumps({"publicKey": options})))

    def dead_socket(self):
        """Leaves a socket on b on which nothing listens."""
        path = self.b.folder / "dead.sock"
        path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as end:
            end.bind(str(path))

    def hop(self, command):
        """Returns the shell's words on b for a command on c, with the agent."""
        return shlex.join(["ssh", "-F", "/tmp/home/.ssh/config", "-A", self.c.alias, command])

    def raw(self, agent, *connections, host=None, through=None, options=()):
        """Sends messages of the agent protocol from b, or another host, each on a connection, or several in a list.

        Returns the (answer, milliseconds) of each.
        """
        run = self.start_raw(agent, *connections, host=host, through=through, options=options)
        self.ended(run)
        must(run.status == 0, f"expected answers of the agent; ssh {run.ending}: {run.said()}")
        return raw_answers(run.said())

    def start_raw(self, agent, *connections, host=None, through=None, options=()):
        command = shlex.join(RAW_COMMAND)
        return self.ssh(agent, through(command) if through else command, *options, host=host, name="raw",
                        text=raw_input(connections))

    def raw_here(self, path, *connections):
        """Returns the answers to the same in a process of this computer, which connects to a socket of the agent."""
        return [answer for answer, _ in self.raw_timed(path, *connections)]

    def raw_timed(self, path, *connections):
        return raw_answers(brief(RAW_COMMAND, environment={**self.environment, "SSH_AUTH_SOCK": str(path)},
                                 text=raw_input(connections)).stdout)

    # ---- The user ----------------------------------------------------------------------------------------------------

    def question(self, program):
        """Returns the next prompt, which asks its user."""
        return self.prompts.next("use-phone", program)

    def code(self, prompt, program):
        """Waits for the code in a prompt."""
        self.waiting.until("the code", lambda: prompt.code or must(
            program.status is None, f"expected a code; {program.name} {program.ending}: {program.said()}"), LIMIT)

    def confirmed(self, program, word="proceed", person=Person()):
        """Confirms the next question and the request on the phone, waits for the end; returns the prompt."""
        prompt = self.question(program)
        must(prompt.code is None, f"expected no code before the answer; found {prompt.events}")
        prompt.answer(word)
        return self.scanned(prompt, program, person)

    def scanned(self, prompt, program, person=Person()):
        """Scans the code of a prompt, and waits for the end."""
        self.code(prompt, program)
        phone = self.scan(prompt, person)
        self.ended(program)
        self.ended(phone)
        return prompt

    # ---- The website -------------------------------------------------------------------------------------------------

    def register(self, agent, **more):
        """Creates a passkey; returns the options, the prompt and the response."""
        options = self.site.creation_options(**more)
        ask = self.ask(agent, options)
        prompt = self.confirmed(ask)
        self.site.verify_creation(ask.response, options["challenge"])
        return options, prompt, ask.response

    def sign_in(self, agent, ask=None, *, word="proceed", **more):
        """Signs in; returns the prompt and the response."""
        options = self.site.request_options(**more)
        run = ask(options) if ask else self.ask(agent, options)
        prompt = self.confirmed(run, word)
        self.site.verify_request(run.response, options["challenge"])
        return prompt, run.response

    def needs_passkey(self):
        """Creates the passkey that other cases use, unless there is one."""
        if not self.site.accounts:
            self.register(self.start_agent())


def website(ceremony, options, origin=ORIGIN, **more):
    """Returns the agent's message for a request of a website."""
    message = {"version": 1, "type": ceremony, "origin": origin, "publicKey": options, **more}
    return b"\x1b" + string(EXTENSION) + string(json.dumps(message).encode())
