# SPDX-License-Identifier: Apache-2.0
"""Cases of the SSH agent, one function each. They raise Failed with what was expected and found."""
import contextlib
import getpass
import os
import shlex
import signal
from pathlib import Path

from checks import failed, succeeded
from environment import COMMENT
from harness.hybrid_key import nothing_left
from harness.phone import Person
from harness.programs import Program, brief
from harness.ssh_agent import ALGORITHM, fingerprint
from harness.waiting import must
from kills import STAGES, killed_at
from refusals import attacks, forwarded_message, long_message, other_user


def keygen(env):
    """Creates the key on the phone; the other cases use it."""
    program = env.run("hybrid-key", ["sh", "-c", 'exec "$@" 2>"$0"', env.folder.path("keygen.err"),
                                     env.programs.key, "ssh-keygen", "--comment", COMMENT, *env.route])
    prompt = env.answered(program)
    succeeded(program, ALGORITHM.decode())
    must(prompt.request["operation"] == "create", f"expected a prompt for a new key; found {prompt.request}")
    line = program.said().strip()
    must(line.endswith(f" {COMMENT}"), f"expected the name of the key; found {line}")
    env.authorized_keys.write_text(line + "\n", encoding="ascii")
    listed = env.key_command("ssh-keys").strip()
    must(listed == line, f"expected ssh-keys to list the key; found {listed}")
    known = env.offered(env.agent)
    must(known.split()[:2] == line.split()[:2], f"expected the running agent to offer the key; found {known}")
    env.logged("created")


def login_once(env, agent=None):
    """Logs in; the prompt names user, host, key and fingerprint, and sshd logs the key."""
    server = env.servers[0]
    ssh = env.ssh(server, "echo", "logged", "in", agent=agent)
    request = env.answered(ssh).request
    succeeded(ssh, "logged in")
    expected = {"operation": "ssh-login", "key": COMMENT, "host": server.name, "fingerprint": server.fingerprint,
                "forwarded": False}
    found = {name: request.get(name) for name in expected}
    must(found == expected, f"expected the prompt's request to have {expected}; found {request}")
    must(any(text.startswith("ECDSA-SK SHA256:") for text in server.accepted()),
         f"expected sshd to accept an ECDSA-SK key; found {server.accepted()}")
    env.logged("signed")
    return server.accepted()[-1]


def certificate(env):
    """Logs in with a certificate of an authority that the server trusts; the key alone may not log in."""
    server, authorized = env.servers[0], env.authorized_keys.read_text()
    public = env.public_key()
    brief([env.openssh["ssh-keygen"], "-q", "-s", str(env.authority), "-I", "tester", "-n", f"{getpass.getuser()},ops",
           str(public)], environment=env.environment)
    env.authorized_keys.write_text("")
    try:
        ssh = env.ssh(server, "echo", "certified", options=("-o", f"CertificateFile={public.with_name('key-cert.pub')}"))
        request = env.answered(ssh).request
    finally:
        env.authorized_keys.write_text(authorized)
    succeeded(ssh, "certified")
    authority = fingerprint(env.authority.with_suffix(".pub"))
    expected = {"operation": "ssh-login", "fingerprint": server.fingerprint, "authority": authority,
                "principals": f'"{getpass.getuser()}", "ops"'}
    found = {name: request.get(name) for name in expected}
    must(found == expected, f"expected the prompt's request to have {expected}; found {request}")
    accepted = server.accepted()[-1]
    must(accepted.startswith("ECDSA-SK-CERT SHA256:") and accepted.endswith(f"CA ED25519 {authority}"),
         f"expected sshd to accept the certificate; found {accepted}")


def idle(env):
    """The agent has no timer after a login, such as that of Swift's thread pool, which would wake it every second."""
    descriptors = Path(f"/proc/{env.agent.program.pid}/fd")
    links = []
    for path in descriptors.iterdir():
        # Those of the last login may be closed meanwhile.
        with contextlib.suppress(FileNotFoundError):
            links.append(os.readlink(path))
    must("anon_inode:[timerfd]" not in links, f"expected an agent without a timer; found {links}")


def copy(env):
    """Copies a file with scp."""
    source, target = env.folder.scratch / "source", env.folder.scratch / "target"
    source.write_bytes(os.urandom(100_000))
    scp = env.run("scp", [*env.ssh_words(env.servers[0], program="scp"), str(source), f"127.0.0.1:{target}"])
    env.answered(scp)
    succeeded(scp)
    must(target.read_bytes() == source.read_bytes(), "expected an equal copy; found a difference")


