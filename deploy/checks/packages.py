# SPDX-License-Identifier: Apache-2.0
"""Installs, runs, upgrades, removes and purges the packages in a temporary Debian system; started by
scripts/check-packages.

    packages.py FOLDER

FOLDER is the output of scripts/package. mmdebstrap creates the Debian system with essential packages and apt, which
resolves the dependencies. systemd-nspawn boots it in its own empty network, where the packages are installed one by one
and together. A sign-in with four of the programs runs there, with the relay started by its unit. After a purge, all files
are compared with their state before the installation. Needs root.
"""

import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time

from machine import Machine

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
# Sections of the manual.
PROGRAMS = {"hybrid-relay": 8, "hybrid-client": 1, "hybrid-auth": 1, "hybrid-key": 1, "hybrid-lab": 1,
            "hybrid-prompt": 1, "hybrid-remote": 1}
PRODUCT = ("hybrid-relay", "hybrid-client", "hybrid-auth", "hybrid-prompt", "hybrid-remote")
# Has no options to complete.
WITHOUT_COMPLETIONS = {"hybrid-prompt"}
# apt asks no questions, installs no recommended packages, and keeps changed configuration files.
APT = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qy", "-o", "Dpkg::Use-Pty=0",
       "-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold", "--no-install-recommends"]
# Records of dpkg, apt and systemd, virtual file systems, and files of the check itself.
RECORDS = {"proc", "sys", "dev", "run", "tmp", "var/log", "var/cache", "var/lib/dpkg", "var/lib/apt",
           "var/lib/systemd/timers", "var/lib/systemd/random-seed", "var/lib/systemd/rfkill", "var/lib/systemd/linger",
           "var/lib/dbus", "var/tmp", "packages"}
ACCOUNTS = ("etc/passwd", "etc/group", "etc/shadow", "etc/gshadow")
# Tunnel domain of the relay in the check. `hybrid-relay domain` prints its host.
NUMBER = "4711"


def fail(text: str) -> None:
    raise SystemExit(f"packages: {text}")


def report(text: str) -> None:
    print(text, flush=True)


def fields(package: pathlib.Path) -> dict:
    text = subprocess.run(["dpkg-deb", "-f", package], check=True, capture_output=True, text=True).stdout
    return dict(re.findall(r"^([\w-]+): (.*)$", text, re.M))


def find(folder: pathlib.Path) -> dict:
    packages = {name: list(folder.glob(f"{name}_*.deb")) for name in PROGRAMS}
    for name, found in packages.items():
        if len(found) != 1:
            fail(f"{len(found)} packages {name} in {folder}, not 1")
    return {name: found[0] for name, found in packages.items()}


def check_fields(packages: dict) -> str:
    """Checks the control fields. Returns the version of the programs."""
    versions = {fields(package)["Version"] for package in packages.values()}
    if len(versions) != 1:
        fail(f"different versions: {versions}")
    for name in PRODUCT:
        pulls = [key for key, value in fields(packages[name]).items() if key != "Description" and "hybrid-lab" in value]
        if pulls:
            fail(f"{name} depends on hybrid-lab ({', '.join(pulls)}), which is for tests")
    return versions.pop().rsplit("-", 1)[0].replace("~", "-")


# ---- Debian system ---------------------------------------------------------------------------------------------------

def make_root(root: pathlib.Path, packages: dict) -> None:
    subprocess.run(["mmdebstrap", "--quiet", "--variant=apt", "--skip=cleanup/apt/lists", "bookworm", root], check=True)
    root.chmod(0o755)
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    (root / "packages").mkdir()
    for package in packages.values():
        shutil.copy(package, root / "packages")
    for name, package in packages.items():
        pulled = dict.fromkeys(("depends", "recommends"))
        for kind in pulled:
            option = f"--{'no-' if kind == 'depends' else ''}install-recommends"
            text = in_root(root, "apt-get", "-s", "install", option, f"/packages/{package.name}")
            pulled[kind] = set(re.findall(r"^Inst (\S+)", text, re.M))
            ours = pulled[kind] & PROGRAMS.keys() - {name}
            if ours:
                fail(f"{name} {kind} on {', '.join(ours)}")
        report(f"{name}: {len(pulled['depends']) - 1} packages of Debian that it depends on are not in the smallest one, "
             f"{len(pulled['recommends'] - pulled['depends'])} more are recommended")
    needs = [fields(package)["Depends"] for package in packages.values()]
    in_root(root, *APT, "satisfy", *needs, "systemd, dbus, openssl")


