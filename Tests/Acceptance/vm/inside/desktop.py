# SPDX-License-Identifier: Apache-2.0
"""A desktop in the guest with systemd: the files of our packages, sessions of logind, and the user's hybrid-key."""
import os
import shutil
from contextlib import contextmanager
from pathlib import Path

from environment import PROGRAMS, USER, as_user
from harness.programs import Program, brief
from harness.prompts import PROGRAM as PROMPT
from harness.prompts import Prompts
from harness.waiting import Failed, must
from key_device import devices

DEPLOY, OTHER = Path("/mnt/deploy"), "ben"
RULES = Path("/usr/lib/udev/rules.d")
# As in deploy/debian; the packages' programs are built elsewhere.
FILES = {
    "systemd/hybrid-uhid.service": "/usr/lib/systemd/system", "systemd/hybrid-uhid.socket": "/usr/lib/systemd/system",
    "systemd/sysusers.d/hybrid-uhid.conf": "/usr/lib/sysusers.d",
    "systemd/modules-load.d/hybrid-uhid.conf": "/usr/lib/modules-load.d",
    "systemd/user/hybrid-key.service": "/usr/lib/systemd/user",
    "systemd/user/hybrid-key-agent.socket": "/usr/lib/systemd/user",
    "systemd/user/hybrid-key-restricted.socket": "/usr/lib/systemd/user", "udev/60-hybrid-uhid.rules": RULES,
}
PAM = "auth required pam_permit.so\naccount required pam_permit.so\nsession required pam_systemd.so\n"
TERMINALS = {USER: 7, OTHER: 8}


def root(*command, check=True):
    """Runs a short command as root; returns its output."""
    return brief([str(word) for word in command], environment=dict(os.environ), check=check).stdout


def show(unit, name):
    return root("systemctl", "show", "--property", name, "--value", unit).strip()


def journal(unit):
    return root("journalctl", "--output", "cat", "--unit", unit)


def install():
    """Does what the installation of the packages hybrid-key and hybrid-client does."""
    for name in ("hybrid-key", "hybrid-auth", "hybrid-client"):
        shutil.copy(PROGRAMS / name, "/usr/bin")
    Path("/usr/libexec").mkdir(exist_ok=True)
    shutil.copy(PROGRAMS / "hybrid-uhid", "/usr/libexec")
    for name, folder in FILES.items():
        Path(folder).mkdir(parents=True, exist_ok=True)
        shutil.copy(DEPLOY / name, folder)
    Path("/etc/pam.d/desktop").write_text(PAM)
    root("systemd-sysusers", "/usr/lib/sysusers.d/hybrid-uhid.conf")
    root("systemctl", "daemon-reload")
    root("udevadm", "control", "--reload")
    root("modprobe", "uhid")
    root("udevadm", "trigger", "--action=change", "--subsystem-match=misc", "--sysname-match=uhid", "--settle")
    root("systemctl", "enable", "--now", "--quiet", "hybrid-uhid.socket")


class Session:
    """A session of a user on a seat, which exists until `end`."""

    def __init__(self, env, user, seat="seat0"):
        self._env, self.user, self.seat = env, user, seat
        self._unit = f"session-{user}-{next(env.numbers)}"
        terminal = TERMINALS[user]
        on_terminal = ["-p", f"TTYPath=/dev/tty{terminal}", "-p", "StandardInput=tty", "-E", f"XDG_VTNR={terminal}"]
        root("systemd-run", "--quiet", f"--unit={self._unit}", "--collect", "-p", "PAMName=desktop", "-p", f"User={user}",
             *(on_terminal if seat == "seat0" else []), "-E", f"XDG_SEAT={seat}", "-E", "XDG_SESSION_TYPE=x11", "-E",
             "XDG_SESSION_CLASS=user", "sleep", "infinity")
        self.id = env.waiting.until(f"a session of {user} on {seat}", self._find, 60, pause=0.2)

    def _find(self):
        lines = [line.split() for line in root("loginctl", "list-sessions", "--no-legend").splitlines()]
        return next((line[0] for line in lines if line[2:4] == [self.user, self.seat]), None)

    def activate(self):
        root("loginctl", "activate", self.id)
        self._env.waiting.until(f"the session of {self.user} to be active", lambda: self.is_active, 60, pause=0.2)
        return self

    @property
    def is_active(self):
        return root("loginctl", "show-session", "--property", "Active", "--value", self.id, check=False).strip() == "yes"

    def end(self):
        root("systemctl", "stop", self._unit, check=False)


