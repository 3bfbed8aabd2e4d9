# SPDX-License-Identifier: Apache-2.0
"""hybrid-uhid with the kernel's /dev/uhid. The guest has no logind; its file about seat0 is written here."""
import os
import select
import socket
import statistics
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from environment import PROGRAMS, USER
from harness.programs import Program, brief
from harness.waiting import Failed

ACCOUNT, OTHER = "_hybrid-uhid", "nobody"
SOCKET, SEATS = Path("/run/hybrid-uhid/socket"), Path("/run/systemd/seats")
CLIENT, PLAIN = (Path(__file__).with_name(name) for name in ("key_client.py", "plain_key.py"))
PINGS = 1000
# Passes the socket like a service manager, then becomes the program under its account.
LAUNCHER = """
import os, socket, sys
path, program, account = sys.argv[1:]
listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listener.bind(path)
os.chmod(path, 0o666)
listener.listen()
if listener.fileno() != 3: os.dup2(listener.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
# The priority of the unit.
os.execvp("chrt", ["chrt", "--rr", "1", "setpriv", f"--reuid={account}", f"--regid={account}", "--clear-groups", program])
"""


def _number(user):
    return int(brief(["id", "-u", user], environment=dict(os.environ)).stdout)


def _activate(user, seat="seat0"):
    """Makes a user's session the active one of a seat, or no session."""
    SEATS.mkdir(parents=True, exist_ok=True)
    for path in SEATS.iterdir():
        if path.name != seat:
            path.unlink()
    lines = f"IS_SEAT0={int(seat == 'seat0')}\n" + (f"ACTIVE=1\nACTIVE_UID={_number(user)}\n" if user else "")
    # logind replaces the file, too.
    new = SEATS.parent / "new-seat"
    new.write_text(lines)
    new.rename(SEATS / seat)


def devices():
    """Returns the hidraw devices that are security keys of hybrid-uhid, by name."""
    def is_ours(path):
        try:
            return "HID_ID=0003:00001209:0000CAB1" in (path / "device/uevent").read_text()
        except OSError:
            return False  # It ends at this moment.

    return [path.name for path in Path("/sys/class/hidraw").glob("*") if is_ours(path)]


class _Service:
    def __init__(self, env):
        self.env, self.clients = env, []
        environment = dict(os.environ)
        if brief(["id", ACCOUNT], environment=environment, check=False).returncode:
            brief(["useradd", "--system", ACCOUNT], environment=environment)
        os.chmod("/dev/uhid", 0o660)
        os.chown("/dev/uhid", 0, _number(ACCOUNT))
        SOCKET.parent.mkdir(exist_ok=True)
        SOCKET.unlink(missing_ok=True)
        _activate(USER)
        command = [sys.executable, "-c", LAUNCHER, SOCKET, PROGRAMS / "hybrid-uhid", ACCOUNT]
        self.program = Program("hybrid-uhid", command,
                               log=env.results / f"{env.case}-uhid.log", environment=environment)
        env.waiting.until("the socket of hybrid-uhid", lambda: self.program.status is None and self._answers(), 30)

    @staticmethod
    def _answers():
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe:
            try:
                probe.connect(str(SOCKET))
            except OSError:
                return False
            # root is not active on seat0.
            return probe.recv(65) == b""

    def client(self, mode, user=USER):
        number = next(self.env.numbers)
        command = ["setpriv", f"--reuid={user}", "--clear-groups", sys.executable, "-B", CLIENT, mode, SOCKET]
        client = Program(f"client {mode}", command,
                         log=self.env.results / f"{self.env.case}-{number:03}-{mode}.log", environment=dict(os.environ),
                         pipe_input=True)
        self.clients.append(client)
        return client

    def device(self):
        """Returns the path of the only device, once udev has created it."""
        self.env.waiting.until("a hidraw device", lambda: len(devices()) == 1, 30)
        path = Path("/dev") / devices()[0]
        self.env.waiting.until(str(path), path.exists, 30)
        return path

    def expect_end(self, client, reason=None):
        """Expects that the service closes the connection, and that no device is left; returns the seconds."""
        begun = time.monotonic()
        self.env.waiting.until(f"the end of {client.name}", lambda: client.status is not None, 30)
        if "closed" not in client.said():
            raise Failed(f"expected {client.name} to report the end of its connection; it said: {client.said()}")
        self.env.waiting.until("the end of the device", lambda: not devices(), 30)
        if reason:
            self.env.waiting.until(f"\"{reason}\" of hybrid-uhid", lambda: reason in self.program.said(), 10)
        return time.monotonic() - begun

    def stop(self):
        for program in (*self.clients, self.program):
            program.stop()
        self.env.waiting.until("the end of all devices", lambda: not devices(), 30)


@contextmanager
def _service(env):
    service = _Service(env)
    try:
        yield service
    finally:
        service.stop()


def key_device(env):
    """A device appears, is a security key for udev, ends with its client, and with SIGKILL."""
    with _service(env) as service:
        client = service.client("hold")
        path = service.device()
        # The program by which udev finds security keys; the guest has no udevd.
        found = brief(["/usr/lib/udev/fido_id", f"/sys/class/hidraw/{path.name}"], environment=dict(os.environ)).stdout
        if "ID_SECURITY_TOKEN=1" not in found:
            raise Failed(f"expected udev to recognize a security key; found {found}")
        status = Path(f"/proc/{service.program.pid}/status").read_text()
        if f"Uid:\t{_number(ACCOUNT)}\t" not in status:
            raise Failed(f"expected hybrid-uhid to run as {ACCOUNT}; found {status}")
        client.kill()
        env.waiting.until("the end of the device", lambda: not devices(), 30)
        client = service.client("hold")
        service.device()
        service.program.kill()
        seconds = service.expect_end(client)
    return f"{path}; gone with its client; after SIGKILL of the service in {seconds:.2f} s"


