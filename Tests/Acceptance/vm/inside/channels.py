# SPDX-License-Identifier: Apache-2.0
"""Ceremonies by Bluetooth alone, and those that fall back to the relay.

Each is run in a guest of its own: whoever was connected keeps adverts off the air for a while.
"""
import json
import os
import signal

import air
import radio
from bluez import run
from strangers import Impostor, Stranger
from waiting import Failed

OFFER = ("--ble-channel",)
# What hybrid-client allows itself, in milliseconds: to connect, and for the answer to its first message.
CONNECTING, HANDSHAKE = 12_000, 15_000
# How much later than that something may be told by an emulated processor that others keep busy.
LATE = 10_000
FALLEN_BACK = "bluetooth-channel-failed"


def check(is_so, what):
    if not is_so:
        raise Failed(what)


def names(told):
    """What it has told, in order."""
    return [event.get("state") or event.get("notice") or event["event"] for event in told.events]


def at(told, name):
    """When it first told something, in milliseconds since it began."""
    return told.events[names(told).index(name)]["elapsed_ms"]


def split(desktop, *parts):
    """How long each part took."""
    return ", ".join(f"{then} → {now} {at(desktop, now) - at(desktop, then)}" for then, now in zip(parts, parts[1:])) + " ms"


class Asked:
    """What the person at the phone is asked during the `with`."""

    def __init__(self, stage):
        self._stage = stage

    def __enter__(self):
        self._before = len(self._stage.asked) if self._stage.has_passkey else 0
        return self

    def __exit__(self, *_):
        pass

    @property
    def text(self):
        return self._stage.asked[self._before:]


def ceremony(stage, on_phone=(), meanwhile=None):
    """One that offers the channel, a registration if there is no passkey yet; both programs, and what was asked.

    `meanwhile` happens when the phone's advert is on the air, and before the desktop has looked at it.
    """
    with Asked(stage) as asked:
        desktop = stage.desktop(registration=not stage.has_passkey, more=OFFER)
        code = stage.code(desktop)
        if meanwhile:
            os.kill(desktop.program.pid, signal.SIGSTOP)
        try:
            phone = stage.phone(code, more=on_phone)
            if meanwhile:
                phone.until("advertise", event="state", state="advertising")
                meanwhile(phone)
        finally:
            os.kill(desktop.program.pid, signal.SIGCONT)
        stage.finish(desktop, phone)
        stage.has_registered()
        return desktop, phone, asked.text


def came_by_bluetooth(desktop, phone, asked):
    """Nothing went through the relay; returns how long each part took."""
    check("connected-by-bluetooth" in names(desktop), f"the desktop did not use Bluetooth: {names(desktop)}")
    check("connecting" not in names(desktop), f"the desktop went to the relay: {names(desktop)}")
    check(any(event.get("channel") == "bluetooth" for event in phone.events), f"the phone said {phone.events}")
    check("Asked by Bluetooth alone" in asked and "through the relay" not in asked, f"the person was told {asked}")
    return split(desktop, "scan", "phone-found", "connecting-by-bluetooth", "connected-by-bluetooth", "confirm", "done")


def came_by_relay(desktop, phone, asked):
    """Nothing was done by Bluetooth that needs a channel."""
    check("connecting" in names(desktop), f"the desktop did not go to the relay: {names(desktop)}")
    check(not any(event.get("channel") == "bluetooth" for event in phone.events), f"the phone said {phone.events}")
    check("Asked through the relay" in asked and "by Bluetooth alone" not in asked, f"the person was told {asked}")


