# SPDX-License-Identifier: Apache-2.0
"""The security key on a desktop: stock clients, sessions and seats of logind, our units as they are installed."""
import json
import os
import re
import signal
import socket
import statistics
import time
from pathlib import Path

from desktop import OTHER, Session, desktop, journal, root, show
from environment import PROGRAMS, USER, as_user
from harness.programs import Program, brief
from harness.waiting import must, poll
from key_device import CLIENT, SOCKET, devices, durations, flooded

SSH_PORT = 2222
# A client learns of the end of its device within a second; the guest is emulated, and other work may run beside it.
PROMPT_END = 5
PAM_SERVICE = Path("/etc/pam.d/hybrid-test")
MAPPINGS = Path("/etc/u2f_mappings")


def tools(env):
    """libfido2's programs find and describe the device; no window opens, and other users have no access."""
    with desktop(env) as desk:
        path, before = desk.start_key(), desk.prompts.count
        properties = root("udevadm", "info", "--query=property", path)
        must("ID_SECURITY_TOKEN=1" in properties, f"expected udev to recognize a security key; found {properties}")
        listed = desk.user("fido2-token", "-L")
        must(f"{path}: vendor=0x1209, product=0xcab1" in listed, f"expected {path} in the list; found {listed}")
        described = desk.user("fido2-token", "-I", path)
        for line in ("version strings: FIDO_2_0, FIDO_2_1", "algorithms: es256 (public-key)", "maxmsgsiz: 7609",
                     "maxcredcntlst: 64"):
            must(line in described, f"expected {line!r}; found {described}")
        must(not desk.can_open(OTHER, path), f"expected {OTHER} to have no access to {path}")
        must(not desk.can_open(USER, "/dev/uhid"), f"expected {USER} to have no access to /dev/uhid")
        must(desk.prompts.count == before, "expected no window; found one")
    return f"{listed.strip()}; ACL for {USER} only"


def _ssh_key(desk, name):
    """Creates an SSH key with the phone; returns its path."""
    folder = desk.env.folder / f"ssh-{name}"
    root(*as_user("mkdir", "-p", folder))
    generated = desk.program("ssh-keygen", "ssh-keygen", "-q", "-t", "ecdsa-sk", "-N", "", "-f", folder / "key", "-C", "test")
    desk.confirmed(generated)
    desk.succeeded(generated)
    return folder / "key"


def _signed(desk, key, confirm):
    """Signs a file with a key, and verifies the signature."""
    data, allowed = key.with_name("data"), key.with_name("allowed")
    root(*as_user("sh", "-c", 'echo data >"$0"; echo "test $(cut -d" " -f1,2 "$1.pub")" >"$2"', data, key, allowed))
    signed = desk.program("sign", "ssh-keygen", "-Y", "sign", "-f", key, "-n", "file", data)
    confirm(signed)
    desk.succeeded(signed)
    verified = desk.program("verify", "ssh-keygen", "-Y", "verify", "-f", allowed, "-I", "test", "-n", "file", "-s",
                            f"{data}.sig", text=data.read_text())
    desk.succeeded(verified)
    Path(f"{data}.sig").unlink()


def ssh(env):
    """Stock OpenSSH creates a key with the phone, logs in to sshd with it, and signs a file."""
    with desktop(env) as desk:
        desk.start_key()
        key = _ssh_key(desk, "login")
        host_key = env.folder / "ssh-host"
        root("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", host_key)
        Path("/run/sshd").mkdir(exist_ok=True)
        server = desk.program("sshd", "/usr/sbin/sshd", "-D", "-e", "-f", "/dev/null", "-p", SSH_PORT, "-h", host_key, "-o",
                              "ListenAddress=127.0.0.1", "-o", f"AuthorizedKeysFile={key}.pub", "-o", "UsePAM=yes", "-o",
                              "StrictModes=no", "-o", "PasswordAuthentication=no", account="root")
        env.waiting.until("sshd", lambda: "listening" in server.said(), 30)
        login = desk.program("ssh", "ssh", "-F", "/dev/null", "-p", SSH_PORT, "-i", key, "-o", "IdentitiesOnly=yes", "-o",
                             "UserKnownHostsFile=/dev/null", "-o", "StrictHostKeyChecking=no", f"{USER}@127.0.0.1", "id -un")
        desk.confirmed(login)
        must(desk.succeeded(login).endswith(f"{USER}\n"), f"expected a login as {USER}; found {login.said()}")
        _signed(desk, key, desk.confirmed)
        version = brief(["ssh", "-V"], environment=dict(os.environ)).stderr.strip()
    return f"{version.split(',')[0]}: key created, logged in, signed and verified"


