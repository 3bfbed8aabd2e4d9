# SPDX-License-Identifier: Apache-2.0
"""Installs the wheel of hybrid-lab in a fresh environment and uses it like a web developer: wheel.py WHEEL

Runs the first example of docs/testing-your-site.md, then tests that must fail and say why, and one whose pytest is killed. In the
end, no process and no temporary file may be left. scripts/check-wheel runs this.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
EXAMPLES = REPOSITORY / "docs/examples/testing-your-site"
# From pip's start to a passed test takes about 20 s on an idle computer, and the lab less than one; others may be busy.
GREEN_SECONDS, LAB_SECONDS = 240, 8
FAILURES = '''
def test_no_code_is_shown(lab_page, phone):
    phone.seconds = 2
    phone.approve()


def test_the_phone_declines(lab_page, phone, site):
    lab_page.goto(site)
    phone.deny()
    lab_page.get_by_role("button", name="Create a passkey").click()
    lab_page.wait_for_function("document.querySelector('#status').textContent.includes('Passkey saved')", timeout=5000)


def test_the_phone_never_answers(lab_page, phone, site):
    lab_page.goto(site)
    phone.script("hang:request")
    lab_page.get_by_role("button", name="Create a passkey").click()
    while not any(event["event"] == "fault" for event in phone.events):
        lab_page.wait_for_timeout(100)
    assert lab_page.get_by_role("status").text_content() == "Look at your phone …"
    raise AssertionError("as it should be")
'''
KILLED = '''
import time


def test_that_takes_long(lab_page, phone):
    phone.approve()
    open("started", "w").close()
    time.sleep(300)
'''


def fail(sentence):
    raise SystemExit(f"check-wheel: {sentence}")


def processes(mark):
    """Returns the command lines of the processes that got this environment, except this one."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "environ").read_bytes() and int(process.name) != os.getpid():
                found[process.name] = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
    return found


def wait_for(condition, seconds, sentence):
    limit = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > limit:
            fail(sentence())
        time.sleep(0.05)


class Developer:
    """A folder with the examples, an environment of Python, and nothing else of this session."""

    def __init__(self, folder):
        self.folder = folder
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        shutil.copytree(EXAMPLES, folder / "tests", ignore=shutil.ignore_patterns("__pycache__", "evidence", ".*"))
        kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "LANG"))}
        # Processes are found by this folder in their environment.
        self.environment = {**kept, "HOME": str(folder), "TMPDIR": str(self.temporary), "PYTHONDONTWRITEBYTECODE": "1",
                            "PATH": f"{folder}/venv/bin:/usr/local/bin:/usr/bin:/bin"}

    def run(self, *command, status=0):
        done = subprocess.run(command, cwd=self.folder / "tests", env=self.environment, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        if done.returncode != status:
            fail(f"{' '.join(command)} ended with {done.returncode}, not {status}:\n{done.stdout}")
        return done.stdout

    def check_nothing_is_left(self, after):
        wait_for(lambda: not processes(str(self.folder)), 10, lambda: f"left after {after}: {processes(str(self.folder))}")
        left = sorted(path.name for path in self.temporary.iterdir() if not path.name.startswith("pytest-of-"))
        if left:
            fail(f"temporary files left after {after}: {left}")


def check_that_it_works(developer, wheel):
    folder = developer.folder
    pip = ("pip", "install", "--quiet", "--disable-pip-version-check")
    developer.run("python3", "-m", "venv", str(folder / "venv"))
    began = time.monotonic()
    developer.run(*pip, str(wheel), "-r", "requirements.txt")
    developer.run("pytest", "test_first.py")
    seconds = time.monotonic() - began
    print(f"from pip install to a passed test: {seconds:.0f} s")
    if seconds > GREEN_SECONDS:
        fail(f"that took more than {GREEN_SECONDS} s")
    developer.check_nothing_is_left("a passed test")

    began = time.monotonic()
    developer.run("hybrid-lab", "run", "--", "true")
    seconds = time.monotonic() - began
    print(f"start, use and end of the lab: {seconds:.1f} s")
    if seconds > LAB_SECONDS:
        fail(f"that took more than {LAB_SECONDS} s")
    developer.run("hybrid-lab", "demo")


def check_failures(developer):
    folder = developer.folder
    (folder / "tests/test_failures.py").write_text(FAILURES)
    said = developer.run("pytest", "test_failures.py", status=1)
    for expected in ("no sign-in code was on the screen in time", "the phone's report", '"did":', "as it should be",
                     "2 failed, 1 passed, 1 error"):
        if expected not in said:
            fail(f"the failures do not say {expected!r}:\n{said}")
    developer.check_nothing_is_left("failed tests")

    (folder / "tests/test_killed.py").write_text(KILLED)
    pytest = subprocess.Popen([folder / "venv/bin/pytest", "test_killed.py"], cwd=folder / "tests", env=developer.environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    wait_for((folder / "tests/started").exists, 60, lambda: "the test to be killed did not start")
    pytest.send_signal(signal.SIGKILL)
    pytest.wait()
    lab = re.compile(r"hybrid-lab|dbus-daemon|Xvfb")
    wait_for(lambda: not any(lab.search(command) for command in processes(str(folder)).values()), 10,
             lambda: f"left after SIGKILL: {processes(str(folder))}")
    for process in processes(str(folder)):
        # Playwright's driver and its browser are not the lab's.
        os.kill(int(process), signal.SIGKILL)
    print("failures say why, and nothing is left of the lab")


def main():
    wheel = Path(sys.argv[1]).resolve()
    folder = Path(tempfile.mkdtemp(prefix="hybrid-wheel-"))
    try:
        developer = Developer(folder)
        check_that_it_works(developer, wheel)
        check_failures(developer)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
