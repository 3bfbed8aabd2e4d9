# SPDX-License-Identifier: Apache-2.0
"""Cases of the SSH agent, one function each. They raise Failed with what was expected and found."""
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

from environment import COMMENT
from harness.phone import Person
from harness.programs import brief, session_members
from harness.waiting import Failed, poll
from protocol import ALGORITHM, EXTENSION_FAILURE, FAILURE, IDENTITIES, AgentClient, blob_of, login, string


def must(condition, sentence):
    if not condition:
        raise Failed(sentence)


def succeeded(program, text=""):
    must(program.status == 0 and text in program.said(),
         f"expected {program.name} to succeed with {text!r}; it {program.ending}: {program.said()}")


def failed(program):
    must(program.status not in (None, 0), f"expected {program.name} to fail; it {program.ending}")


def logged(env, result):
    line = env.key_command("log").strip().split("\n")[-1]
    must(f"  {result}  " in line, f"expected the last entry of the journal to be {result!r}; found {line!r}")


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
    known = brief(["ssh-add", "-L"], environment={**env.environment, "SSH_AUTH_SOCK": str(env.agent.socket)}).stdout
    must(known.split()[:2] == line.split()[:2], f"expected the running agent to offer the key; found {known}")
    logged(env, "created")


def login_once(env):
    """Logs in; the prompt names user, host, key and fingerprint, and sshd logs the key."""
    server = env.servers[0]
    ssh = env.ssh(server, "echo", "logged", "in")
    request = env.answered(ssh).request
    succeeded(ssh, "logged in")
    expected = {"operation": "ssh-login", "key": COMMENT, "host": server.name, "fingerprint": server.fingerprint,
                "forwarded": False}
    found = {name: request.get(name) for name in expected}
    must(found == expected, f"expected the prompt's request to have {expected}; found {request}")
    must(any(text.startswith("ECDSA-SK SHA256:") for text in server.accepted()),
         f"expected sshd to accept an ECDSA-SK key; found {server.accepted()}")
    logged(env, "signed")
    return server.accepted()[-1]


def copy(env):
    """Copies a file with scp."""
    source, target = env.folder.scratch / "source", env.folder.scratch / "target"
    source.write_bytes(os.urandom(100_000))
    scp = env.run("scp", [*env.ssh_words(env.servers[0], program="scp"), str(source), f"127.0.0.1:{target}"])
    env.answered(scp)
    succeeded(scp)
    must(target.read_bytes() == source.read_bytes(), "expected an equal copy; found a difference")


def two_at_once(env):
    """Two logins: the second prompt appears after the first has ended, with another code."""
    before = len(env.prompts())
    logins = [env.ssh(server, "echo", "both") for server in env.servers[:2]]
    first = env.next_prompt()
    # The second client has connected once its server knows the key.
    env.waiting.until("both servers to offer a login", lambda: all(
        "Postponed publickey" in s.program.said() or "Connection from" in s.program.said()
        for s in env.servers[:2]), 60)
    must(len(env.prompts()) == before + 1, "expected one prompt at a time; found two")
    env.ended(env.scan(first))
    second = env.next_prompt()
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
        prompt = env.next_prompt()
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
    folder = env.folder.scratch / "repository"
    signers = env.folder.scratch / "allowed_signers"
    signers.write_text(env.key_command("ssh-keys", "allowed-signers", "--principal", "tester@example.org"))
    public = env.folder.scratch / "key.pub"
    public.write_text(env.key_command("ssh-keys", "list").split("\n")[0] + "\n")
    environment = {**env.environment, "GIT_CONFIG_NOSYSTEM": "1"}
    brief(["git", "init", "-q", str(folder)], environment=environment)
    for name, value in (("user.name", "Tester"), ("user.email", "tester@example.org"), ("gpg.format", "ssh"),
                        ("user.signingkey", str(public)), ("gpg.ssh.allowedSignersFile", str(signers)),
                        ("commit.gpgsign", "true")):
        brief(["git", "-C", str(folder), "config", name, value], environment=environment)
    commit = env.run("git", ["git", "commit", "-q", "--allow-empty", "-m", "signed"], environment=environment,
                     folder=folder)
    request = env.answered(commit).request
    succeeded(commit)
    must((request["operation"], request["namespace"]) == ("ssh-signature", "git"),
         f"expected a prompt for git; found {request}")
    good = brief(["git", "-C", str(folder), "verify-commit", "HEAD"], environment=environment)
    must('Good "git" signature for tester@example.org' in good.stderr, f"expected a good signature; found {good.stderr}")
    text = brief(["git", "-C", str(folder), "cat-file", "commit", "HEAD"], environment=environment).stdout
    other = brief(["git", "-C", str(folder), "hash-object", "-t", "commit", "-w", "--stdin"], environment=environment,
                  text=text.replace("\nsigned", "\nchanged")).stdout.strip()
    bad = brief(["git", "-C", str(folder), "verify-commit", other], environment=environment, check=False)
    must(bad.returncode != 0, "expected a changed commit not to verify; it did")


def declined(env):
    """The phone's user declines: ssh ends and may not log in."""
    ssh = env.ssh(env.servers[0], "true")
    env.answered(ssh, Person(answer="no"))
    failed(ssh)
    logged(env, "declined")


def cancelled(env):
    """The user cancels at the prompt: ssh ends, and the prompt and the ceremony are gone."""
    ssh = env.ssh(env.servers[0], "true")
    prompt = env.next_prompt()
    prompt.cancel()
    env.ended(ssh, 30)
    failed(ssh)
    nothing_left(env, prompt)
    logged(env, "cancelled")