def pam(env):
    """pam_u2f accepts the phone with the line of `hybrid-key pam enrol`, and refuses when the user cancels."""
    with desktop(env) as desk:
        desk.start_key()
        enrolled = desk.program("enrol", "hybrid-key", "pam", "enrol", "--service", PAM_SERVICE.name, "--open", *desk.route)
        desk.confirmed(enrolled)
        desk.succeeded(enrolled)
        line = next((line for line in enrolled.said().splitlines() if line.startswith(f"{USER}:")), None)
        must(line and line.endswith(",es256,+presence+verification"), f"expected a line for pam_u2f; found {enrolled.said()}")
        MAPPINGS.write_text(line + "\n")
        origin = f"pam://{socket.gethostname()}/{PAM_SERVICE.name}"
        PAM_SERVICE.write_text(f"auth required pam_u2f.so authfile={MAPPINGS} origin={origin} cue\naccount required pam_permit.so\n")
        tested = desk.program("pamtester", "pamtester", PAM_SERVICE.name, USER, "authenticate")
        desk.confirmed(tested)
        must("successfully authenticated" in desk.succeeded(tested), f"expected success; found {tested.said()}")
        refused = desk.program("pamtester-cancelled", "pamtester", PAM_SERVICE.name, USER, "authenticate")
        desk.prompts.next("scan", refused).answer("cancel")
        must(desk.ended(refused) != 0, f"expected pam_u2f to refuse; found {refused.said()}")
    return line[:60] + "…"


def two(env):
    """With a second key plugged in: each signs with its own credential, and the user selects one by our window."""
    with desktop(env) as desk:
        # The second key is alone at first, so that its credential is its own.
        desk.soft_key()
        folder = env.folder / "ssh-soft"
        root(*as_user("mkdir", "-p", folder))
        desk.succeeded(desk.program("ssh-keygen", "ssh-keygen", "-q", "-t", "ecdsa-sk", "-N", "", "-f", folder / "key", "-C",
                                    "soft"))
        desk.start_key()
        before = desk.prompts.count
        _signed(desk, folder / "key", lambda program: None)
        must(desk.prompts.count == before, "expected the second key to sign without a window of ours; found one")
        generated = desk.program("ssh-keygen", "ssh-keygen", "-q", "-t", "ecdsa-sk", "-N", "", "-f", folder / "phone", "-C",
                                 "phone")
        selection = desk.prompts.next("use-phone", generated)
        must(selection.request["operation"] == "select", f"expected a selection; found {selection.request}")
        selection.answer("proceed")
        desk.confirmed(generated, "use-phone")
        desk.succeeded(generated)
        _signed(desk, folder / "phone", lambda program: desk.confirmed(program, "use-phone"))
    return "the other key signed without a window; selection; the phone signed for its own key"