def in_root(root: pathlib.Path, *command: str) -> str:
    """Returns the output of a command in the root, with the network of the host."""
    # Only a running systemd registers machines.
    unit = [] if os.path.isdir("/run/systemd/system") else ["--keep-unit"]
    done = subprocess.run(["systemd-nspawn", "--quiet", "--register=no", *unit, "--pipe", "-D", root, *command],
                          capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        fail(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()[-2000:]}")
    return done.stdout


def snapshot(root: pathlib.Path) -> dict:
    """Returns kind, mode, owner and contents of every file, by its path."""
    found = {}
    for folder, folders, files in os.walk(root):
        path = pathlib.Path(folder)
        folders[:] = [name for name in folders if str((path / name).relative_to(root)) not in RECORDS]
        for name in folders + files:
            file = path / name
            relative = str(file.relative_to(root))
            if relative in RECORDS:
                continue
            status = file.lstat()
            contents = ""
            if stat.S_ISLNK(status.st_mode):
                contents = os.readlink(file)
            elif stat.S_ISREG(status.st_mode):
                contents = hashlib.sha256(file.read_bytes()).hexdigest()
            found[relative] = (oct(status.st_mode), status.st_uid, status.st_gid, contents)
    return found


def left_behind(before: dict, after: dict) -> list:
    """Returns the paths that differ. The account stays, so files of accounts may differ in it."""
    accounts = {name + end for name in ACCOUNTS for end in ("", "-")} | {"etc/.pwd.lock"}
    return sorted(path for path in before.keys() | after.keys()
                  if before.get(path) != after.get(path) and path not in accounts)


# ---- Checks ----------------------------------------------------------------------------------------------------------

def one_by_one(machine: Machine, packages: dict, version: str, before: dict) -> None:
    for name, package in packages.items():
        text = machine.run(*APT, "install", f"/packages/{package.name}")
        installed = set(re.findall(r"^Setting up ([^\s:]+)", text, re.M))
        if installed != {name}:
            fail(f"with {name} came {installed - {name}}")
        files = machine.run("dpkg", "-L", name).splitlines()
        section = PROGRAMS[name]
        page = f"/usr/share/man/man{section}/{name}.{section}.gz"
        completions = [] if name in WITHOUT_COMPLETIONS else [
            f"/usr/share/bash-completion/completions/{name}", f"/usr/share/zsh/vendor-completions/_{name}",
            f"/usr/share/fish/vendor_completions.d/{name}.fish"]
        for path in (page, f"/usr/share/doc/{name}/copyright", *completions):
            if path not in files:
                fail(f"{name} has no {path}")
        if f".Os hybrid {version}\n" not in machine.run("zcat", page):
            fail(f"the page of {name} is of another version than {version}")
        if completions:
            machine.run("bash", "-n", completions[0])
        if (said := machine.run(name, "--version").strip()) != version:
            fail(f"{name} --version says {said}, its package is {version}")
        if "USAGE" not in machine.run(name, "--help"):
            fail(f"{name} --help shows no usage")
        machine.run(*APT, "remove", name)
        kept = [path for path in files if path.startswith("/usr/bin/") and (machine.root / path[1:]).exists()]
        if kept:
            fail(f"after its removal {name} leaves {kept}")
        machine.run("dpkg", "--purge", name)
        if difference := left_behind(before, snapshot(machine.root)):
            fail(f"after a purge {name} leaves {difference[:20]}")
        report(f"{name}: installed, --version {version}, --help, man page, completions, removed, purged, nothing left")


def demo(machine: Machine) -> None:
    text = machine.run("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "env", "HOME=/tmp",
                       "hybrid-lab", "demo", "--no-qr")
    report("hybrid-lab demo: " + next(line for line in text.splitlines() if line.startswith("Done in")))


def relay_by_unit(machine: Machine, folder: pathlib.Path) -> str:
    """Starts the relay like an operator. Returns the host in its certificate."""
    units = ("hybrid-relay.socket", "hybrid-relay.service")
    for unit in units:
        state = (machine.ask("systemctl", "is-enabled", unit), machine.ask("systemctl", "is-active", unit))
        if state != ("disabled", "inactive"):
            fail(f"{unit} is {state} before there is a certificate")
    host = machine.run("hybrid-relay", "domain", NUMBER).split()[1]
    lineage = folder / "lineage"
    lineage.mkdir()
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-days", "2", "-subj", f"/CN={host}", "-addext", f"subjectAltName=DNS:{host}",
                    "-keyout", lineage / "privkey.pem", "-out", lineage / "fullchain.pem"],
                   check=True, stderr=subprocess.DEVNULL)
    shutil.copytree(lineage, machine.root / "packages/lineage")
    machine.run("env", "RENEWED_LINEAGE=/packages/lineage", "/usr/lib/hybrid/certbot-deploy-hook")
    machine.run("systemctl", "enable", "--now", *units)
    if (state := machine.ask("systemctl", "is-active", *units)) != "active\nactive":
        fail(f"the relay did not start: {machine.ask('journalctl', '-n', '20', '-u', 'hybrid-relay')}")
    user = machine.run("stat", "-c", "%U", f"/proc/{main_process(machine)}").strip()
    if user != "hybrid-relay":
        fail(f"the relay runs as {user}")
    relay_answers(machine, host)
    return host