def client_gone(env):
    """ssh is killed: its prompt and its ceremony end, and the next login works."""
    ssh = env.ssh(env.servers[0], "true")
    prompt = env.next_prompt()
    ssh.kill()
    nothing_left(env, prompt)
    login_once(env)


def killed(env):
    """SIGKILL of the ceremony, the prompt and the agent, each while the code is shown: ssh ends, nothing is left."""
    for part in ("ceremony", "prompt", "agent"):
        agent = env.start_agent()
        ssh = env.ssh(env.servers[0], "true", agent=agent)
        prompt = env.next_prompt()
        process = {"prompt": int(prompt.name), "agent": agent.program.pid}.get(part) or ceremonies(agent)[0]
        os.kill(process, signal.SIGKILL)
        env.ended(ssh, 30)
        failed(ssh)
        must(poll(lambda: not ceremonies(agent), 30), f"expected no ceremony after the end of the {part}; found one")
        must(part == "ceremony" or poll(lambda: prompt.is_gone, 30),
             f"expected no prompt after the end of the {part}; found one")


def absent(env):
    """No phone comes: ssh ends after the time limit."""
    agent = env.start_agent("--timeout", "3")
    ssh = env.ssh(env.servers[0], "true", agent=agent)
    prompt = env.next_prompt()
    env.ended(ssh, 60)
    failed(ssh)
    codes = [event.get("code") for event in prompt.events if event["event"] == "error"]
    must(codes == ["phone-not-nearby"], f"expected the prompt to be told that no phone was nearby; found {codes}")


def relay_down(env):
    """The relay is down: the phone reports it, and ssh ends after the time limit."""
    env.relay.die()
    try:
        agent = env.start_agent("--timeout", "5")
        ssh = env.ssh(env.servers[0], "true", agent=agent)
        phone = env.scan(env.next_prompt())
        env.ended(ssh, 60)
        failed(ssh)
        env.ended(phone)
        must(phone.status == 69, f"expected status 69 of the phone; it {phone.ending}")
    finally:
        env.relay.start()


def attacks(env):
    """Requests that must be refused at once, without a prompt."""
    before = len(env.prompts())
    blob = blob_of(env.authorized_keys.read_text())
    foreign = blob[:-8] + b".invalie"
    client_data = b'{"type":"webauthn.get","challenge":"AAAA","origin":"https://example.com"}'
    refused = {
        "client data of WebAuthn": (blob, client_data, 0),
        "an authentication with trailing bytes": (blob, login(blob, trailing=b"\0"), 0),
        "an authentication with another key": (blob, login(foreign), 0),
        "a key that the agent does not have": (foreign, login(foreign), 0),
        "flags": (blob, login(blob), 2),
        "32 bytes": (blob, os.urandom(32), 0),
    }
    for name, (key, data, flags) in refused.items():
        with AgentClient(env.agent.socket) as client:
            answer = client.sign(key, data, flags)
            must(answer == bytes([FAILURE]), f"expected {name} to be refused; found {answer!r}")
    with AgentClient(env.agent.socket) as client:
        answer = client.ask(b"\x1b" + string(b"session-bind@openssh.com") + string(b"nothing"))
        must(answer == bytes([EXTENSION_FAILURE]), f"expected a malformed binding to be refused; found {answer!r}")
        answer = client.sign(blob, login(blob))
        must(answer == bytes([FAILURE]), f"expected no signature after a failed binding; found {answer!r}")
    with AgentClient(env.agent.socket) as client:
        client.send(b"", length=300 * 1024)
        must(client.answer() is None, "expected a message of 300 KiB to end the connection; it did not")
    with AgentClient(env.agent.socket) as client:
        for add in (b"\x11", b"\x19", b"\x14"):
            answer = client.ask(add + string(b"ssh-ed25519"))
            must(answer == bytes([FAILURE]), f"expected a foreign key to be refused; found {answer!r}")
        answer = client.ask(b"\x0b")
        must(answer[0] == IDENTITIES, f"expected the list of keys afterwards; found {answer!r}")
    must(len(env.prompts()) == before, "expected no prompt for refused requests; found one")
    if os.geteuid() == 0:
        connect = f"import socket; socket.socket(socket.AF_UNIX).connect({str(env.agent.socket)!r})"
        other = subprocess.run(["setpriv", "--reuid", "65534", "--clear-groups", sys.executable, "-c", connect],
                               capture_output=True, text=True, timeout=30, check=False)
        must(other.returncode != 0, "expected no connection for another user; there was one")


def ceremonies(agent):
    """Returns the process IDs of an agent's ceremonies."""
    found = []
    for process in session_members(agent.program.pid):
        try:
            words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"ceremony" in words:
            found.append(process)
    return found


def nothing_left(env, prompt):
    must(poll(lambda: prompt.is_gone, 30), "expected the prompt to close; it did not")
    must(poll(lambda: not ceremonies(env.agent), 30), "expected the ceremony to end; it did not")


CASES = {
    "keygen": keygen, "login": login_once, "copy": copy, "two-at-once": two_at_once, "forwarding": forwarding,
    "git": git, "declined": declined, "cancelled": cancelled, "client-gone": client_gone, "killed": killed,
    "absent": absent, "relay-down": relay_down, "attacks": attacks,
}
