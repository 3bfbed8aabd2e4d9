#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records conversations of OpenSSH's programs with an agent, and the answers of its ssh-agent, as test vectors.

    python3 Tests/Acceptance/ssh/record.py > Tests/Vectors/ssh/openssh-9.2.json

It needs openssh-client, openssh-server and python3-cryptography, and starts sshd on free ports of 127.0.0.1.
"""
import base64
import getpass
import hashlib
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time

from recorder import RecordingAgent, SecurityKey, receive, string, take

HOST_KEYS = [
    ("ed25519", []), ("ecdsa", ["-b", "256"]), ("ecdsa", ["-b", "384"]), ("ecdsa", ["-b", "521"]),
    ("rsa", ["-b", "2048"]),
]
USER = getpass.getuser()


def run(*command, stdin=None, environment=None, check=True):
    """Runs a command and returns its output."""
    done = subprocess.run(command, input=stdin, env=dict(os.environ, **(environment or {})), capture_output=True,
                          text=True, timeout=60)
    if check and done.returncode:
        sys.exit(f"{command}: {done.stdout}{done.stderr}")
    return done.stdout + done.stderr


class Server:
    """An sshd with one host key, and a certificate for it."""

    def __init__(self, folder, index, kind, options, authority, authorized):
        self.folder = os.path.join(folder, f"server{index}")
        os.mkdir(self.folder)
        self.key = os.path.join(self.folder, "key")
        run("ssh-keygen", "-q", "-t", kind, *options, "-N", "", "-f", self.key)
        run("ssh-keygen", "-q", "-s", authority, "-I", "host", "-h", "-n", "127.0.0.1", self.key + ".pub")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        config = os.path.join(self.folder, "config")
        with open(config, "w") as file:
            file.write(f"""Port {self.port}
