# SPDX-License-Identifier: Apache-2.0
"""The package hybrid-remote on b, a Debian that systemd-nspawn boots: apt installs it, a user's browser signs in, apt removes it.

Most cases need those before them.
"""
import json
import os
import re
import shutil
import sys
import time
from pathlib import Path
from types import SimpleNamespace

from browser import PAGE, SALT, RemoteBrowser, until_serving
from environment import ORIGIN, RemoteEnvironment
from harness.browser import Browser
from harness.command import REPOSITORY
from harness.programs import Program, brief
from harness.ssh_agent import fingerprint
from harness.waiting import must, poll
from hosts import Host
from sudo import SUDO

sys.path.append(str(REPOSITORY / "deploy" / "checks"))
from machine import Machine  # noqa: E402
from packages import APT, left_behind, snapshot  # noqa: E402

USER = "ada"
HOME = f"/home/{USER}"
PACKAGE = "hybrid-remote"
# A clone and built programs on b, in a folder that is not compared.
CLONE, BUILT = "/packages/clone", "/packages/built"


class InstalledHost(Host):
    """A host with Debian's own services, whose user is not root. Its root is an overlay, so the folder stays as it is."""

    def __init__(self, env, root):
        # Not that of `Host`, which starts sshd.
        self.name, self.alias, self.user = "b", "b.test", USER
        self._machine = Machine(root, env.folder.path("console"), (
            "--volatile=overlay", f"--bind-ro={REPOSITORY}:{CLONE}", f"--bind-ro={env.programs.remote.parent}:{BUILT}"))
        self._machine.__enter__()

    def prepare(self, key):
        """Creates the user, who logs in with a key."""
        self.process = self._machine.leader
        self._network = os.readlink(f"/proc/{self.process}/ns/net")
        self.root = Path(f"/proc/{self.process}/root")
        self.inside("sh", "-c", "echo 127.0.1.1 $(uname -n) >>/etc/hosts")
        self.inside("useradd", "--create-home", "--shell", "/bin/bash", USER)
        self.inside("sh", "-c", 'mkdir -m 700 .ssh && cat >.ssh/authorized_keys', user=USER,
                    text=key.with_suffix(".pub").read_text())
        public = self.root / "etc/ssh/ssh_host_ed25519_key.pub"
        self._key = public.read_text().split()[:2]
        self.fingerprint = fingerprint(public)
        self.folder = self.root / "srv"

    def words(self, *command, variables=(), user="root"):
        home = "/root" if user == "root" else HOME
        return ["nsenter", "--target", str(self.process), "--net", "--mount", "--uts", "--ipc", "--pid", "--root",
                f"--wd=/proc/{self.process}/root{home}", "--", "setpriv", "--reuid", user, "--regid", user, "--init-groups",
                # nsenter passes no signal on.
                "--pdeathsig", "TERM", "--", "env", "-i", f"HOME={home}", "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
                "LC_ALL=C.UTF-8", *variables, *map(str, command)]

    def inside(self, *command, user="root", **options):
        return brief(self.words(*command, user=user), environment=os.environ, **options)

    def apt(self, *words):
        """Runs apt; returns the names of the packages that it installs or removes."""
        done = self.inside(*APT, *words, seconds=300)
        return set(re.findall(r"^(?:Setting up|Removing|Purging configuration files for) ([^\s:]+)", done.stdout, re.M))

    def stop(self):
        self._machine.__exit__()
        return []


class InstalledEnvironment(RemoteEnvironment):
    """The same environment, with one host."""

    def __init__(self, programs, folder, signals, root, packages):
        super().__init__(programs, folder, signals)
        self._root, self._packages = root, packages

    def start_hosts(self, key):
        self.b = self.keep(InstalledHost(self, self._root))
        self.b.prepare(key)
        self.b.link(1)
        package, = self._packages.glob(f"{PACKAGE}_*.deb")
        shutil.copy(package, self.b.folder / "package.deb")
        self.heading = (f"{self.heading}; host b: Debian {self.b.inside('cat', '/etc/debian_version').stdout.strip()}, "
                        f"{self.b.inside('ssh', '-V').stderr.strip()}")
        return [self.b]


