# SPDX-License-Identifier: Apache-2.0
"""Failures of a real Bluetooth stack: each with its sentence, its exit status, and a working ceremony afterwards."""
import os
import signal
import time
from contextlib import contextmanager
from pathlib import Path

from bluez import run
from foreign_devices import ForeignDevice
from harness.waiting import Failed

POLICY = Path("/etc/dbus-1/system.d/refuse.conf")


def _since(begun):
    return f"{time.monotonic() - begun:.1f} s"


def _while_scanning(code, breaks, mends):
    """Causes the failure while the client shows its code: it reports that, waits, and the same code works
    afterwards.
    """
    def case(env):
        env.need_passkey()
        client = env.client()
        text = env.code(client)
        begun = time.monotonic()
        breaks(env.bluez)
        lost = client.until("lose its radio", event="notice", notice="radio-lost")
        reported = _since(begun)
        if lost["code"] != code:
            raise Failed(f"expected the code {code}; found {lost['code']}: {lost['message']}")
        begun = time.monotonic()
        mends(env.bluez)
        client.until("scan again", event="notice", notice="radio-back")
        back = _since(begun)
        env.bluez.recover()
        env.finish(client, env.phone(text))
        return f"reported after {reported}: \"{lost['message']}\"; scanning {back} after the repair; same code: exit 0"
    return case


def _while_advertising(code, breaks, mends):
    """Causes the failure while the phone advertises: the phone ends, and a new ceremony works."""
    def case(env):
        env.need_passkey()
        phone = env.advertising(env.abandoned_code())
        begun = time.monotonic()
        breaks(env.bluez)
        sentence = phone.expect_end(69, code)
        reported = _since(begun)
        mends(env.bluez)
        begun = time.monotonic()
        env.bluez.recover()
        recovered = _since(begun)
        env.ceremony()
        return (f"exit 69 after {reported}: \"{sentence}\"; adapters on {recovered} after the repair; "
                "then a good ceremony")
    return case


def _restart(bluez):
    bluez.service("stop")
    bluez.service("start")


BREAKS = {
    "stop": ("bluetooth-service-gone", lambda b: b.service("stop"), lambda b: b.service("start")),
    "restart": ("bluetooth-service-gone", _restart, lambda b: None),
    "off": ("adapter-off", lambda b: _switch(b, False), lambda b: _switch(b, True)),
    "rfkill": ("adapter-off", lambda b: run("rfkill block bluetooth"), lambda b: run("rfkill unblock bluetooth")),
    "unplugged": ("adapter-not-found", lambda b: b.radios("stop"), lambda b: b.radios("start")),
}


def _switch(bluez, powered):
    for adapter in ("hci0", "hci1"):
        bluez.switch(adapter, powered)


def absent(env):
    """Starts the programs without bluetoothd."""
    code = env.abandoned_code()
    env.bluez.service("stop")
    client, phone = env.client(), env.phone(code)
    sentence = client.expect_end(69, "no-bluetooth-service")
    phone.expect_end(69, "no-bluetooth-service")
    env.bluez.recover()
    return f"exit 69, both: \"{sentence}\""


def frozen(env):
    """Stops bluetoothd's process, so that it responds to no call, neither at the start nor at the end of a scan."""
    with open("/run/bluetoothd.pid", encoding="ascii") as file:
        service = int(file.read())
    os.kill(service, signal.SIGSTOP)
    try:
        begun = time.monotonic()
        sentence = env.client().expect_end(75, "bluetooth-timed-out")
        reported = _since(begun)
    finally:
        os.kill(service, signal.SIGCONT)
    env.need_passkey()
    env.ceremony()
    return f"exit 75 after {reported}: \"{sentence}\"; then a good ceremony"


def slots(env):
    """Occupies every advertising slot with another program."""
    code = env.abandoned_code()
    free = env.bluez.slots("hci1")
    with ForeignDevice(env, "occupy", "hci1", free):
        sentence = env.phone(code).expect_end(69, "no-advertising-slot")
        if env.bluez.adverts("hci1") != free:
            raise Failed("expected the other program's adverts to remain; one is gone")
    env.bluez.expect_silence()
    env.need_passkey()
    env.ceremony()
    return f"{free} slots; exit 69: \"{sentence}\"; then a good ceremony"


def foreign_filter(env):
    """Scans in another program before and after, with a filter that excludes our adverts, and with ours."""
    env.need_passkey()
    seconds = []
    for what in ("narrow", "listen"):
        with ForeignDevice(env, what, "hci0"):
            seconds.append(env.ceremony())
            env.bluez.expect_still_scanning("hci0")
    return f"{', '.join(f'{s:.1f}' for s in seconds)} s; the other's scan goes on"


def stale(env):
    """Has bluetoothd report an earlier advert when the scan begins, as it does while another program scans."""
    env.need_passkey()
    with ForeignDevice(env, "listen", "hci0"):
        earlier = env.advertising(env.abandoned_code())
        env.waiting.until("the earlier advert to be known", lambda: env.bluez.remembered("hci0"), 60, pause=0.2)
        earlier.interrupt()
        client = env.client()
        code = env.code(client)
        old = env.bluez.remembered("hci0")
        if not old:
            raise Failed("expected bluetoothd to remember the earlier advert; it does not, so the case is void")
        seconds = env.finish(client, env.phone(code, name="later"))
    return f"{seconds:.1f} s with {len(old)} old advert reported"


@contextmanager
def _policy(env, rule):
    POLICY.write_text(
        '<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"\n'
        ' "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">\n'
        f'<busconfig><policy user="ada"><deny send_destination="org.bluez"{rule}/></policy></busconfig>\n')
    env.bluez.reload_bus()
    try:
        yield
    finally:
        POLICY.unlink()
        env.bluez.reload_bus()


def policy(env):
    """Denies this user bluetoothd by bus policy, first completely, then only the necessary calls."""
    code = env.abandoned_code()
    with _policy(env, ""):
        sentence = env.client().expect_end(69, "bluetooth-not-permitted")
        env.phone(code).expect_end(69, "bluetooth-not-permitted")
    with _policy(env, ' send_interface="org.bluez.Adapter1" send_member="StartDiscovery"'):
        env.client().expect_end(69, "bluetooth-not-permitted")
    with _policy(env, ' send_interface="org.bluez.LEAdvertisingManager1" '
                        'send_member="RegisterAdvertisement"'):
        env.phone(code, name="refused").expect_end(69, "bluetooth-not-permitted")
    env.need_passkey()
    env.ceremony()
    return f"exit 69, four ways: \"{sentence}\"; then a good ceremony"


def two_at_once(env):
    """Runs two clients on one adapter and two phones on another, at the same time."""
    env.need_passkey()
    env.need_passkey("second")
    clients = [env.client(name=f"client-{n}") for n in (1, 2)]
    codes = [env.code(client) for client in clients]
    phones = [env.phone(code, name=f"auth-{vault}", vault=vault) for code, vault in zip(codes, ("vault", "second"))]
    seconds = [env.finish(client, phone) for client, phone in zip(clients, phones)]
    return f"both good, {', '.join(f'{s:.1f}' for s in seconds)} s"


CASES = {
    **{f"{name}-scanning": _while_scanning(*how) for name, how in BREAKS.items()},
    **{f"{name}-advertising": _while_advertising(*how) for name, how in BREAKS.items()},
    "absent": absent, "frozen": frozen, "slots": slots, "foreign-filter": foreign_filter, "stale": stale,
    "policy": policy, "two-at-once": two_at_once,
}