def rsync(env):
    """Copies a folder with rsync."""
    source, target = env.folder.scratch / "folder", env.folder.scratch / "copied"
    (source / "inner").mkdir(parents=True)
    for name in ("one", "inner/two"):
        (source / name).write_bytes(os.urandom(50_000))
    words = ["rsync", "--archive", "--rsh", shlex.join(env.ssh_words(env.servers[0]))]
    program = env.run("rsync", [*words, f"{source}/", f"127.0.0.1:{target}"])
    env.answered(program)
    succeeded(program)
    for name in ("one", "inner/two"):
        must((target / name).read_bytes() == (source / name).read_bytes(), f"expected an equal {name}; found a "
                                                                           "difference")


def two_at_once(env):
    """Two logins: the second prompt appears after the first has ended, with another code."""
    before = env.prompts.count
    logins = [env.ssh(server, "echo", "both") for server in env.servers[:2]]
    first = env.prompts.next()
    # The second client has connected once its server knows the key.
    env.waiting.until("both servers to offer a login", lambda: all(
        "Postponed publickey" in s.program.said() or "Connection from" in s.program.said()
        for s in env.servers[:2]), 60)
    must(env.prompts.count == before + 1, "expected one prompt at a time; found two")
    env.ended(env.scan(first))
    second = env.prompts.next()
    must(second.code != first.code, "expected another code for the second login; found the same")
    env.ended(env.scan(second))
    for program in logins:
        env.ended(program)
        succeeded(program, "both")


def forwarding(env):
    """Logs in to A, from there to B, and from there to C, always with the agent of this computer."""
    a, b, c = env.servers
    user_at = "127.0.0.1"
    to_c = [*env.ssh_words(c), user_at, "echo at-the-end"]
    to_b = [*env.ssh_words(b, "-A"), user_at, shlex.join(to_c)]
    ssh = env.ssh(a, *to_b, options=("-A",))
    requests = []
    for server in (a, b, c):
        prompt = env.prompts.next(program=ssh)
        requests.append(prompt.request)
        env.ended(env.scan(prompt))
        must(prompt.request.get("fingerprint") == server.fingerprint,
             f"expected the fingerprint of the server at each hop; found {prompt.request}")
    env.ended(ssh)
    succeeded(ssh, "at-the-end")
    must([r["forwarded"] for r in requests] == [False, True, True],
         f"expected hops to be shown as forwarded; found {requests}")


def git(env):
    """Signs and verifies a commit; a changed commit does not verify."""
    signers = env.folder.scratch / "allowed_signers"
    signers.write_text(env.key_command("ssh-keys", "allowed-signers", "--principal", "tester@example.org"))
    repository = Repository(env, "signed", {
        "gpg.format": "ssh", "user.signingkey": env.public_key(), "gpg.ssh.allowedSignersFile": signers,
        "gpg.ssh.program": env.openssh["ssh-keygen"], "commit.gpgsign": "true"})
    commit = repository.run("commit", "-q", "--allow-empty", "-m", "signed")
    request = env.answered(commit).request
    succeeded(commit)
    must((request["operation"], request["namespace"]) == ("ssh-signature", "git"),
         f"expected a prompt for git; found {request}")
    good = repository.call("verify-commit", "HEAD")
    must('Good "git" signature for tester@example.org' in good.stderr, f"expected a good signature; found {good.stderr}")
    text = repository.call("cat-file", "commit", "HEAD").stdout
    other = repository.call("hash-object", "-t", "commit", "-w", "--stdin",
                            text=text.replace("\nsigned", "\nchanged")).stdout.strip()
    bad = repository.call("verify-commit", other, check=False)
    must(bad.returncode != 0, "expected a changed commit not to verify; it did")


def push(env):
    """Pushes a branch over ssh to a bare repository."""
    bare = env.folder.scratch / "bare.git"
    repository = Repository(env, "pushed", {"core.sshCommand": shlex.join([env.openssh["ssh"], "-F", str(env.config)])})
    repository.call("init", "-q", "--bare", bare)
    repository.call("commit", "-q", "--allow-empty", "-m", "pushed")
    program = repository.run("push", "-q", f"ssh://127.0.0.1:{env.servers[0].port}{bare}", "HEAD:refs/heads/main")
    env.answered(program)
    succeeded(program)
    head = repository.call("rev-parse", "HEAD").stdout
    found = repository.call("--git-dir", bare, "rev-parse", "main").stdout
    must(found == head, f"expected {head.strip()} in the bare repository; found {found.strip()}")