def fell_back(desktop, phone, asked, connects, least=0, most=CONNECTING):
    """It tried, said why that led nowhere, and went through the relay; returns sentence and times.

    - `connects`: whether there was a channel before; `None` where both may be.
    - `least`, `most`: how long it may have taken, from the connection on if there was one.
    """
    came_by_relay(desktop, phone, asked)
    said = names(desktop)
    check(said.count(FALLEN_BACK) == 1 and said.index(FALLEN_BACK) < said.index("connecting"),
          f"it fell back {said.count(FALLEN_BACK)} times: {said}")
    connected = "connected-by-bluetooth" in said
    check(connects in (None, connected), f"there {'was a' if connected else 'was no'} channel: {said}")
    begun = "connected-by-bluetooth" if connected else "connecting-by-bluetooth"
    taken = at(desktop, FALLEN_BACK) - at(desktop, begun)
    check(least <= taken <= most + LATE, f"it took {taken} ms, and {least} to {most} were due")
    sentence = next(event["message"] for event in desktop.events if event.get("notice") == FALLEN_BACK)
    connecting = ["connecting-by-bluetooth", *(["connected-by-bluetooth"] if connected else [])]
    return f"\"{sentence}\"; exit 0; " + split(
        desktop, "phone-found", *connecting, FALLEN_BACK, "connecting", "confirm", "done")


def expect_no_channels(stage):
    """No channel is left, and nobody listens for one. The link below it is bluetoothd's, which keeps it."""
    stage.waiting.until("all channels to end", lambda: not radio.channels(), 60, pause=0.2)


# By Bluetooth -------------------------------------------------------------------------------------------------------

def channel(stage):
    """A relay is there, too, and nothing goes through it."""
    notes = [came_by_bluetooth(*ceremony(stage)) for _ in range(3)]
    expect_no_channels(stage)
    return "; ".join(notes)


def offline(stage):
    """No network device but the loopback interface, and that one is down."""
    links = [link["ifname"] for link in json.loads(run("ip -j link"))]
    check(links == ["lo"], f"there are network devices: {links}")
    run("ip link set lo down")
    try:
        notes = []
        for _ in range(3):
            desktop, phone, asked = ceremony(stage)
            check("relay-out" in names(phone), f"the phone does not say that there is no relay: {names(phone)}")
            notes.append(came_by_bluetooth(desktop, phone, asked))
        expect_no_channels(stage)
        return "; ".join(notes)
    finally:
        run("ip link set lo up")


def stranger(stage):
    """Somebody connects first and sends rubbish, another says nothing; the ceremony goes on, by Bluetooth."""
    kept = []

    def intrude(_):
        # From the desktop's own adapter: virtual radios bring a third one's answers to the first.
        data = heard(stage, "hci0")
        own, peer = stage.bluez.address("hci0"), stage.bluez.address("hci1")
        rude, mute = (radio.connected(own, peer, data[-1]) for _ in range(2))
        kept.append(mute)
        rude.send(os.urandom(81) + b"\r\n")
        rude.settimeout(radio.PATIENCE)
        try:
            answer = rude.recv(4096)
        except ConnectionResetError:
            answer = b""
        check(answer == b"", f"a stranger got an answer: {answer.hex()}")
        rude.close()

    note = came_by_bluetooth(*ceremony(stage, meanwhile=intrude))
    for mute in kept:
        mute.close()
    expect_no_channels(stage)
    return note


def on_the_air(stage):
    """The advert that can be connected to: what the controller was told, and what was received."""
    with air.Recording(stage, "hci1") as sent, air.Recording(stage, "hci0") as received:
        data = []
        note = came_by_bluetooth(*ceremony(stage, meanwhile=lambda _: data.append(heard(stage, "hci0"))))
    interval = air.KERNELS_INTERVAL if stage.bluez.is_old else air.OUR_INTERVAL
    return air.connectable_verdict(sent, received, interval, data[0], stage.bluez.address("hci1")) + "; " + note


# Through the relay, for nobody wants a channel ----------------------------------------------------------------------

def refused(stage):
    """The phone is told not to."""
    desktop, phone, asked = ceremony(stage, on_phone=("--no-ble-channel",))
    came_by_relay(desktop, phone, asked)
    check("connecting-by-bluetooth" not in names(desktop), f"the desktop tried: {names(desktop)}")
    check("listening-by-bluetooth" not in names(phone), f"the phone listens: {names(phone)}")
    return split(desktop, "phone-found", "connecting", "confirm", "done")


