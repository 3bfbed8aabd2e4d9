# SPDX-License-Identifier: Apache-2.0
"""Ceremonies over Bluetooth alone, and ceremonies that fall back to the relay.

Each runs in its own guest: a device that was connected does not advertise for a while.
"""
import json
import os
import signal

from bluez import run
from foreign_devices import Impostor, ForeignDevice
from harness.waiting import Failed
import radio
import recording

OFFER = ("--ble-channel",)
# Time limits of hybrid-client in milliseconds: to connect, and for the response to its first message.
CONNECTING, HANDSHAKE = 12_000, 15_000
# Tolerance in milliseconds for a busy emulated processor.
LATE = 10_000
FALLEN_BACK = "bluetooth-channel-failed"


def check(is_so, what):
    if not is_so:
        raise Failed(what)


def names(program):
    """Returns the names of its events, in order."""
    return [event.get("state") or event.get("notice") or event["event"] for event in program.events]


def at(program, name):
    """Returns the time of the first such event, in milliseconds since the start."""
    return program.events[names(program).index(name)]["elapsed_ms"]


def split(client, *parts):
    """Returns the duration of each part."""
    times = (f"{then} → {now} {at(client, now) - at(client, then)}" for then, now in zip(parts, parts[1:]))
    return ", ".join(times) + " ms"


class Asked:
    """Prompts of the phone during the `with`."""

    def __init__(self, env):
        self._env = env

    def __enter__(self):
        self._before = len(self._env.asked) if self._env.has_passkey else 0
        return self

    def __exit__(self, *_):
        pass

    @property
    def text(self):
        return self._env.asked[self._before:]


def ceremony(env, on_phone=(), meanwhile=None):
    """Runs a ceremony that offers the channel, a registration if there is no passkey yet; returns programs and
    prompts.

    `meanwhile` runs when the phone advertises, before the client has processed the advert.
    """
    with Asked(env) as asked:
        client = env.client(registration=not env.has_passkey, more=OFFER)
        code = env.code(client)
        if meanwhile:
            os.kill(client.program.pid, signal.SIGSTOP)
        try:
            phone = env.phone(code, more=on_phone)
            if meanwhile:
                phone.until("advertise", event="state", state="advertising")
                meanwhile(phone)
        finally:
            os.kill(client.program.pid, signal.SIGCONT)
        env.finish(client, phone)
        env.has_registered()
        return client, phone, asked.text


def came_by_bluetooth(client, phone, asked):
    """Checks that nothing went through the relay; returns the duration of each part."""
    check("connected-by-bluetooth" in names(client), f"expected a connection over Bluetooth; found {names(client)}")
    check("connecting" not in names(client), f"expected no connection to the relay; found {names(client)}")
    check(any(event.get("channel") == "bluetooth" for event in phone.events), "expected the phone to report "
                                                                              f"Bluetooth; found {phone.events}")
    check("Asked by Bluetooth alone" in asked and "through the relay" not in asked, "expected a prompt for Bluetooth "
                                                                                    f"alone; found {asked}")
    return split(client, "scan", "phone-found", "connecting-by-bluetooth", "connected-by-bluetooth", "confirm", "done")


def came_by_relay(client, phone, asked):
    """Checks that no channel over Bluetooth was used."""
    check("connecting" in names(client), f"expected a connection to the relay; found {names(client)}")
    check(not any(event.get("channel") == "bluetooth" for event in phone.events), "expected the phone not to report "
                                                                                  f"Bluetooth; found {phone.events}")
    check("Asked through the relay" in asked and "by Bluetooth alone" not in asked, "expected a prompt for the "
                                                                                    f"relay; found {asked}")