class Repository:
    """A git repository with its own configuration only."""

    def __init__(self, env, name, configuration):
        self._env, self._folder = env, env.folder.scratch / name
        self._environment = {**env.environment, "GIT_CONFIG_NOSYSTEM": "1"}
        self._folder.mkdir()
        self.call("init", "-q")
        for option, value in {"user.name": "Tester", "user.email": "tester@example.org", **configuration}.items():
            self.call("config", option, value)

    def call(self, *words, **options):
        """Runs a short git command."""
        return brief(self._words(words), environment=self._environment, **options)

    def run(self, *words):
        """Starts a git command that uses the agent."""
        return self._env.run("git", self._words(words), environment=self._environment)

    def _words(self, words):
        return ["git", "-C", str(self._folder), *map(str, words)]


def declined(env):
    """The phone's user declines: ssh ends and may not log in."""
    ssh = env.ssh(env.servers[0], "true", agent=env.start_agent())
    env.answered(ssh, Person(answer="no"))
    failed(ssh)
    env.logged("declined")


def cancelled(env):
    """The user cancels at the prompt: ssh ends, and the prompt and the ceremony are gone."""
    agent = env.start_agent()
    ssh = env.ssh(env.servers[0], "true", agent=agent)
    prompt = env.prompts.next(program=ssh)
    prompt.answer("cancel")
    env.ended(ssh, 30)
    failed(ssh)
    nothing_left(agent.program, prompt)
    env.logged("cancelled")


def client_gone(env):
    """ssh is killed: its prompt and its ceremony end, and the next login works."""
    agent = env.start_agent()
    ssh = env.ssh(env.servers[0], "true", agent=agent)
    prompt = env.prompts.next(program=ssh)
    ssh.kill()
    nothing_left(agent.program, prompt)
    login_once(env, agent)


def absent(env):
    """No phone comes: ssh ends after the time limit."""
    agent = env.start_agent("--timeout", "3")
    ssh = env.ssh(env.servers[0], "true", agent=agent)
    prompt = env.prompts.next(program=ssh)
    env.ended(ssh, 60)
    failed(ssh)
    env.waiting.until("the prompt to close", lambda: prompt.is_gone, 30)
    codes = [event.get("code") for event in prompt.events if event["event"] == "error"]
    must(codes == ["phone-not-nearby"], f"expected the prompt to be told that no phone was nearby; found {codes}")


def relay_down(env):
    """The relay is down: the phone reports it, and ssh ends after the time limit."""
    env.relay.die()
    try:
        agent = env.start_agent("--timeout", "5")
        ssh = env.ssh(env.servers[0], "true", agent=agent)
        phone = env.scan(env.prompts.next(program=ssh))
        env.ended(ssh, 60)
        failed(ssh)
        env.ended(phone)
        must(phone.status == 69, f"expected status 69 of the phone; it {phone.ending}")
    finally:
        env.relay.start()


def stopped_early(env):
    """SIGTERM as soon as the socket exists: the agent ends without a failure and leaves no socket."""
    for _ in range(5):
        socket = env.folder.sockets / f"early-{env.number()}.sock"
        agent = env.keep(Program("hybrid-key", [env.programs.key, "agent", "--socket", socket, *env.route],
                                 log=env.folder.path(f"{socket.stem}.log"), environment=env.environment))
        # Without a pause between two looks, so that the signal comes at once.
        while not socket.exists():
            must(agent.status is None, f"expected a socket; the agent {agent.ending}")
        os.kill(agent.pid, signal.SIGTERM)
        env.ended(agent, 30)
        succeeded(agent)
        must(not socket.exists(), "expected the agent to remove its socket; it did not")


CASES = {
    "keygen": keygen, "login": login_once, "certificate": certificate, "idle": idle, "copy": copy, "rsync": rsync,
    "two-at-once": two_at_once, "forwarding": forwarding, "git": git, "push": push, "declined": declined, "cancelled": cancelled,
    "client-gone": client_gone, "killed": killed_at("scan"), "absent": absent, "relay-down": relay_down,
    "stopped-early": stopped_early, "attacks": attacks, "long-message": long_message,
    "forwarded-message": forwarded_message, "other-user": other_user,
}
ALL = CASES | {f"killed-{stage}": killed_at(stage) for stage in STAGES if stage != "scan"}
