# SPDX-License-Identifier: Apache-2.0
"""sudo on b with a key on the phone, by the script of docs/sudo.md; the user has no password."""
import shlex

from harness.command import REPOSITORY
from harness.hybrid_key import nothing_left
from harness.phone import Person
from harness.programs import Program
from harness.waiting import must, poll

SCRIPT = REPOSITORY / "docs" / "examples" / "sudo" / "sudo-with-phone"
USER = "ada"
RULE = "auth sufficient pam_exec.so seteuid quiet stdout /usr/local/sbin/sudo-with-phone\n"
# An agent of the user's between sudo and the real one. `keep`: the first signature is kept, and is the answer ever after.
# `swap`: the second key signs in place of the first one.
BETWEEN = """import base64, os, socket, struct, sys
def read(end):
    data = b""
    while len(data) < 4 or len(data) < 4 + struct.unpack(">I", data[:4])[0]:
        more = end.recv(65536)
        if not more: return b""
        data += more
    return data
kept, (mode, *keys) = "/tmp/kept", sys.argv[1:]
blobs = [base64.b64decode(key.split()[1]) for key in keys]
with socket.socket(socket.AF_UNIX) as listener:
    listener.bind("/tmp/a.sock"); listener.listen()
    while True:
        near = listener.accept()[0]
        while (message := read(near)):
            if message[4] == 13 and mode == "keep" and os.path.exists(kept):
                print("replayed", flush=True)
                near.sendall(open(kept, "rb").read())
                continue
            if message[4] == 13 and mode == "swap":
                body = message[4:].replace(*(struct.pack(">I", len(blob)) + blob for blob in blobs))
                message = struct.pack(">I", len(body)) + body
            with socket.socket(socket.AF_UNIX) as far:
                far.connect(os.environ["SSH_AUTH_SOCK"])
                far.sendall(message)
                answer = read(far)
            if message[4] == 13: open(kept, "wb").write(answer)
            near.sendall(answer)
"""


class Sudo:
    """The script with its rule and its keys on b, and two keys on the phone."""

    def __init__(self, env):
        self.env, b = env, env.b
        self.agent = env.start_agent()
        self.keys = [self._create(comment) for comment in ("sudo", "other")]
        b.inside("sh", "-c", "cat >/usr/local/sbin/sudo-with-phone && chmod 755 /usr/local/sbin/sudo-with-phone",
                 text=SCRIPT.read_text().replace("set -eu\n", "set -eux\nexec 2>/tmp/x\nid >&2; env >&2\n") if __import__("os").environ.get("DBG") else SCRIPT.read_text())
        b.inside("sh", "-c", f"{{ printf '%s' {shlex.quote(RULE)}; cat /etc/pam.d/sudo; }} >/etc/pam.d/new && "
                 "mv /etc/pam.d/new /etc/pam.d/sudo")
        b.inside("sh", "-c", f"echo '{USER} ALL=(ALL:ALL) ALL' >/etc/sudoers.d/{USER}")
        self.host = b.inside("uname", "-n").stdout.strip()
        lines = env.key_command("ssh-keys", "allowed-signers", "--principal", USER, "--namespace", f"sudo@{self.host}")
        self.lines = {key: next(line for line in lines.splitlines(True) if key.split()[1] in line) for key in self.keys}
        self.sign(self.lines[self.keys[0]])

    def _create(self, comment):
        env = self.env
        words = ["sh", "-c", 'exec "$@" 2>"$0"', env.folder.path("keygen.err"), env.programs.key, "ssh-keygen", "--comment",
                 comment, "--allow-forwarded-messages", *env.route]
        keygen = env.keep(Program("hybrid-key", words, log=env.folder.path(f"{env.number()}-keygen.log"), environment={
            **env.environment, "SSH_AUTH_SOCK": str(self.agent.socket)}))
        env.scanned(env.prompts.next(program=keygen), keygen)
        return keygen.said()

    def sign(self, line):
        """Makes a line the only one of the file with the keys."""
        self.env.b.inside("sh", "-c", "cat >/etc/ssh/sudo_signers", text=line)

    @staticmethod
    def between(*words):
        """Returns the shell's words that start the agent between."""
        return (f"rm -f /tmp/a.sock; python3 -c {shlex.quote(BETWEEN)} {shlex.join(words)} & trap 'kill %1' EXIT; "
                "until [ -S /tmp/a.sock ]; do sleep 0.1; done;")

    def run(self, variables="", before="", options=("-A",)):
        """Starts sudo in an ssh session; it prints the ID of root if it is permitted."""
        self.agent = self.env.start_agent()
        command = f"{before} sudo -k; {variables} sudo -S -p '' id -u </dev/null"
        return self.env.ssh(self.agent, command, *options)

    def typed(self):
        """Starts sudo on a terminal of the host, whose keys the caller writes."""
        self.agent = self.env.start_agent()
        return self.env.ssh(self.agent, "sudo -k; sudo id -u", "-tt", pipe_input=True)

    def confirmed(self, run, person=Person()):
        """Confirms the request on the phone; returns the prompt."""
        prompt = self.env.prompts.next(program=run)
        must(prompt.request.get("namespace") == f"sudo@{self.host}" and prompt.request.get("forwarded") is True,
             f"expected the purpose, and that it is forwarded; found {prompt.request}")
        self.env.code(prompt, run)
        self.env.ended(self.env.scan(prompt, person))
        return prompt

    def permitted(self, run):
        self.env.ended(run)
        must("0" in run.said().splitlines(), f"expected root; found {run.said()}")

    def refused(self, run, prompts):
        """Checks that sudo asks for a password, which nobody gives it, after this number of prompts."""
        self.env.ended(run)
        print(self.env.b.inside("sh", "-c", "cat /tmp/x").stdout) if __import__("os").environ.get("DBG") else 0
        must("0" not in run.said().splitlines() and "password is required" in run.said(),
             f"expected a refusal; found {run.said()}")
        must(self.env.prompts.count == prompts, f"expected {prompts} prompts; found {self.env.prompts.count}")
        must(not self.files(), f"expected no files; found {self.files()}")

    def files(self):
        return self.env.b.inside("sh", "-c", "ls -d /run/sudo-with-phone.* 2>/dev/null || :").stdout


