#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs two balancers with deploy/keepalived and deploy/haproxy, each in a network namespace, and lets the address move.

    unshare --mount --net python3 deploy/checks/keepalived.py PEM FOLDER

Needs root, because keepalived runs the check of HAProxy by another account. PEM is a certificate with its key for HAProxy.
First keepalived checks the file itself, for both balancers.
"""
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

DEPLOY = pathlib.Path(__file__).resolve().parent.parent
PEM, FOLDER = map(pathlib.Path, sys.argv[1:])
ADDRESS = "203.0.113.10"
OWN = {"a": "203.0.113.2", "b": "203.0.113.3"}
MAXCONN = 20
# Time limit in seconds for a move, which takes at most seven: two checks of two seconds each, and three messages.
PATIENCE = 20


def expect(condition, sentence):
    if not condition:
        sys.exit(f"keepalived: {sentence}")


class Balancer:
    """A network namespace with its HAProxy and keepalived."""

    def __init__(self, name):
        self.name, self.processes = name, {}
        self._holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        # Its namespace exists once it differs from this one.
        until("a network namespace", lambda: os.readlink(f"/proc/{self._holder.pid}/ns/net") != os.readlink(
            "/proc/self/ns/net"))
        self.namespace = str(self._holder.pid)
        self.run("ip", "link", "set", "lo", "up")

    def command(self, *words):
        return ["nsenter", f"--net=/proc/{self.namespace}/ns/net", *words]

    def run(self, *words):
        return subprocess.run(self.command(*words), check=True, capture_output=True, text=True).stdout

    def start(self, what, words, **environment):
        log = (FOLDER / f"{what}-{self.name}.log").open("a", encoding="utf-8")
        self.processes[what] = subprocess.Popen(self.command(*words), stdout=log, stderr=log,
                                                env={**os.environ, **environment})

    def kill(self, what):
        process = self.processes.pop(what)
        # nsenter becomes the program, which may have children. A child that outlives it would say goodbye on the network.
        process.send_signal(signal.SIGSTOP)
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="utf-8").split()
        for child in children:
            os.kill(int(child), signal.SIGKILL)
        process.kill()
        process.wait()

    def start_haproxy(self):
        self.start("haproxy", ["haproxy", "-db", "-f", str(DEPLOY / "haproxy/haproxy.cfg")], RELAY_UNPRIVILEGED="1",
                   RELAY_BIND="*:443", RELAY_CRT=str(PEM), RELAY_NODES_MAP=str(DEPLOY / "haproxy/nodes.map"),
                   RELAY_MAXCONN=str(MAXCONN), RELAY_CHECK="127.0.0.1:8404")

    def start_keepalived(self, file):
        self.start("keepalived", ["keepalived", "--dont-fork", "--log-console", "--log-detail", "--vrrp",
                                  "--config-id", self.name, "--use-file", str(file),
                                  "--pid", str(FOLDER / f"{self.name}.pid"),
                                  "--vrrp_pid", str(FOLDER / f"{self.name}-vrrp.pid")])

    def said(self):
        return (FOLDER / f"keepalived-{self.name}.log").read_text(encoding="utf-8", errors="replace")

    def has_address(self):
        return f"inet {ADDRESS}/" in self.run("ip", "-4", "addr", "show", "dev", "eth0")

    def is_healthy(self):
        return subprocess.run(self.command(str(DEPLOY / "keepalived/check-haproxy")), check=False).returncode == 0

    def has_failed(self):
        """Returns true if keepalived has found HAProxy to be down."""
        return "FAULT STATE" in self.said()

    def fill(self):
        """Opens as many connections as HAProxy accepts, which say nothing; returns the program that keeps them."""
        self.start("flood", [sys.executable, "-c", FLOOD, str(MAXCONN)])
        until("HAProxy to be full", lambda: not self.answers())

    def answers(self):
        words = ["curl", "--silent", "--insecure", "--max-time", "1", "--output", "/dev/null", "https://127.0.0.1/"]
        return subprocess.run(self.command(*words), check=False).returncode == 0

    def end(self):
        for what in list(self.processes):
            self.kill(what)
        self._holder.kill()


# Each connection is opened again as soon as HAProxy closes it.
FLOOD = """
import select, socket, sys
lines = {}
while True:
    while len(lines) < int(sys.argv[1]):
        line = socket.create_connection(("127.0.0.1", 443), source_address=(f"127.0.0.{2 + len(lines) % 9}", 0))
        lines[line.fileno()] = line
    for number in select.select(list(lines), [], [], 1)[0]:
        lines.pop(number).close()