def fell_back(client, phone, asked, connects, least=0, most=CONNECTING):
    """Checks that the client tried the channel, reported why it failed, and used the relay; returns sentence and
    times.

    - `connects`: True if there was a channel first; `None` if both are possible.
    - `least`, `most`: limits of the time taken, from the connection on if there was one.
    """
    came_by_relay(client, phone, asked)
    said = names(client)
    check(said.count(FALLEN_BACK) == 1 and said.index(FALLEN_BACK) < said.index("connecting"),
          f"expected one fallback before the relay; found {said.count(FALLEN_BACK)}: {said}")
    connected = "connected-by-bluetooth" in said
    check(connects in (None, connected), f"expected {'no' if connected else 'a'} channel; found {said}")
    begun = "connected-by-bluetooth" if connected else "connecting-by-bluetooth"
    taken = at(client, FALLEN_BACK) - at(client, begun)
    check(least <= taken <= most + LATE, f"expected {least} to {most} ms; found {taken} ms")
    sentence = next(event["message"] for event in client.events if event.get("notice") == FALLEN_BACK)
    connecting = ["connecting-by-bluetooth", *(["connected-by-bluetooth"] if connected else [])]
    return f"\"{sentence}\"; exit 0; " + split(
        client, "phone-found", *connecting, FALLEN_BACK, "connecting", "confirm", "done")


def expect_no_channels(env):
    """Checks that no channel is open and none is accepted. The link below it is bluetoothd's, which keeps it."""
    env.waiting.until("all channels to close", lambda: not radio.channels(), 60, pause=0.2)


# Over Bluetooth -----------------------------------------------------------------------------------------------------

def channel(env):
    """Runs with a relay, which is not used."""
    notes = [came_by_bluetooth(*ceremony(env)) for _ in range(3)]
    expect_no_channels(env)
    return "; ".join(notes)


def offline(env):
    """Runs without a network device but the loopback interface, which is down."""
    links = [link["ifname"] for link in json.loads(run("ip -j link"))]
    check(links == ["lo"], f"expected no network devices; found {links}")
    run("ip link set lo down")
    try:
        notes = []
        for _ in range(3):
            client, phone, asked = ceremony(env)
            check("relay-out" in names(phone), "expected the phone to report that the relay is unreachable; found "
                                               f"{names(phone)}")
            notes.append(came_by_bluetooth(client, phone, asked))
        expect_no_channels(env)
        return "; ".join(notes)
    finally:
        run("ip link set lo up")


def foreign_device(env):
    """Connects other devices first, one that sends random data, one that sends nothing; the ceremony uses
    Bluetooth.
    """
    kept = []

    def intrude(_):
        # From the client's own adapter: virtual controllers route replies for a third one to the first.
        data = heard(env, "hci0")
        own, peer = env.bluez.address("hci0"), env.bluez.address("hci1")
        rude, mute = (radio.connected(own, peer, data[-1]) for _ in range(2))
        kept.append(mute)
        rude.send(os.urandom(81) + b"\r\n")
        rude.settimeout(radio.PATIENCE)
        try:
            answer = rude.recv(4096)
        except ConnectionResetError:
            answer = b""
        check(answer == b"", f"expected no response to an unauthenticated device; found {answer.hex()}")
        rude.close()

    note = came_by_bluetooth(*ceremony(env, meanwhile=intrude))
    for mute in kept:
        mute.close()
    expect_no_channels(env)
    return note


def on_the_air(env):
    """Checks the connectable advert: the controller's parameters and the received adverts."""
    with recording.Recording(env, "hci1") as sent, recording.Recording(env, "hci0") as received:
        data = []
        note = came_by_bluetooth(*ceremony(env, meanwhile=lambda _: data.append(heard(env, "hci0"))))
    interval = recording.KERNELS_INTERVAL if env.bluez.is_old else recording.OUR_INTERVAL
    return recording.connectable_verdict(sent, received, interval, data[0], env.bluez.address("hci1")) + "; " + note


# Through the relay, without a channel -------------------------------------------------------------------------------

