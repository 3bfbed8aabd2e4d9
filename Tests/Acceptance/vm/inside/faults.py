# SPDX-License-Identifier: Apache-2.0
"""What goes wrong with a real stack: each with its sentence, its exit status, and a ceremony that works afterwards."""
import os
import signal
import time
from contextlib import contextmanager
from pathlib import Path

from bluez import run
from strangers import Stranger
from waiting import Failed

POLICY = Path("/etc/dbus-1/system.d/refuse.conf")


def _since(begun):
    return f"{time.monotonic() - begun:.1f} s"


def _while_scanning(code, breaks, mends):
    """The desktop shows its code when it happens: it says so, waits, and the same code is good afterwards."""
    def case(stage):
        stage.need_passkey()
        desktop = stage.desktop()
        text = stage.code(desktop)
        begun = time.monotonic()
        breaks(stage.bluez)
        lost = desktop.until("lose its radio", event="notice", notice="radio-lost")
        told = _since(begun)
        if lost["code"] != code:
            raise Failed(f"it gave {lost['code']} for the cause and not {code}: {lost['message']}")
        begun = time.monotonic()
        mends(stage.bluez)
        desktop.until("listen again", event="notice", notice="radio-back")
        back = _since(begun)
        stage.bluez.recover()
        stage.finish(desktop, stage.phone(text))
        return f"said after {told}: \"{lost['message']}\"; listened again {back} after it was mended; same code: exit 0"
    return case


def _while_advertising(code, breaks, mends):
    """The phone's advert is on the air when it happens: the phone ends, and a new ceremony works."""
    def case(stage):
        stage.need_passkey()
        phone = stage.advertising(stage.deserted_code())
        begun = time.monotonic()
        breaks(stage.bluez)
        sentence = phone.expect_end(69, code)
        told = _since(begun)
        mends(stage.bluez)
        begun = time.monotonic()
        stage.bluez.recover()
        recovered = _since(begun)
        stage.ceremony()
        return f"exit 69 after {told}: \"{sentence}\"; adapters on {recovered} after it was mended; then a good ceremony"
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


def absent(stage):
    """There is no bluetoothd when the programs start."""
    code = stage.deserted_code()
    stage.bluez.service("stop")
    desktop, phone = stage.desktop(), stage.phone(code)
    sentence = desktop.expect_end(69, "no-bluetooth-service")
    phone.expect_end(69, "no-bluetooth-service")
    stage.bluez.recover()
    return f"exit 69, both: \"{sentence}\""


def frozen(stage):
    """bluetoothd does not answer, neither when asked to scan nor when a scan is to be ended."""
    with open("/run/bluetoothd.pid", encoding="ascii") as file:
        service = int(file.read())
    os.kill(service, signal.SIGSTOP)
    try:
        begun = time.monotonic()
        sentence = stage.desktop().expect_end(75, "bluetooth-timed-out")
        told = _since(begun)
    finally:
        os.kill(service, signal.SIGCONT)
    stage.need_passkey()
    stage.ceremony()
    return f"exit 75 after {told}: \"{sentence}\"; then a good ceremony"


def slots(stage):
    """Strangers use every advertising slot."""
    code = stage.deserted_code()
    free = stage.bluez.slots("hci1")
    with Stranger(stage, "occupy", "hci1", free):
        sentence = stage.phone(code).expect_end(69, "no-advertising-slot")
        if stage.bluez.adverts("hci1") != free:
            raise Failed("an advert of theirs is gone")
    stage.bluez.expect_silence()
    stage.need_passkey()
    stage.ceremony()
    return f"{free} slots; exit 69: \"{sentence}\"; then a good ceremony"


def foreign_filter(stage):
    """Another program scans before and after, with a filter that lets nothing of ours through, and with our own."""
    stage.need_passkey()
    seconds = []
    for what in ("narrow", "listen"):
        with Stranger(stage, what, "hci0"):
            seconds.append(stage.ceremony())
            stage.bluez.expect_still_scanning("hci0")
    return f"{', '.join(f'{s:.1f}' for s in seconds)} s; the other's scan goes on"


def stale(stage):
    """bluetoothd still tells of an earlier advert when the scan begins, as it does while somebody else scans."""
    stage.need_passkey()
    with Stranger(stage, "listen", "hci0"):
        earlier = stage.advertising(stage.deserted_code())
        stage.waiting.until("the earlier advert to be known", lambda: stage.bluez.remembered("hci0"), 60, pause=0.2)
        earlier.interrupt()
        desktop = stage.desktop()
        code = stage.code(desktop)
        old = stage.bluez.remembered("hci0")
        if not old:
            raise Failed("bluetoothd has forgotten the earlier advert; this shows nothing")
        seconds = stage.finish(desktop, stage.phone(code, name="later"))
    return f"{seconds:.1f} s with {len(old)} old advert told"


@contextmanager
def _policy(stage, rule):
    POLICY.write_text(
        '<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"\n'
        ' "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">\n'
        f'<busconfig><policy user="ada"><deny send_destination="org.bluez"{rule}/></policy></busconfig>\n')
    stage.bluez.reload_bus()
    try:
        yield
    finally:
        POLICY.unlink()
        stage.bluez.reload_bus()


def policy(stage):
    """The bus refuses this user bluetoothd, wholly, and then what matters alone."""
    code = stage.deserted_code()
    with _policy(stage, ""):
        sentence = stage.desktop().expect_end(69, "bluetooth-not-permitted")
        stage.phone(code).expect_end(69, "bluetooth-not-permitted")
    with _policy(stage, ' send_interface="org.bluez.Adapter1" send_member="StartDiscovery"'):
        stage.desktop().expect_end(69, "bluetooth-not-permitted")
    with _policy(stage, ' send_interface="org.bluez.LEAdvertisingManager1" '
                        'send_member="RegisterAdvertisement"'):
        stage.phone(code, name="refused").expect_end(69, "bluetooth-not-permitted")
    stage.need_passkey()
    stage.ceremony()
    return f"exit 69, four ways: \"{sentence}\"; then a good ceremony"


def two_at_once(stage):
    """Two desktops on one adapter and two phones on another, at the same time."""
    stage.need_passkey()
    stage.need_passkey("second")
    desktops = [stage.desktop(name=f"client-{n}") for n in (1, 2)]
    codes = [stage.code(desktop) for desktop in desktops]
    phones = [stage.phone(code, name=f"auth-{vault}", vault=vault) for code, vault in zip(codes, ("vault", "second"))]
    seconds = [stage.finish(desktop, phone) for desktop, phone in zip(desktops, phones)]
    return f"both good, {', '.join(f'{s:.1f}' for s in seconds)} s"


CASES = {
    **{f"{name}-scanning": _while_scanning(*how) for name, how in BREAKS.items()},
    **{f"{name}-advertising": _while_advertising(*how) for name, how in BREAKS.items()},
    "absent": absent, "frozen": frozen, "slots": slots, "foreign-filter": foreign_filter, "stale": stale,
    "policy": policy, "two-at-once": two_at_once,
}