"""


def until(what, look):
    end = time.monotonic() + PATIENCE
    while not look():
        expect(time.monotonic() < end, f"expected {what} within {PATIENCE} s; waited in vain")
        time.sleep(0.05)


def check_file(place):
    """Keepalived reads the file as it is, with another path of the check, where the named interfaces exist.

    Returns the file that is run.
    """
    def test(name, file):
        words = ["keepalived", "--config-test", "--config-id", name, "--use-file", str(file)]
        result = subprocess.run(place.command(*words), check=False, capture_output=True, text=True)
        return result.returncode, (result.stdout + result.stderr).strip()

    text = (DEPLOY / "keepalived/keepalived.conf").read_text(encoding="utf-8")
    # Only root may be able to change the check, from the root folder on.
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "none", "/mnt"], check=True)
    path = pathlib.Path("/mnt/check-haproxy")
    path.write_bytes((DEPLOY / "keepalived/check-haproxy").read_bytes())
    path.chmod(0o755)
    text = text.replace("/usr/lib/hybrid/check-haproxy", str(path))
    as_nobody = text
    # With another account than root's, keepalived 2.2.7 ends itself in this test.
    text = text.replace("script_user nobody", "script_user root")
    file = FOLDER / "keepalived.conf"
    file.write_text(text, encoding="utf-8")
    for name in OWN:
        status, said = test(name, file)
        expect(status == 0 and not said, f"the file is not valid for the balancer {name}: {said}")
    broken = FOLDER / "broken.conf"
    broken.write_text(text.replace("nopreempt", "nopreemt"), encoding="utf-8")
    expect(test("a", broken)[0] != 0, "the check of files does not notice a typo")
    text = as_nobody
    if not os.path.exists("/proc/net/if_inet6"):
        text = re.sub(r"    virtual_ipaddress_excluded \{.*?\n    \}\n", "", text, flags=re.S)
    file.write_text(text, encoding="utf-8")
    return file


def move(a, b, file):
    for one in (a, b):
        one.start_haproxy()
    for one in (a, b):
        until(f"HAProxy {one.name}", one.is_healthy)
        one.start_keepalived(file)
    until("the first balancer to take the address", lambda: a.has_address() and not b.has_address())
    times = []

    def moves(old, new, what):
        start = time.monotonic()
        # A killed keepalived leaves the address on its machine, which would have lost its power.
        until(f"the address to move after {what}", lambda: new.has_address() and (old is None or not old.has_address()))
        times.append(f"{time.monotonic() - start:.1f} s after {what}")

    a.fill()
    for _ in range(3):
        expect(a.is_healthy(), "the check fails although HAProxy is only full")
    expect(a.has_address() and not a.has_failed(), "the address moved because HAProxy was full")
    a.kill("flood")
    a.kill("haproxy")
    moves(a, b, "HAProxy ended")
    before = a.said().count("succeeded")
    a.start_haproxy()
    until("keepalived to notice HAProxy", lambda: a.said().count("succeeded") > before)
    until("the first balancer to stand by", lambda: a.said().rfind("BACKUP STATE") > a.said().rfind("FAULT STATE"))
    expect(b.has_address() and not a.has_address(), "the address went back to a balancer that returned")
    b.kill("keepalived")
    moves(None, a, "the other machine was lost")
    return times


def main():
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    balancers = []
    try:
        for name in OWN:
            balancers.append(Balancer(name))
        a, b = balancers
        for interface in ("eth0", "eth1"):
            a.run("ip", "link", "add", interface, "type", "veth", "peer", "name", interface, "netns", b.namespace)
        for one in balancers:
            one.run("ip", "addr", "add", f"{OWN[one.name]}/24", "dev", "eth0")
            for interface in ("eth0", "eth1"):
                one.run("ip", "link", "set", interface, "up")
        times = move(a, b, check_file(a))
    finally:
        for one in balancers:
            one.end()
    print(f"the address stays while HAProxy is full, moves {' and '.join(times)}, and does not return by itself")


if __name__ == "__main__":
    main()
