# SPDX-License-Identifier: Apache-2.0
"""Ceremonies that must succeed."""
import statistics

import air
from strangers import Stranger
from waiting import Failed

ROW = 50


def register(stage):
    """Runs as an ordinary user; the client scans before the phone advertises, as usual."""
    seconds = stage.ceremony(registration=True)
    stage.has_registered()
    return f"{seconds:.1f} s"


def sign_in(stage):
    stage.need_passkey()
    return f"{stage.ceremony():.1f} s"


def advertiser_first(stage):
    """Starts advertising before the client scans, because the client's adapter was off meanwhile."""
    stage.need_passkey()
    client = stage.client()
    code = stage.code(client)
    stage.bluez.switch("hci0", False)
    client.until("lose its radio", event="notice", notice="radio-lost")
    phone = stage.advertising(code)
    stage.bluez.switch("hci0", True)
    client.until("scan again", event="notice", notice="radio-back")
    return f"{stage.finish(client, phone):.1f} s"


def other_way_round(stage):
    """Exchanges the adapters' roles."""
    stage.need_passkey()
    return f"{stage.ceremony(client='hci1', phone='hci0'):.1f} s"


def chatter(stage):
    """Sends passkey adverts of other codes from a third adapter, one after another."""
    stage.need_passkey()
    with Stranger(stage, "chatter", "hci2") as stranger:
        seconds = [stage.ceremony() for _ in range(3)]
        count = stranger.count()
    if count < 3:
        raise Failed(f"expected more adverts of another device; found only {count}")
    return f"{', '.join(f'{s:.1f}' for s in seconds)} s among {count} foreign adverts"


def on_the_air(stage):
    """Checks the controllers' parameters and the received adverts."""
    stage.need_passkey()
    with air.Recording(stage, "hci1") as sent, air.Recording(stage, "hci0") as received:
        with Stranger(stage, "listen", "hci0"):
            phone = stage.advertising(stage.abandoned_code())
            wanted = 1 if stage.bluez.is_old else 20
            stage.waiting.until(f"{wanted} adverts to be received", lambda: len(received.adverts()) >= wanted, 60,
                                pause=0.5)
        phone.interrupt()
    return air.verdict(sent, received, air.KERNELS_INTERVAL if stage.bluez.is_old else air.OUR_INTERVAL)


def row(stage):
    """Runs fifty in a row; no advert and no scan may remain after any."""
    stage.need_passkey()
    seconds = []
    for _ in range(ROW):
        seconds.append(stage.ceremony())
        stage.bluez.expect_silence()
    listed = " ".join(f"{s:.1f}" for s in seconds)
    return (f"{len(seconds)} good; seconds: shortest {min(seconds):.1f}, median {statistics.median(seconds):.1f}, "
            f"longest {max(seconds):.1f} ({listed})")


CASES = {"register": register, "sign-in": sign_in, "advertiser-first": advertiser_first,
         "other-way-round": other_way_round, "chatter": chatter, "on-the-air": on_the_air}
LAST = {"fifty": row}