class InstalledBrowser(RemoteBrowser):
    """The user's Chromium, as Debian starts it, with what the package has installed."""

    def __init__(self, env):
        self._env, self._session = env, None
        self.tab = self.browser = None

    def serve(self):
        """Starts the website, and gives the user the browser's folder."""
        env = self._env
        (env.b.folder / "site").mkdir()
        shutil.copy(PAGE, env.b.folder / "site" / "index.html")
        env.b.inside("mkdir", "-p", f"{HOME}/.config/chromium", user=USER)
        self.server = env.keep(Program(
            "http.server", env.b.words("python3", "-u", "-m", "http.server", "--bind", "127.0.0.1", "--directory", "/srv/site",
                                       "8000"), log=env.folder.path("site.log"), environment=env.environment))
        until_serving(env, self.server)

    def start(self, *switches):
        env = self._env
        name = f"chromium-{env.number()}.log"
        self.browser = Browser(
            SimpleNamespace(scratch=Path(HOME), path=lambda _: env.folder.path(name)),
            SimpleNamespace(environment=env.folder.environment()), "unix:path=/tmp/there-is-no-bus", {}, env.waiting,
            command=env.b.words(user=USER), switches=("--headless=new", *switches))
        self.tab = self.browser.tab
        self.tab.open(f"{ORIGIN}/")

    def close(self):
        """Ends the browser; returns what it printed."""
        must(not (found := self.stop()), f"expected the browser to end; found {found}")
        return self._said

    def stop(self):
        browser, self.browser = self.browser, None
        if browser is None:
            return []
        self._env.waiting.forget(browser.program)
        found, self._said = browser.stop(), browser.program.said()
        return found

    def announce(self, agent):
        """Logs in; the package has a file that the login shell reads."""
        return self._env.ssh(agent, None, text="echo ready; sleep 600\n")

    def end_session(self):
        self._session.stop()
        self._session = None


def _native(env, browser):
    """Checks that Chromium answers requests itself, and that the page works."""
    must(not browser.is_attached(), "expected Chromium's own dialog; an extension is attached")
    must(browser.tab.evaluate("document.title") == "Acceptance test", "expected the page; found another one")


def _detached(env, browser, error):
    """Waits until requests are Chromium's own, and returns how: if nothing has told the extension, one fails before."""
    began = time.monotonic()
    if poll(lambda: not browser.is_attached(), 2):
        how = f"detached after {time.monotonic() - began:.1f} s"
    else:
        how = "detached by a request"
        browser.tab.show()
        browser.tab.heard()
        browser.tab.call("Runtime.evaluate", userGesture=True,
                         expression=f"void perform('get', {json.dumps(env.site.request_options())})")
        browser.rejected(error, browser.end())
    env.waiting.until("the extension to detach", lambda: not browser.is_attached(), 30)
    return how


def before(env):
    """The browser without the package."""
    browser = env.remote_browser = env.keep(InstalledBrowser(env))
    browser.serve()
    browser.start()
    _native(env, browser)
    browser.close()
    env.files = snapshot(env.b.root)
    return f"{len(env.files)} files and folders"


def install(env):
    """apt installs the package alone."""
    changed = env.b.apt("install", "/srv/package.deb")
    must(changed == {PACKAGE}, f"expected this package only; found {changed}")
    return env.b.inside("hybrid-remote", "--version").stdout.strip()