def kill(env):
    """SIGKILL of each process during a request: the client gets an error at once, and the next device works."""
    times = {}
    with desktop(env) as desk:
        for part in ("ceremony", "prompt", "hybrid-key", "hybrid-uhid"):
            desk.start_key()
            folder = env.folder / f"ssh-kill-{part}"
            root(*as_user("mkdir", "-p", folder))
            client = desk.program(f"ssh-keygen-{part}", "ssh-keygen", "-q", "-t", "ecdsa-sk", "-N", "", "-f", folder / "key")
            prompt = desk.prompts.next("scan", client)
            key = desk.key_process
            children = [int(number) for number in root("pgrep", "--parent", key).split()]
            process = {"prompt": int(prompt.name), "hybrid-key": key,
                       "hybrid-uhid": int(show("hybrid-uhid.service", "MainPID"))}.get(part)
            if process is None:
                process = next(child for child in children
                               if b"ceremony" in Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0"))
            begun = time.monotonic()
            os.kill(process, signal.SIGKILL)
            must(desk.ended(client) != 0, f"expected ssh-keygen to fail; found {client.said()}")
            times[part] = time.monotonic() - begun
            must(poll(lambda: prompt.is_gone, 30), "expected the prompt to close; it did not")
            if part in ("hybrid-key", "hybrid-uhid"):
                # systemd starts the one again, and a connection the other.
                desk.device()
            env.waiting.until("no advert", lambda: not any(env.bluez.adverts(a) for a in ("hci0", "hci1")), 30)
    found = ", ".join(f"{part} {seconds:.2f} s" for part, seconds in times.items())
    must(max(times.values()) < PROMPT_END, f"expected errors at once; found {found}")
    return f"the client's error after {found}"


def suspend(env):
    """A suspend ends the pending request; the key works afterwards."""
    with desktop(env) as desk:
        desk.start_key()
        folder = env.folder / "ssh-suspend"
        root(*as_user("mkdir", "-p", folder))
        client = desk.program("ssh-keygen", "ssh-keygen", "-q", "-t", "ecdsa-sk", "-N", "", "-f", folder / "key")
        prompt = desk.prompts.next("scan", client)
        # The kernel's own test of a suspend: it resumes after five seconds, without firmware.
        Path("/sys/power/pm_test").write_text("core")
        slept = time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()
        Path("/sys/power/state").write_text("mem")
        slept = time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic() - slept
        must(slept > 2, f"expected the clock to stand still for seconds; found {slept:.1f} s")
        must(desk.ended(client) != 0, f"expected ssh-keygen to fail; found {client.said()}")
        must(poll(lambda: prompt.is_gone, 30), "expected the prompt to close; it did not")
        must("FIDO_2_1" in desk.user("fido2-token", "-I", desk.device()), "expected a usable key afterwards")
    return f"the pending request ended after {slept:.0f} s of sleep, the key works"


def switch(env):
    """The device follows the active session: it disappears with a switch of users, and comes back."""
    with desktop(env) as desk:
        path = desk.start_key()
        other = Session(env, OTHER)
        try:
            begun = time.monotonic()
            other.activate()
            env.waiting.until("the end of the device", lambda: not devices(), 60)
            seconds = time.monotonic() - begun
            must("not active on seat0" in journal("hybrid-uhid.service"), "expected the reason in the journal")
            held = desk.program("client", "python3", "-B", CLIENT, "hold", SOCKET)
            must(desk.ended(held) == 0 and "closed" in held.said(), f"expected a refusal; found {held.said()}")
            desk.session.activate()
            begun = time.monotonic()
            desk.device()
            again = time.monotonic() - begun
        finally:
            other.end()
    return f"{path} gone {seconds:.1f} s after the switch, and back after {again:.1f} s"


def seat1(env):
    """The active user of another seat gets no device; the user of seat0 keeps it."""
    rule = Path("/run/udev/rules.d/99-seat1.rules")
    rule.parent.mkdir(exist_ok=True)
    rule.write_text('KERNEL=="uinput", TAG+="seat", TAG+="master-of-seat", ENV{ID_SEAT}="seat1"\n')
    root("modprobe", "uinput")
    root("udevadm", "control", "--reload")
    root("udevadm", "trigger", "--action=change", "--settle", "/dev/uinput")
    with desktop(env) as desk:
        path = desk.start_key()
        env.waiting.until("seat1", lambda: "seat1" in root("loginctl", "list-seats", "--no-legend"), 30, pause=0.2)
        other = Session(env, OTHER, "seat1")
        try:
            env.waiting.until("an active session on seat1", lambda: other.is_active, 30, pause=0.2)
            refused = desk.program("client", "setpriv", f"--reuid={OTHER}", "--clear-groups", "python3", "-B", CLIENT, "hold",
                                   SOCKET, account=OTHER)
            must(desk.ended(refused) == 0 and "closed" in refused.said(), f"expected a refusal; found {refused.said()}")
            number = root("id", "-u", OTHER).strip()
            must(f"user {number}: not active on seat0" in journal("hybrid-uhid.service"), "expected the reason in the journal")
            must(devices() == [path.name], f"expected {USER} to keep {path}; found {devices()}")
        finally:
            other.end()
            rule.unlink()
    return f"{OTHER} on seat1 refused, {USER} keeps {path}"


def ping(env):
    """The longest messages through hybrid-uhid and hybrid-key, and getInfo."""
    with desktop(env) as desk:
        path = desk.start_key()
        times = durations(path, 100, 2)
    must(len(times) == 100, f"expected 100 messages to come back; found {len(times)}")
    return f"100 of 100 messages of 129 reports, {1000 * statistics.median(times):.0f} ms in the median"


def flood(env):
    """A client that sends as fast as it can, under the unit's limits."""
    with desktop(env) as desk:
        desk.stop_key()
        client = Program("client flood", as_user("python3", "-B", CLIENT, "flood", SOCKET),
                         log=env.results / f"{env.case}-client.log", environment=desk.environment, pipe_input=True)
        desk.programs.append(client)
        return flooded(env, client, desk.device())


def status(env):
    """`hybrid-key status`, `forget` and the doctor's lines, with and without the helper."""
    with desktop(env) as desk:
        path = desk.start_key()
        found = json.loads(desk.user("hybrid-key", "status", "--json", *desk.route, check=False))
        for name, value in (("device", str(path)), ("accessible", True), ("module", True), ("helper", str(SOCKET)),
                            ("otherKeys", [])):
            must(found.get(name) == value, f"expected {name} to be {value!r}; found {found}")
        must(found["radio"]["works"] and not found["radio"]["virtual"], f"expected a real radio; found {found['radio']}")
        soft = desk.soft_key()
        found = json.loads(desk.user("hybrid-key", "status", "--json", *desk.route, check=False))
        must(found["otherKeys"] == [str(soft)], f"expected the other key {soft}; found {found}")
        desk.user("hybrid-key", "forget")
        found = json.loads(desk.user("hybrid-key", "status", "--json", *desk.route, check=False))
        must(found["credentials"] == 0, f"expected no remembered credentials after forget; found {found}")
        checks = {check["check"]: check for check in env.doctor()["checks"]}
        lines = {name: check for name, check in checks.items() if "uhid" in name or "security" in name}
        must(len(lines) == 3 and all(check["state"] == "ok" for check in lines.values()),
             f"expected three checks of the security key to pass; found {lines or list(checks)}")
        desk.stop_key()
        done = brief(as_user("hybrid-key", "status", *desk.route), environment=desk.environment, check=False)
        must(done.returncode == 69 and "none; run: systemctl --user restart hybrid-key" in done.stdout,
             f"expected exit status 69 and the remedy; found {done.returncode}: {done.stdout}{done.stderr}")
        root("systemctl", "stop", "--quiet", "hybrid-uhid.socket", "hybrid-uhid.service")
        try:
            done = brief(as_user("hybrid-key", "status", *desk.route), environment=desk.environment, check=False)
            must("none; start the helper" in done.stdout, f"expected the helper to be missing; found {done.stdout}")
        finally:
            root("systemctl", "start", "hybrid-uhid.socket")
    return f"{path} accessible; other key seen; forget; doctor: {', '.join(lines)}"


def hardening(env):
    """`systemd-analyze security` of both units; the helper's score is at most 1.0."""
    with desktop(env) as desk:
        desk.start_key()
        def score(text):
            return float(re.search(r"Overall exposure level for \S+: ([0-9.]+)", text)[1])

        helper = root("systemd-analyze", "security", "--no-pager", "hybrid-uhid.service")
        key = desk.user("systemd-analyze", "--user", "security", "--no-pager", "hybrid-key.service")
        for name, text in (("hybrid-uhid", helper), ("hybrid-key", key)):
            (env.results / f"{env.case}-{name}.txt").write_text(text)
        process = show("hybrid-uhid.service", "MainPID")
        threads = root("ps", "-L", "-o", "class=,rtprio=,comm=", "-p", process).split("\n")
        state = Path(f"/proc/{process}/status").read_text()
        for line in ("NoNewPrivs:\t1", "Seccomp:\t2", "CapBnd:\t0000000000000000"):
            must(line in state, f"expected {line!r}; found {state}")
        must(score(helper) <= 1.0, f"expected at most 1.0; found {helper}")
        realtime = sum(line.split()[:1] == ["RR"] for line in threads)
        # The thread that accepts connections and the one that reads; a connection's own has the usual priority.
        must(realtime == 2 and len([line for line in threads if line.strip()]) == 3,
             f"expected two of three threads with a real-time priority; found {threads}")
    return f"hybrid-uhid.service {score(helper)}, hybrid-key.service {score(key)} (user)"


def calls(env):
    """The system calls of hybrid-uhid with a device, from the connection to its end."""
    with desktop(env) as desk:
        # A first connection starts the service, which then stays for a minute.
        desk.start_key()
        desk.stop_key()
        record = env.results / f"{env.case}.strace"
        traced = Program("strace", ["strace", "-f", "-qq", "-o", record, "-p", show("hybrid-uhid.service", "MainPID")],
                         log=env.results / f"{env.case}-strace.log", environment=dict(os.environ))
        desk.programs.append(traced)
        env.waiting.until("strace", lambda: record.exists(), 30)
        # Messages of one report, because the kernel drops some of a longer one while strace stops the program.
        times = durations(desk.start_key(), 3, 30, length=57)
        desk.stop_key()
        traced.stop()
        names = {}
        for line in record.read_text(errors="replace").splitlines():
            if found := re.match(r"\d+ +([a-z0-9_]+)\(", line):
                names[found[1]] = names.get(found[1], 0) + 1
        must(len(times) == 3 and names.get("read", 0) > 3, f"expected a device's calls; found {names}")
        opened = sorted(set(re.findall(r'open(?:at)?\((?:AT_FDCWD, )?"([^"]+)"', record.read_text(errors="replace"))))
    return f"{', '.join(sorted(names))}; files: {', '.join(opened)}"


CASES = {f"key-{case.__name__}": case for case in (
    tools, ssh, pam, two, kill, switch, seat1, ping, flood, status, hardening, calls)}
# A case with a guest of its own.
ALONE = {"key-suspend": suspend}