class Desktop:
    """The desktop of the unprivileged user; its hybrid-key uses our relay and simulated prompts."""

    def __init__(self, env):
        self.env, self.programs = env, []
        install()
        self.session = Session(env, USER).activate()
        number = root("id", "-u", USER).strip()
        self.runtime = f"/run/user/{number}"
        env.waiting.until("the user's bus", Path(self.runtime, "bus").exists, 120, pause=0.2)
        folder = env.folder / f"prompts-{next(env.numbers)}"
        self.prompts = Prompts(folder, env.waiting)
        shutil.chown(folder, USER, USER)
        self.environment = env.environment | self.prompts.environment | {
            "XDG_RUNTIME_DIR": self.runtime, "DBUS_SESSION_BUS_ADDRESS": f"unix:path={self.runtime}/bus"}
        self.route = [*map(str, env.network), "--adapter", "hci0"]
        drop_in = Path(f"/home/{USER}/.config/systemd/user/hybrid-key.service.d/test.conf")
        root(*as_user("mkdir", "-p", drop_in.parent))
        drop_in.write_text("[Service]\nExecStart=\nExecStart=/usr/bin/hybrid-key serve " + " ".join(self.route)
                           + f"\nEnvironment=HYBRID_PROMPT={PROMPT} PROMPT_FOLDER={folder}\n")
        self.user("systemctl", "--user", "daemon-reload")

    def user(self, *command, check=True):
        """Runs a short command as the user; returns its output."""
        return brief(as_user(*command), environment=self.environment, check=check).stdout

    def program(self, name, *command, text=None, account=USER):
        """Starts a program of the user, or of another account."""
        log = self.env.results / f"{self.env.case}-{next(self.env.numbers):03}-{name}.log"
        command = as_user(*command) if account == USER else command
        started = Program(name, command, log=log, environment=self.environment, text=text)
        self.programs.append(started)
        return started

    def soft_key(self):
        """Plugs a second security key in; returns its path."""
        before = set(Path("/dev").glob("hidraw*"))
        key = Program("soft key", ["python3", "-B", Path(__file__).with_name("soft_key.py")],
                      log=self.env.results / f"{self.env.case}-soft-key.log", environment=dict(os.environ))
        self.programs.append(key)
        path = self.env.waiting.until("the second key", lambda: set(Path("/dev").glob("hidraw*")) - before, 60).pop()
        self.accessible(path)
        return path

    def start_key(self):
        """Starts hybrid-key anew, as it opens only three windows in a minute; returns the path of its device."""
        self.user("systemctl", "--user", "restart", "hybrid-key.service")
        return self.device()

    def stop_key(self):
        self.user("systemctl", "--user", "stop", "hybrid-key.service", "hybrid-key-agent.socket", check=False)
        self.env.waiting.until("the end of the device", lambda: not devices(), 60)

    def device(self):
        """Returns the path of the device, once the user may open it."""
        self.env.waiting.until("a device of hybrid-key", lambda: len(devices()) == 1, 60, pause=0.1)
        return self.accessible(Path("/dev") / devices()[0])

    def accessible(self, path):
        """Waits for logind's ACL."""
        self.env.waiting.until(f"{USER} to have access to {path}", lambda: self.can_open(USER, path), 60, pause=0.2)
        return path

    @staticmethod
    def can_open(user, path):
        tested = ["setpriv", f"--reuid={user}", "--clear-groups", "sh", "-c", 'exec 3<>"$0"', str(path)]
        return brief(tested, environment=dict(os.environ), check=False).returncode == 0

    @property
    def key_process(self):
        return int(self.user("systemctl", "--user", "show", "--property", "MainPID", "--value", "hybrid-key.service"))

    def ended(self, program, seconds=90):
        """Waits for the end of a program; returns its status."""
        self.env.waiting.until(f"{program.name} to end", lambda: program.status is not None, seconds)
        return program.status

    def succeeded(self, program):
        must(self.ended(program) == 0, f"expected {program.name} to succeed; it {program.ending}: {program.said().strip()}")
        return program.said()

    def confirmed(self, program, state="scan"):
        """Answers the next prompt with the phone; returns the prompt."""
        prompt = self.prompts.next(state, program)
        if state == "use-phone":
            prompt.answer("proceed")
            self.env.waiting.until("a code", lambda: prompt.code, 60)
        phone = self.env.phone(prompt.code)
        must(phone.ended() == 0, f"expected the phone to answer; it {phone.program.ending}: {phone.sentence}")
        return prompt

    def tidy(self):
        for program in self.programs:
            program.stop()
        self.programs = []
        if not self.session.is_active:
            self.session.activate()
        self.stop_key()


@contextmanager
def desktop(env):
    """The desktop of the guest, which exists from the first case on; each case begins without a device."""
    if not hasattr(env, "desktop"):
        env.desktop = Desktop(env)
    try:
        yield env.desktop
    except Failed:
        for unit in ("hybrid-uhid.service", "user@1000.service", "systemd-logind.service"):
            (env.results / f"{env.case}-{unit}.journal").write_text(journal(unit))
        raise
    finally:
        env.desktop.tidy()
