# SPDX-License-Identifier: Apache-2.0
"""Ceremonies that must succeed."""
import statistics

from foreign_devices import ForeignDevice
from harness.waiting import Failed
import recording

ROW = 50


def register(env):
    """Runs as an ordinary user; the client scans before the phone advertises, as usual."""
    seconds = env.ceremony(registration=True)
    env.has_registered()
    return f"{seconds:.1f} s"


def sign_in(env):
    env.need_passkey()
    return f"{env.ceremony():.1f} s"


def advertiser_first(env):
    """Starts advertising before the client scans, because the client's adapter was off meanwhile."""
    env.need_passkey()
    client = env.client()
    code = env.code(client)
    env.bluez.switch("hci0", False)
    client.until("lose its radio", event="notice", notice="radio-lost")
    phone = env.advertising(code)
    env.bluez.switch("hci0", True)
    client.until("scan again", event="notice", notice="radio-back")
    return f"{env.finish(client, phone):.1f} s"


def other_way_round(env):
    """Exchanges the adapters' roles."""
    env.need_passkey()
    return f"{env.ceremony(client='hci1', phone='hci0'):.1f} s"


def chatter(env):
    """Sends passkey adverts of other codes from a third adapter, one after another."""
    env.need_passkey()
    with ForeignDevice(env, "chatter", "hci2") as device:
        seconds = [env.ceremony() for _ in range(3)]
        count = device.count()
    if count < 3:
        raise Failed(f"expected more adverts of another device; found only {count}")
    return f"{', '.join(f'{s:.1f}' for s in seconds)} s among {count} foreign adverts"


def on_the_air(env):
    """Checks the controllers' parameters and the received adverts."""
    env.need_passkey()
    with recording.Recording(env, "hci1") as sent, recording.Recording(env, "hci0") as received:
        with ForeignDevice(env, "listen", "hci0"):
            phone = env.advertising(env.abandoned_code())
            wanted = 1 if env.bluez.is_old else 20
            env.waiting.until(f"{wanted} adverts to be received", lambda: len(received.adverts()) >= wanted, 60,
                                pause=0.5)
        phone.interrupt()
    return recording.verdict(sent, received, recording.KERNELS_INTERVAL if env.bluez.is_old else recording.OUR_INTERVAL)


def row(env):
    """Runs fifty in a row; no advert and no scan may remain after any."""
    env.need_passkey()
    seconds = []
    for _ in range(ROW):
        seconds.append(env.ceremony())
        env.bluez.expect_silence()
    listed = " ".join(f"{s:.1f}" for s in seconds)
    return (f"{len(seconds)} good; seconds: shortest {min(seconds):.1f}, median {statistics.median(seconds):.1f}, "
            f"longest {max(seconds):.1f} ({listed})")


CASES = {"register": register, "sign-in": sign_in, "advertiser-first": advertiser_first,
         "other-way-round": other_way_round, "chatter": chatter, "on-the-air": on_the_air}
LAST = {"fifty": row}