def unasked(stage):
    """The desktop does not offer it, and the phone, which could, sends the advert of one that can't be connected to."""
    with Asked(stage) as asked:
        desktop = stage.desktop(registration=True)
        code = stage.code(desktop)
        with air.Recording(stage, "hci1") as sent, air.Recording(stage, "hci0") as received:
            phone = stage.phone(code)
            stage.finish(desktop, phone)
        stage.has_registered()
    came_by_relay(desktop, phone, asked.text)
    said = names(desktop) + names(phone)
    check(not [name for name in said if "by-bluetooth" in name or name == FALLEN_BACK], f"somebody tried: {said}")
    interval = air.KERNELS_INTERVAL if stage.bluez.is_old else air.OUR_INTERVAL
    return f"{air.verdict(sent, received, interval)}; {split(desktop, 'phone-found', 'connecting', 'confirm', 'done')}"


# Falling back -------------------------------------------------------------------------------------------------------

def gone(stage):
    """The phone's advert leads to a number under which nobody listens any more."""
    def close(phone):
        closed = radio.close_door(phone.program.pid)
        check(closed == 1, f"{closed} sockets of the phone listened")

    note = fell_back(*ceremony(stage, meanwhile=close), connects=False)
    expect_no_channels(stage)
    return note


def blocked(stage):
    """The phone's kernel breaks every link that the desktop makes."""
    radio.block("hci1", stage.bluez.address("hci0"))
    note = fell_back(*ceremony(stage), connects=False)
    expect_no_channels(stage)
    return note


def _led_astray(what, **expected):
    """Somebody near repeats the phone's advert with a number of his own, and only that is heard."""
    def case(stage):
        stage.need_passkey()
        with Asked(stage) as asked:
            desktop = stage.desktop(more=OFFER)
            code = stage.code(desktop)
            stage.bluez.switch("hci0", False)
            desktop.until("lose its radio", event="notice", notice="radio-lost")
            # Who listens before the advert begins hears it at once, on old virtual radios, too.
            with Stranger(stage, "listen", "hci2"):
                phone = stage.advertising(code, timeout=120)
                data = heard(stage, "hci2")
            radio.take_off_the_air("hci1")
            with Impostor(stage, what, "hci2", data[:20]) as impostor:
                stage.bluez.switch("hci0", True)
                desktop.until("listen again", event="notice", notice="radio-back")
                stage.finish(desktop, phone)
                taken = impostor.said("taken")
        check(bool(taken) == (what != "nobody"), f"the impostor took {taken} channels")
        note = fell_back(desktop, phone, asked.text, **expected)
        expect_no_channels(stage)
        return note
    return case


# What is heard ------------------------------------------------------------------------------------------------------

def heard(stage, adapter):
    """The service data of an advert that leads to a channel, as an adapter hears it while somebody scans on it."""
    def found():
        return next((data for data in stage.bluez.remembered(adapter).values() if len(data) == 24), None)

    return stage.waiting.until(f"{adapter} to hear an advert that leads to a channel", found, 60, pause=0.1)


CASES = {
    "ble-channel": channel, "ble-offline": offline, "ble-stranger": stranger, "ble-on-the-air": on_the_air,
    "ble-refused": refused, "ble-unasked": unasked, "ble-gone": gone, "ble-blocked": blocked,
    "ble-astray": _led_astray("nobody", connects=False),
    # Closed before the desktop has looked, a channel is one that was reset.
    "ble-closed": _led_astray("closes", connects=None, most=HANDSHAKE),
    "ble-silent": _led_astray("silent", connects=True, least=HANDSHAKE, most=HANDSHAKE),
    "ble-rubbish": _led_astray("rubbish", connects=True, most=HANDSHAKE),
}