ListenAddress 127.0.0.1
HostKey {self.key}
HostCertificate {self.key}-cert.pub
AuthorizedKeysFile {authorized}
StrictModes no
UsePAM no
PidFile none
PermitRootLogin yes
LogLevel VERBOSE
""")
        self.log = os.path.join(self.folder, "log")
        self.process = subprocess.Popen(["/usr/sbin/sshd", "-D", "-f", config, "-E", self.log])
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    break
            time.sleep(0.05)

    def fingerprint(self):
        return run("ssh-keygen", "-l", "-f", self.key + ".pub").split()[1]


class Recording:
    def __init__(self, folder):
        self.folder = folder
        self.key = SecurityKey("ssh.example.org")
        self.agent = RecordingAgent(os.path.join(folder, "agent"), self.key)
        self.environment = {"SSH_AUTH_SOCK": self.agent.path, "HOME": folder}
        self.public = os.path.join(folder, "phone.pub")
        authorized = os.path.join(folder, "authorized")
        line = f"sk-ecdsa-sha2-nistp256@openssh.com {base64.b64encode(self.key.blob).decode()} phone"
        for path in (self.public, authorized):
            with open(path, "w") as file:
                file.write(line + "\n")
        self.line = line
        authority = os.path.join(folder, "authority")
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", authority)
        self.known = os.path.join(folder, "known")
        with open(authority + ".pub") as file, open(self.known, "w") as known:
            known.write("@cert-authority * " + file.read())
        self.servers = [Server(folder, index, kind, options, authority, authorized)
                        for index, (kind, options) in enumerate(HOST_KEYS)]

    def ssh(self, server, *options):
        return ["ssh", "-F", "none", "-p", str(server.port), "-o", "StrictHostKeyChecking=no", "-o", "BatchMode=yes",
                "-o", f"UserKnownHostsFile={self.known}", *options, f"{USER}@127.0.0.1"]

    def login(self, server, *options, command="true"):
        run(*self.ssh(server, *options), command, environment=self.environment)
        with open(server.log) as file:
            accepted = re.findall(r"Accepted publickey for .* ssh2: ECDSA-SK (\S+)", file.read())
        assert accepted, "sshd accepted the key"
        time.sleep(0.2)
        return self.agent.clear()

    def logins(self):
        """Yields a login with each kind of host key."""
        algorithms = [
            [(0, "ssh-ed25519"), (0, "ssh-ed25519-cert-v01@openssh.com")],
            [(1, "ecdsa-sha2-nistp256"), (1, "ecdsa-sha2-nistp256-cert-v01@openssh.com")],
            [(2, "ecdsa-sha2-nistp384"), (2, "ecdsa-sha2-nistp384-cert-v01@openssh.com")],
            [(3, "ecdsa-sha2-nistp521"), (3, "ecdsa-sha2-nistp521-cert-v01@openssh.com")],
            [(4, "rsa-sha2-256"), (4, "rsa-sha2-512"), (4, "rsa-sha2-512-cert-v01@openssh.com")],
        ]
        for index, algorithm in sum(algorithms, []):
            server = self.servers[index]
            connections, assertions = self.login(server, "-o", f"HostKeyAlgorithms={algorithm}")
            assert len(connections) == 1 and len(assertions) == 1
            yield {"algorithm": algorithm, "user": USER, "hostFingerprint": server.fingerprint(),
                   "isCertificate": "-cert-" in algorithm, "requests": connections[0], "assertion": assertions[0]}

    def flags(self):
        """Yields logins that sshd accepted with flags and counters of phones."""
        for flags, counter in [(0x01, 1), (0x05, 0x01020304), (0x1D, 0), (0x0D, 0xFFFFFFFF)]:
            self.key.flags, self.key.counter = flags, counter
            _, assertions = self.login(self.servers[0])
            yield assertions[0]
        self.key.flags, self.key.counter = 0x05, 0

    def unbound(self):
        connections, assertions = self.login(self.servers[0], "-o", "PubkeyAuthentication=unbound")
        return {"user": USER, "requests": connections[0], "assertion": assertions[0]}

    def forwarded(self, command):
        """Returns what a command on the first server requests from the forwarded agent."""
        connections, assertions = self.login(self.servers[0], "-A", command=command)
        return {"user": USER, "connections": connections, "assertions": assertions,
                "hostFingerprints": [self.servers[0].fingerprint(), self.servers[1].fingerprint()]}

    def messages(self):
        """Yields messages that ssh-keygen has signed and verified."""
        signers = os.path.join(self.folder, "signers")
        for namespace, algorithm in [("git", "sha512"), ("file", "sha256"), ("a@example.org", "sha512")]:
            message = os.path.join(self.folder, "message")
            with open(message, "w") as file:
                file.write("Hello\n")
            with open(signers, "w") as file:
                file.write(f'ada@example.org namespaces="{namespace}" {self.line.rsplit(" ", 1)[0]}\n')
            run("ssh-keygen", "-Y", "sign", "-n", namespace, "-O", f"hashalg={algorithm}", "-f", self.public, message,
                environment=self.environment)
            verdict = run("ssh-keygen", "-Y", "verify", "-n", namespace, "-f", signers, "-I", "ada@example.org", "-s",
                          message + ".sig", stdin="Hello\n")
            assert verdict.startswith("Good"), verdict
            os.remove(message + ".sig")
            connections, assertions = self.agent.clear()
            with open(signers) as file:
                line = file.read().strip()
            yield {"namespace": namespace, "hash": algorithm, "allowedSigners": line, "requests": connections[0],
                   "assertion": assertions[0]}


class StockAgent:
    """OpenSSH's own ssh-agent."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "stock")
        self.process = subprocess.Popen(["ssh-agent", "-D", "-a", self.path], stdout=subprocess.DEVNULL)
        while not os.path.exists(self.path):
            time.sleep(0.05)
        key = os.path.join(folder, "stock-key")
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
        run("ssh-add", "-q", key, environment={"SSH_AUTH_SOCK": self.path})

    def replies(self, requests):
        """Returns the type of each answer on one connection."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(self.path)
            types = []
            for request in requests:
                connection.sendall(string(bytes.fromhex(request)))
                reply = receive(connection)
                types.append({"request": request, "type": reply[0],
                              "keys": int.from_bytes(reply[1:5], "big") if reply[0] == 12 else None})
            return types


def bind(message, **changes):
    """Returns a session-bind message with other fields."""
    name, rest = take(bytes.fromhex(message)[1:])
    assert name == b"session-bind@openssh.com"
    fields = {}
    for field in ("key", "session", "signature"):
        fields[field], rest = take(rest)
    fields |= {"forwarded": rest}
    fields |= changes
    body = b"".join(string(fields[field]) for field in ("key", "session", "signature"))
    return (b"\x1b" + string(name) + body + fields["forwarded"]).hex()


def flipped(message, field):
    _, rest = take(bytes.fromhex(message)[1:])
    values = {}
    for name in ("key", "session", "signature"):
        values[name], rest = take(rest)
    value = bytearray(values[field])
    value[-1] ^= 1
    return bind(message, **{field: bytes(value)})


def stock(folder, logins):
    """Yields conversations with OpenSSH's ssh-agent."""
    agent = StockAgent(folder)
    binds = [one for login in logins for one in login["requests"] if one.startswith("1b")]
    authentication, forward = b"\x00", b"\x01"
    listing, lock, unlock, wrong = "0b", "16" + string(b"secret").hex(), "17" + string(b"secret").hex(), \
        "17" + string(b"Secret").hex()
    conversations = {
        "a session that authenticates": [binds[0], listing],
        "every kind of host key, forwarded": [bind(one, forwarded=forward) for one in binds],
        "a forwarded session, then one that authenticates": [bind(binds[0], forwarded=forward), binds[2]],
        "the same session twice, forwarded": [bind(binds[0], forwarded=forward)] * 2,
        "a session after one that authenticates": [binds[0], bind(binds[2], forwarded=forward)],
        "the same session twice, for authentication": [binds[0], binds[0]],
        "a wrong signature": [flipped(binds[0], "signature")],
        "another session": [flipped(binds[0], "session")],
        "lock": [listing, lock, listing, wrong, unlock, listing, unlock],
        "an empty passphrase": ["16" + string(b"").hex(), listing],
        "an unknown extension": ["1b" + string(b"unknown@example.org").hex()],
        "an unknown type": ["63"],
    }
    for name, requests in conversations.items():
        yield {"name": name, "messages": agent.replies(requests)}
    agent.process.terminate()


def main():
    if os.getuid() == 0:
        os.makedirs("/run/sshd", exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        recording = Recording(folder)
        try:
            server = recording.servers[1]
            hop = " ".join(recording.ssh(server)) + " true"
            sign = f"ssh-keygen -Y sign -n git -f {recording.public} < /dev/null"
            logins = list(recording.logins())
            vectors = {
                "version": run("ssh", "-V").strip(),
                "key": {"blob": recording.key.blob.hex(), "point": recording.key.point.hex(),
                        "application": recording.key.application, "line": recording.line,
                        "fingerprint": run("ssh-keygen", "-l", "-f", recording.public).split()[1]},
                "logins": logins,
                "flags": list(recording.flags()),
                "unbound": recording.unbound(),
                "messages": list(recording.messages()),
                "forwardedLogin": recording.forwarded(hop),
                "forwardedMessage": recording.forwarded(sign),
                "stock": list(stock(folder, logins)),
            }
        finally:
            for server in recording.servers:
                server.process.terminate()
    json.dump(vectors, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