def main_process(machine: Machine) -> str:
    return machine.run("systemctl", "show", "-P", "MainPID", "hybrid-relay.service").strip()


def to_relay(host: str) -> list:
    return ["--cacert", "/packages/lineage/fullchain.pem", "--connect-to", f"{host}:443:127.0.0.1:443"]


def relay_answers(machine: Machine, host: str) -> None:
    text = machine.run("hybrid-relay", "check", f"wss://{host}", *to_relay(host))
    report(f"hybrid-relay.service, port 443: {text.strip().splitlines()[-1]}")


def ceremony(machine: Machine, host: str) -> None:
    """Registers and signs in with the installed programs, with the lab's user and Bluetooth."""
    here = machine.root / "packages"
    shutil.copy(REPOSITORY / "Tests/Acceptance/harness/pinentry", here / "person")
    shutil.copy(REPOSITORY / "deploy/checks/packages-ceremony", here / "ceremony")
    text = machine.run("env", "HOME=/tmp/home", "PERSON_PIN=314159", "PERSON_ANSWER=yes", "PERSON_LOG=/dev/null",
                       f"RELAY_NUMBER={NUMBER}", f"TO_RELAY={' '.join(to_relay(host))}",
                       "hybrid-lab", "air", "--adapters", "2", "--", "/packages/ceremony")
    report("hybrid-client, hybrid-auth, hybrid-relay: " + text.strip().splitlines()[-1])


def remote(machine: Machine) -> None:
    """Checks the files that browsers and logins read."""
    folder = machine.root / "usr/share/chromium/extensions"
    if [path.name for path in folder.iterdir() if path.is_dir()] != [path.name for path in folder.iterdir()]:
        fail("/usr/share/chromium/extensions has a file, with which Chromium does not start")
    # One is a link.
    host = {json.loads(machine.run("cat", f"/etc/{browser}/native-messaging-hosts/hybrid.remote.json"))["path"]
            for browser in ("chromium", "opt/chrome")}
    if host != {"/usr/libexec/hybrid-remote-host"} or not os.access(machine.root / host.pop()[1:], os.X_OK):
        fail("browsers can't start the host of hybrid-remote")
    if machine.ask("systemctl", "--global", "is-enabled", "hybrid-remote-announce.path") != "enabled":
        fail("the user unit of hybrid-remote is not enabled")
    # A login without the program, which stays possible after a removal that keeps this file.
    machine.run("env", "-i", "SSH_CONNECTION=a", "SSH_AUTH_SOCK=/nowhere", "PATH=/usr/bin:/bin", "sh", "-eu",
                "/etc/profile.d/hybrid-remote.sh")
    report("hybrid-remote: extension, manifests of the host, user unit, login")