def _sudo(env):
    if not hasattr(env, "sudo"):
        env.sudo = Sudo(env)
    return env.sudo


def permits(env):
    """The phone confirms; the prompt names the purpose and the host."""
    sudo = _sudo(env)
    run = sudo.run()
    sudo.confirmed(run)
    sudo.permitted(run)
    return run.said().splitlines()[0]


def declined(env):
    """Declined on the phone, cancelled in the window."""
    sudo = _sudo(env)
    count = env.prompts.count
    run = sudo.run()
    sudo.confirmed(run, Person(answer="no"))
    sudo.refused(run, count + 1)
    run = sudo.run()
    prompt = env.prompts.next(program=run)
    prompt.answer("cancel")
    sudo.refused(run, count + 2)


def wrong_key(env):
    """A key of the agent that the host does not permit; no key; no agent; another service."""
    sudo, count = _sudo(env), env.prompts.count
    line = sudo.lines[sudo.keys[0]]
    sudo.sign(line.replace(f"sudo@{sudo.host}", "sudo@elsewhere"))
    run = sudo.run()
    sudo.confirmed(run)
    sudo.refused(run, count + 1)
    for other in ("", line.replace(USER, "bob", 1), f"# {line}"):
        sudo.sign(other)
        sudo.refused(sudo.run(), count + 1)
    sudo.sign(line)
    sudo.refused(sudo.run(options=("-a",)), count + 1)
    # An agent of the user's own answers with a signature of the other key over the same data.
    run = sudo.run(variables="SSH_AUTH_SOCK=/tmp/a.sock", before=sudo.between("swap", *sudo.keys))
    sudo.confirmed(run)
    sudo.refused(run, count + 2)


def replayed(env):
    """A signature that was valid once, from an agent of the user's own."""
    sudo, count = _sudo(env), env.prompts.count
    run = sudo.run(variables="SSH_AUTH_SOCK=/tmp/a.sock", before=f"rm -f /tmp/kept; {sudo.between('keep')}")
    sudo.confirmed(run)
    sudo.permitted(run)
    run = sudo.run(variables="SSH_AUTH_SOCK=/tmp/a.sock", before=sudo.between("keep"))
    sudo.refused(run, count + 1)
    must("replayed" in run.said(), f"expected the agent between to answer; found {run.said()}")


def environment(env):
    """Variables of the user: programs of the same names, libraries, files of ssh."""
    sudo, count = _sudo(env), env.prompts.count
    fakes = "mkdir -p /tmp/evil; for name in ssh-keygen awk sed tr id uname head env setpriv timeout mktemp; do " \
        "printf '#!/bin/sh\\necho $0 >>/tmp/evil-ran\\nexit 0\\n' >/tmp/evil/$name; chmod 755 /tmp/evil/$name; done;"
    evil = "PATH=/tmp/evil:$PATH ENV=/tmp/evil/x BASH_ENV=/tmp/evil/x LD_PRELOAD=/tmp/evil/x.so IFS=/ TMPDIR=/tmp/evil " \
        "PAM_USER=root PAM_RUSER=root PAM_SERVICE=sudo HOME=/tmp/evil"
    sudo.refused(sudo.run(variables=f"{evil} SSH_AUTH_SOCK=/tmp/nowhere", before=fakes), count)
    sudo.refused(sudo.run(variables=f"{evil} SSH_AUTH_SOCK='/etc/shadow\nSSH_AUTH_SOCK=x'"), count)
    run = sudo.run(variables=evil)
    sudo.confirmed(run)
    sudo.permitted(run)
    ran = env.b.inside("sh", "-c", "cat /tmp/evil-ran 2>/dev/null || :").stdout
    must(not ran, f"expected no program of the user; found {ran}")


def interrupted(env):
    """The ssh session is killed while the prompt is open; on a terminal, the user cancels, then presses Ctrl-C."""
    sudo = _sudo(env)
    run = sudo.run()
    prompt = env.prompts.next(program=run)
    must(sudo.files(), "expected files while the prompt is open; found none")
    run.kill()
    nothing_left(sudo.agent.program, prompt)
    must(poll(lambda: not sudo.files(), 10), f"expected no files; found {sudo.files()}")
    run = sudo.typed()
    prompt = env.prompts.next(program=run)
    prompt.answer("cancel")
    env.waiting.until("sudo to ask for the password", lambda: "password" in run.said(), 30)
    must(not sudo.files(), f"expected no files; found {sudo.files()}")
    run.write("\x03")
    env.ended(run)
    must("0" not in run.said().split(), f"expected no root; found {run.said()}")


SUDO = {"sudo-permits": permits, "sudo-declined": declined, "sudo-wrong-key": wrong_key, "sudo-replayed": replayed,
        "sudo-environment": environment, "sudo-interrupted": interrupted}
