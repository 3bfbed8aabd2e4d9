# SPDX-License-Identifier: Apache-2.0
"""The system's bus as programs in namespaces see it, and another bus in its place."""
import shlex
from contextlib import contextmanager

from environment import USER, as_user
from harness.programs import Program, brief
from harness.waiting import Failed

IDENTITY = "0 0 4294967295"
NAMESPACES = ("unshare", "--user", "--map-root-user", "--mount")
CONFIGURATION = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <listen>unix:path=/run/dbus/system_bus_socket</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/><allow own="*"/><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/>
  </policy>
</busconfig>
"""


def _expect_warning(env, sentence, before=()):
    """Expects that the doctor treats the bus as virtual, for this reason; returns its remedy."""
    report = env.doctor(before=before)
    check = next(check for check in report["checks"] if check["check"] == "system-bus")
    if not report["virtualRadio"] or check["state"] != "warning" or sentence not in check.get("remedy", ""):
        raise Failed(f"expected the doctor to report a virtual radio, with \"{sentence}\"; found {check}")
    return check["remedy"]


def _expect_refusal(env, sentence, before):
    """Expects that doctor and scan treat the bus as virtual, for this reason; returns what scan reports."""
    _expect_warning(env, sentence, before)
    phone = env.phone(env.abandoned_code(), name="doubtful", before=before)
    if phone.ended() != 77 or sentence not in phone.sentence:
        raise Failed(f"expected exit 77 with \"{sentence}\"; it {phone.program.ending}: {phone.sentence}")
    return phone.sentence


def user_namespace(env):
    """Runs the programs with the system's own bus in a user namespace."""
    env.need_passkey()
    sentence = _expect_refusal(env, "in a user namespace", NAMESPACES)
    env.ceremony()
    return f"exit 77: \"{sentence}\"; outside a good ceremony"


def hidden_namespace(env):
    """Hides the user namespace behind other files."""
    env.need_passkey()
    identity, proc = env.folder / "uid_map", env.folder / "proc"
    identity.write_text(f"{IDENTITY}\n")
    proc.mkdir(exist_ok=True)
    identity, proc = shlex.quote(str(identity)), shlex.quote(str(proc))
    for hiding in (
            f"mount --bind {identity} /proc/$$/uid_map",
            # Every user may write the mapping of project IDs.
            f"cat {identity} > /proc/$$/projid_map; mount --bind /proc/$$/projid_map /proc/$$/uid_map",
            # Another file system, whose other files are the process's own.
            f"mount --rbind /proc {proc}; mount -t tmpfs none /proc; mkdir /proc/self; "
            f"for file in {proc}/self/*; do ln -s \"$file\" /proc/self/; done; "
            f"rm /proc/self/uid_map; cp {identity} /proc/self/uid_map"):
        script = (f"set -e; {hiding}; read -r first outside count < /proc/self/uid_map; "
                  f"test \"$first $outside $count\" = '{IDENTITY}'; exec \"$@\"")
        sentence = _expect_refusal(env, "can't verify that it is outside of user namespaces",
                                   (*NAMESPACES, "sh", "-c", script, "sh"))
    return f"exit 77, three ways: \"{sentence}\""


@contextmanager
def _own_bus(env):
    """Puts a bus of the user in the place of the system's, for all programs of the guest."""
    folder = env.folder / "bus"
    folder.mkdir(exist_ok=True)
    brief(["chown", USER, folder], environment=env.environment)
    configuration = env.folder / "bus.conf"
    configuration.write_text(CONFIGURATION)
    # The kernel reports the path that the daemon has bound.
    brief(["mount", "--bind", folder, "/run/dbus"], environment=env.environment)
    try:
        daemon = Program("dbus-daemon", as_user("dbus-daemon", "--nofork", f"--config-file={configuration}"),
                         log=env.results / "own-bus.log", environment=env.environment)
        try:
            env.waiting.until("the user's bus", lambda: (folder / "system_bus_socket").exists(), 20, pause=0.05)
            yield
        finally:
            daemon.stop()
    finally:
        brief(["umount", "/run/dbus"], environment=env.environment)


def bus_owner(env):
    """Replaces the system's bus by one of the user, at the same path and in no namespace."""
    env.need_passkey()
    with _own_bus(env):
        sentence = _expect_warning(env, "was not started by the system")
    env.ceremony()
    return f"\"{sentence}\"; afterwards a good ceremony"


CASES = {"user-namespace": user_namespace, "hidden-namespace": hidden_namespace, "bus-owner": bus_owner}