def refused(env):
    """Disables the channel on the phone."""
    client, phone, asked = ceremony(env, on_phone=("--no-ble-channel",))
    came_by_relay(client, phone, asked)
    check("connecting-by-bluetooth" not in names(client), f"expected no attempt by the client; found {names(client)}")
    check("listening-by-bluetooth" not in names(phone), f"expected no channel on the phone; found {names(phone)}")
    return split(client, "phone-found", "connecting", "confirm", "done")


def unasked(env):
    """Offers no channel on the client; the phone, which supports it, sends a non-connectable advert."""
    with Asked(env) as asked:
        client = env.client(registration=True)
        code = env.code(client)
        with recording.Recording(env, "hci1") as sent, recording.Recording(env, "hci0") as received:
            phone = env.phone(code)
            env.finish(client, phone)
        env.has_registered()
    came_by_relay(client, phone, asked.text)
    said = names(client) + names(phone)
    check(not [name for name in said if "by-bluetooth" in name or name == FALLEN_BACK], "expected no attempt; found "
                                                                                        f"{said}")
    interval = recording.KERNELS_INTERVAL if env.bluez.is_old else recording.OUR_INTERVAL
    return f"{recording.verdict(sent, received, interval)}; {split(client, 'phone-found', 'connecting', 'confirm', 'done')}"


# Falling back -------------------------------------------------------------------------------------------------------

def gone(env):
    """Advertises a channel number that no longer accepts connections."""
    def close(phone):
        closed = radio.close_listeners(phone.program.pid)
        check(closed == 1, f"expected one listening socket of the phone; found {closed}")

    note = fell_back(*ceremony(env, meanwhile=close), connects=False)
    expect_no_channels(env)
    return note


def blocked(env):
    """Has the phone's kernel break every link of the client."""
    radio.block("hci1", env.bluez.address("hci0"))
    note = fell_back(*ceremony(env), connects=False)
    expect_no_channels(env)
    return note


def _led_astray(what, **expected):
    """Repeats the phone's advert with an impostor's channel number; only that one is received."""
    def case(env):
        env.need_passkey()
        with Asked(env) as asked:
            client = env.client(more=OFFER)
            code = env.code(client)
            env.bluez.switch("hci0", False)
            client.until("lose its radio", event="notice", notice="radio-lost")
            # A scan that begins before the advert receives it at once, also on old virtual controllers.
            with ForeignDevice(env, "listen", "hci2"):
                phone = env.advertising(code, timeout=120)
                data = heard(env, "hci2")
            radio.stop_adverts("hci1")
            with Impostor(env, what, "hci2", data[:20]) as impostor:
                env.bluez.switch("hci0", True)
                client.until("scan again", event="notice", notice="radio-back")
                env.finish(client, phone)
                taken = impostor.said("taken")
        check(bool(taken) == (what != "nobody"), "expected the impostor to accept channels only as configured; found "
                                                 f"{taken}")
        note = fell_back(client, phone, asked.text, **expected)
        expect_no_channels(env)
        return note
    return case


# Received adverts ---------------------------------------------------------------------------------------------------

def heard(env, adapter):
    """Returns the service data of an advert with a channel, as an adapter receives it while another program scans
    on it.
    """
    def found():
        return next((data for data in env.bluez.remembered(adapter).values() if len(data) == 24), None)

    return env.waiting.until(f"{adapter} to receive an advert with a channel", found, 60, pause=0.1)


CASES = {
    "ble-channel": channel, "ble-offline": offline, "ble-foreign-device": foreign_device, "ble-on-the-air": on_the_air,
    "ble-refused": refused, "ble-unasked": unasked, "ble-gone": gone, "ble-blocked": blocked,
    "ble-astray": _led_astray("nobody", connects=False),
    # A channel that is closed before the client's first read counts as reset.
    "ble-closed": _led_astray("closes", connects=None, most=HANDSHAKE),
    "ble-silent": _led_astray("silent", connects=True, least=HANDSHAKE, most=HANDSHAKE),
    "ble-rubbish": _led_astray("rubbish", connects=True, most=HANDSHAKE),
}