def sign_in(env):
    """The browser starts, then the user logs in: the extension attaches; registration, sign-ins, a secret."""
    browser = env.remote_browser
    browser.start()
    _native(env, browser)
    began = time.monotonic()
    agent = env.start_agent()
    browser.session(agent)
    attached = time.monotonic() - began
    began = time.monotonic()
    prompt, _ = browser.fulfilled("create", env.site.creation_options(extensions={"prf": {"eval": SALT}}))
    must(prompt.request["hosts"] == ["b.test"], f"expected the host; found {prompt.request}")
    took = [time.monotonic() - began]
    for options in ({}, {"allow": "any", "extensions": {"prf": {"eval": SALT}}}):
        began = time.monotonic()
        browser.fulfilled("get", env.site.request_options(**options))
        took.append(time.monotonic() - began)
    doctor = env.b.inside("hybrid-remote", "doctor", user=USER).stdout
    must("an agent that knows a phone" in doctor, f"expected the agent in the doctor's report; found {doctor}")
    return f"attached {attached:.1f} s after the start of ssh; " + ", ".join(f"{seconds:.1f} s" for seconds in took)


def next_login(env):
    """The session ends, and the extension detaches; another login attaches it again."""
    browser = env.remote_browser
    browser.end_session()
    how = _detached(env, browser, "NotAllowedError")
    browser.session(env.start_agent())
    browser.fulfilled("get", env.site.request_options())
    return how


def remove(env):
    """apt removes the package while the browser runs: requests end, the next one is Chromium's own, also after a restart."""
    browser = env.remote_browser
    changed = env.b.apt("remove", PACKAGE)
    must(changed == {PACKAGE}, f"expected this package only; found {changed}")
    _detached(env, browser, "NotReadableError")
    browser.close()
    # The file for logins stays until a purge; without the program, it does nothing.
    login = env.ssh(env.start_agent(), None, text="echo ready\n")
    env.ended(login)
    must(login.said().rstrip().endswith("ready"), f"expected a login without a message; found {login.said()}")
    browser.start()
    _native(env, browser)
    said = browser.close()
    must("xtension" not in said and "manifest" not in said, f"expected nothing about extensions; found {said}")


def purge(env):
    """apt purges the package: every file outside the home is as it was before."""
    env.b.inside("dpkg", "--purge", PACKAGE)
    after = snapshot(env.b.root)
    left = [path for path in left_behind(env.files, after) if not path.startswith(HOME[1:])]
    must(not left, f"expected all files as they were; found {left}")
    return f"{len(after)} files and folders"


def by_hand(env):
    """Without the package: the steps of docs/remote.md, with the prefix ~/.local; then that is removed."""
    browser, b = env.remote_browser, env.b
    install = (f"{CLONE}/scripts/install", "--prefix", f"{HOME}/.local")
    files = {path for path in snapshot(b.root) if path.startswith(HOME[1:])}
    b.inside(*install, "--bin-dir", BUILT, "remote", user=USER)
    # The browser's folder of the user is that of --user-data-dir.
    manifests, share = f"{HOME}/profile/NativeMessagingHosts", f"{HOME}/.local/share/hybrid/remote"
    b.inside("sh", "-c", f"mkdir -p {manifests} && cp {share}/hybrid.remote.json {manifests}/", user=USER)
    lines = (REPOSITORY / "docs" / "remote.md").read_text().splitlines()
    line = next(line.strip() for line in lines if line.endswith("|| hybrid-remote announce"))
    b.inside("sh", "-c", "cat >>.profile", text=f"{line}\n", user=USER)
    browser.start(f"--load-extension={share}/extension")
    browser.session(env.start_agent())
    browser.fulfilled("create", env.site.creation_options())
    browser.close()
    b.inside(*install, "--uninstall", user=USER)
    left = {path for path in snapshot(b.root) if path.startswith(HOME[1:] + "/.local")} - files
    must(not left, f"expected nothing in the prefix; found {left}")


INSTALLED = {"installed-before": before, "installed-install": install, "installed-sign-in": sign_in,
             "installed-next-login": next_login, "installed-remove": remove, "installed-purge": purge, "installed-by-hand": by_hand, **SUDO}