def refused(env):
    """Everything that must not get, or must lose, a device."""
    with _service(env) as service:
        client = service.client("wrong")
        service.device()
        client.write("\n")
        service.expect_end(client, "a message of 63 bytes instead of 64")
        service.expect_end(service.client("hold", user=OTHER), "not active on seat0")
        client, second = service.client("hold"), None
        service.device()
        second = service.client("hold")
        env.waiting.until("the refusal of a second device", lambda: second.status is not None, 30)
        service.device()
        _activate(OTHER)
        switched = service.expect_end(client)
        _activate(USER, seat="seat1")
        service.expect_end(service.client("hold"))
        _activate(USER)
        service.client("hold")
        service.device()
    return f"wrong length, other user, second device, session (ended in {switched:.2f} s), other seat; then a device"


def flood(env):
    """The number of reports that a program receives has a limit; the kernel may drop some of a flood."""
    with _service(env) as service:
        return flooded(env, service.client("flood"), service.device())


def flooded(env, client, path):
    """Reads a flood of a client from a device; returns a note."""
    with open(path, "rb", buffering=0) as program:
        client.write("\n")
        begun, count, number = None, 0, -1
        while number < 19_900:
            env.waiting.until("a report", lambda: select.select([program], [], [], 0.5)[0], 30)
            before, number = number, int.from_bytes(program.read(64)[8:12], "big")
            begun, count = begun or time.monotonic(), count + 1
            if number <= before:
                raise Failed(f"expected a report after {before}; found {number}")
        seconds = time.monotonic() - begun
    if seconds < number / 6_000 * 0.95:
        raise Failed(f"expected at most 6,000 reports a second; found {number} in {seconds:.2f} s")
    return f"{number} reports in {seconds:.1f} s, of which the program read {count}"


class _Incomplete(Exception):
    """Some reports of a message or of its answer were lost."""


def _channel(program, patience):
    """Returns a new channel of a key."""
    nonce = os.urandom(8)
    os.write(program, (b"\0" + b"\xff" * 4 + b"\x86\0\x08" + nonce).ljust(65, b"\0"))
    while select.select([program], [], [], patience)[0]:
        report = os.read(program, 64)
        if report[7:15] == nonce:
            return report[15:19]
    raise Failed("expected an answer to INIT; found none")


def _ping(program, channel, data, patience):
    """Sends a PING and expects the same answer; returns the seconds."""
    rest = data[57:]
    reports = [channel + b"\x81" + len(data).to_bytes(2, "big") + data[:57]]
    reports += [(channel + bytes([number]) + rest[59 * number:59 * (number + 1)]).ljust(64, b"\0")
                for number in range(-(-len(rest) // 59))]
    # The report number precedes each report.
    written = [b"\0" + report for report in reports]
    begun = time.monotonic()
    for report in written:
        os.write(program, report)
    answer = []
    while len(answer) < len(reports):
        if not select.select([program], [], [], patience)[0]:
            raise _Incomplete(f"expected {len(reports)} reports; found {len(answer)}")
        answer.append(os.read(program, 64))
    seconds = time.monotonic() - begun
    if answer != reports:
        raise _Incomplete("expected the same message; found another one")
    return seconds


def durations(path, count, patience, length=7609, echoes=False):
    """Returns the seconds of each PING of `length` bytes that returned complete, of `count`.

    - `echoes`: the device returns all reports, and knows no channels.
    """
    durations = []
    program = os.open(path, os.O_RDWR)
    try:
        channel = b"\1\2\3\4" if echoes else _channel(program, patience)
        for _ in range(count):
            try:
                durations.append(_ping(program, channel, os.urandom(length), patience))
            except _Incomplete:
                # The rest of the answer, and then the next message begins anew.
                while select.select([program], [], [], 0.5)[0]:
                    os.read(program, 64)
    finally:
        os.close(program)
    return durations


def pings(env):
    """A thousand of the longest messages in each direction, of which none is lost; a plain key is the measure."""
    with _service(env) as service:
        service.client("echo")
        ours = durations(service.device(), PINGS, 2, echoes=True)
    # With the same priority, as it loses reports else.
    plain = Program("plain key", ["chrt", "--rr", "1", sys.executable, "-B", PLAIN],
                    log=env.results / f"{env.case}-plain.log", environment=dict(os.environ))
    try:
        env.waiting.until("a plain key", lambda: len(devices()) == 1, 30)
        path = Path("/dev") / devices()[0]
        env.waiting.until(str(path), path.exists, 30)
        others = durations(path, PINGS // 10, 2, echoes=True)
    finally:
        plain.stop()
    found = (f"{len(ours)} of {PINGS} messages of 129 reports came back, {1000 * statistics.median(ours or [0]):.0f} ms in "
             f"the median; of a plain key {len(others)} of {PINGS // 10}, {1000 * statistics.median(others or [0]):.0f} ms")
    if len(ours) < PINGS:
        raise Failed(f"expected all messages to come back; found: {found}")
    # A plain key that loses every message measures nothing.
    if others and statistics.median(ours) > 2 * statistics.median(others):
        raise Failed(f"expected at most twice the time of a plain key; found: {found}")
    return found


CASES = {"key-device": key_device, "key-device-refused": refused, "key-device-flood": flood}
# In a guest of its own, whose clock does not depend on the host's load: the kernel drops reports that are read too late.
ALONE = {"key-device-pings": pings}
