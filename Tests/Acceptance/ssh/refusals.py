# SPDX-License-Identifier: Apache-2.0
"""Cases with requests that the agent must refuse by itself, without a prompt."""
import os
import sys

from checks import failed
from harness.programs import brief
from harness.ssh_agent import ALGORITHM, EXTENSION_FAILURE, FAILURE, IDENTITIES, AgentClient, blob_of, login, string
from harness.waiting import must

NOBODY = "65534"
# Connects to a socket and asks for the list of keys; prints what happened.
ASK = """import socket, sys
with socket.socket(socket.AF_UNIX) as client:
    client.settimeout(30)
    try:
        client.connect(sys.argv[1])
        client.sendall(bytes([0, 0, 0, 1, 11]))
        print("answered" if client.recv(5) else "closed")
    except PermissionError:
        print("no permission")
    except ConnectionError:
        print("closed")"""


def attacks(env):
    """Requests that must be refused at once, without a prompt."""
    before = env.prompts.count
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
        for add in (b"\x11", b"\x19", b"\x14"):
            answer = client.ask(add + string(b"ssh-ed25519"))
            must(answer == bytes([FAILURE]), f"expected a foreign key to be refused; found {answer!r}")
        answer = client.ask(b"\x0b")
        must(answer[0] == IDENTITIES, f"expected the list of keys afterwards; found {answer!r}")
    must(env.prompts.count == before, "expected no prompt for refused requests; found one")


def long_message(env):
    """A message of 300 KiB ends its connection, complete or not; the agent serves others."""
    for sent in (0, 300 * 1024):
        with AgentClient(env.agent.socket) as client:
            client.send(bytes(sent), length=300 * 1024)
            must(client.answer() is None, f"expected {sent} bytes of a message of 300 KiB to end the connection; they "
                                          "did not")
    must(ALGORITHM.decode() in env.offered(env.agent), "expected the list of keys afterwards; found none")


def forwarded_message(env):
    """A host with a forwarded agent asks for a signature of a message: refused without a prompt."""
    public, message = env.public_key(), env.folder.scratch / "message"
    message.write_text("hello\n")
    sign = [env.openssh["ssh-keygen"], "-Y", "sign", "-n", "git", "-f", str(public), str(message)]
    before = env.prompts.count
    ssh = env.ssh(env.servers[0], *sign, options=("-A",))
    env.answered(ssh)
    failed(ssh)
    # The only prompt is that of the login.
    must(env.prompts.count == before + 1, "expected no prompt for a message of another host; found one")
    must("agent refused operation" in ssh.said(), f"expected the agent to refuse; found {ssh.said()}")
    must(not message.with_name("message.sig").exists(), "expected no signature; found one")


def other_user(env):
    """Another user is refused by the modes of the files, and by the agent if these allow it."""
    if os.geteuid() != 0:
        return "left out: only root can become another user"
    agent = env.start_agent()
    ask = ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", sys.executable, "-c", ASK,
           str(agent.socket)]

    must(brief(ask, environment=env.environment).stdout.strip() == "no permission",
         "expected the modes of the files to keep another user away; they did not")
    env.folder.sockets.chmod(0o711)
    agent.socket.chmod(0o666)
    try:
        must(brief(ask, environment=env.environment).stdout.strip() == "closed",
             "expected the agent to close the connection of another user; it did not")
        must(ALGORITHM.decode() in env.offered(agent), "expected an answer for the agent's own user; found none")
    finally:
        env.folder.sockets.chmod(0o700)