def plugin(machine: Machine) -> None:
    """Starts the plug-in of age by both names, as age does."""
    for name in ("age-plugin-phone", "age-plugin-fido2prf"):
        if (program := machine.run("readlink", "-e", f"/usr/bin/{name}").strip()) != "/usr/bin/hybrid-key":
            fail(f"{name} leads to {program}, not to hybrid-key")
        said = machine.run("sh", "-c", f"printf -- '-> done\\n\\n' | {name} --age-plugin=identity-v1")
        if said != "-> done\n\n":
            fail(f"{name} says {said!r} to an age client without files")
        if ".Nm age-plugin-phone" not in machine.run("zcat", f"/usr/share/man/man1/{name}.1.gz"):
            fail(f"{name} has no manual")
    report("hybrid-key: the plug-in of age by both names, with manuals")


HELPER_UNITS = ("hybrid-uhid.socket", "hybrid-uhid.service")


def helper_refuses(machine: Machine, reason: str) -> str:
    """Connects to hybrid-uhid as root; returns its process ID after a refusal, with this reason in the journal."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
        client.settimeout(60)
        # Files in /run of the machine are visible from outside in this way only.
        client.connect(f"/proc/{machine.leader}/root/run/hybrid-uhid/socket")
        if client.recv(65):
            fail("hybrid-uhid sent a report to a user without a session")
    machine.run("journalctl", "--sync")
    line = machine.run("journalctl", "-o", "cat", "-n", "1", "-u", "hybrid-uhid.service", "-t", "hybrid-uhid")
    if reason not in line:
        fail(f"hybrid-uhid refused root with: {line.strip()}; expected: {reason}")
    return machine.run("systemctl", "show", "-P", "MainPID", "hybrid-uhid.service").strip()


def helper_by_unit(machine: Machine, version: str) -> None:
    """Checks the service that creates security keys, in a machine without /dev/uhid."""
    states = [machine.ask("systemctl", question, unit) for unit in HELPER_UNITS
              for question in ("is-enabled", "is-active")]
    if states != ["enabled", "active", "static", "inactive"]:
        fail(f"socket and service of hybrid-uhid are {states}")
    if (said := machine.run("/usr/libexec/hybrid-uhid", "--version").strip()) != version:
        fail(f"hybrid-uhid is {said}, its package is {version}")
    if ".Dt HYBRID-UHID 8" not in machine.run("zcat", "/usr/share/man/man8/hybrid-uhid.8.gz"):
        fail("hybrid-key has no manual of hybrid-uhid")
    for path in ("udev/rules.d/60-hybrid-uhid.rules", "modules-load.d/hybrid-uhid.conf"):
        if not (machine.root / "usr/lib" / path).exists():
            fail(f"hybrid-key has no {path}")
    process = helper_refuses(machine, "not active on seat0")
    if (user := machine.run("stat", "-c", "%U", f"/proc/{process}").strip()) != "_hybrid-uhid":
        fail(f"hybrid-uhid runs as {user}")
    if not (account := machine.run("getent", "passwd", "_hybrid-uhid").strip()).endswith("/nologin"):
        fail(f"the account of hybrid-uhid can log in: {account}")
    settings = machine.root / "etc/hybrid/uhid.env"
    settings.write_text("HYBRID_UHID_USERS=root\n")
    machine.run("systemctl", "restart", "hybrid-uhid.service")
    helper_refuses(machine, "/dev/uhid: ")
    settings.unlink()
    machine.run("systemctl", "restart", "hybrid-uhid.service")
    report("hybrid-uhid: started by its socket, refuses users without a session, admits listed users")


def upgrade_helper(machine: Machine, package: pathlib.Path, folder: pathlib.Path) -> None:
    process = helper_refuses(machine, "not active on seat0")
    shutil.copy(newer(package, folder), machine.root / "packages/newer.deb")
    machine.run(*APT, "install", "/packages/newer.deb")
    if machine.ask("systemctl", "is-active", *HELPER_UNITS) != "active\ninactive":
        fail("the upgrade did not stop hybrid-uhid, or it stopped its socket")
    if helper_refuses(machine, "not active on seat0") == process:
        fail("the upgrade did not replace the process of hybrid-uhid")
    report("upgrade: hybrid-uhid was stopped, and the next connection has started it")


def newer(package: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """Returns a copy of the package with a later revision and, if it has settings, another line in them."""
    tree = folder / f"contents-{package.stem}"
    subprocess.run(["dpkg-deb", "-R", package, tree], check=True)
    control = tree / "DEBIAN/control"
    control.write_text(re.sub(r"^(Version: .*)$", r"\1.1", control.read_text(), flags=re.M))
    for path in tree.glob("etc/hybrid/relay.env"):
        with path.open("a") as settings:
            settings.write("# A line of the next version.\n")
    path = folder / f"newer-{package.stem}.deb"
    subprocess.run(["dpkg-deb", "-Znone", "--root-owner-group", "-b", tree, path], check=True,
                   stdout=subprocess.DEVNULL)
    return path


def upgrade(machine: Machine, package: pathlib.Path, folder: pathlib.Path, host: str) -> None:
    settings = machine.root / "etc/hybrid/relay.env"
    changed = settings.read_text() + "HYBRID_DRAIN_GRACE=5\n"
    settings.write_text(changed)
    machine.run("systemctl", "restart", "hybrid-relay.service")
    process = main_process(machine)
    shutil.copy(newer(package, folder), machine.root / "packages/newer.deb")
    machine.run(*APT, "install", "/packages/newer.deb")
    if settings.read_text() != changed:
        fail("the upgrade overwrote the changed relay.env")
    if not settings.with_name("relay.env.dpkg-dist").exists():
        fail("the upgrade did not install the new relay.env as relay.env.dpkg-dist")
    if main_process(machine) in (process, "0"):
        fail("the upgrade did not restart the relay")
    relay_answers(machine, host)
    report("upgrade: the changed relay.env is kept, the new one is installed beside it, the service was restarted")


def remove_packages(machine: Machine, before: dict) -> None:
    machine.run(*APT, "remove", *PROGRAMS)
    units = ("hybrid-relay.service", "hybrid-relay.socket", *HELPER_UNITS)
    states = [machine.ask("systemctl", "is-active", unit) for unit in units]
    if "active" in states or machine.ask("bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/443 && echo open") == "open":
        fail("the relay still runs after its removal")
    if not (machine.root / "etc/hybrid/relay.env").exists():
        fail("a removal without a purge removed the settings")
    machine.run("dpkg", "--purge", *PROGRAMS)
    if difference := left_behind(before, snapshot(machine.root)):
        fail(f"files left after a purge: {difference[:20]}")
    if machine.ask("update-alternatives", "--query", "age-plugin-fido2prf"):
        fail("the alternative age-plugin-fido2prf is left")
    if machine.ask("dpkg-query", "-W", "-f", "${Package} ", "hybrid-*"):
        fail("dpkg still lists the packages")
    for name in ("hybrid-relay", "_hybrid-uhid"):
        account = machine.run("getent", "passwd", name).strip()
        if not account.endswith("/nologin"):
            fail(f"the account that stays can log in: {account}")
    report(f"removed: settings kept, services stopped; purged: {len(before)} files and directories are unchanged; "
         "the accounts are kept, without login")


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit("usage: packages.py FOLDER")
    if os.getuid() != 0:
        raise SystemExit("packages: creating and booting a root file system needs root: sudo scripts/check-packages")
    packages = find(pathlib.Path(sys.argv[1]))
    version = check_fields(packages)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hybrid-packages-"))
    root = folder / "root"
    began = time.monotonic()
    # The machine must not outlive the check.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("packages: interrupted"))
    try:
        make_root(root, packages)
        report(f"Debian system with all dependencies: {time.monotonic() - began:.0f} s")
        with Machine(root) as machine:
            before = snapshot(root)
            one_by_one(machine, packages, version, before)
            text = machine.run(*APT, "install", *(f"/packages/{package.name}" for package in packages.values()))
            report("together: " + ", ".join(re.findall(r"^Setting up (\S+ \([^)]*\))", text, re.M)))
            demo(machine)
            host = relay_by_unit(machine, folder)
            ceremony(machine, host)
            helper_by_unit(machine, version)
            plugin(machine)
            remote(machine)
            upgrade(machine, packages["hybrid-relay"], folder, host)
            upgrade_helper(machine, packages["hybrid-key"], folder)
            remove_packages(machine, before)
        report(f"total {time.monotonic() - began:.0f} s")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
