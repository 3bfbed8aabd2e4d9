# SPDX-License-Identifier: Apache-2.0
"""What goes over the air, as btmon sees it between kernel and controller."""
import os
import re
import statistics

from programs import Program
from waiting import Failed

# Flags, a name or a second piece of data would make it longer: length, type, UUID, and 20 bytes.
ADVERT_BYTES = 0x18
# With the four of a suffix: a map from the channel's kind to a number of two bytes, in CBOR.
LEADING_BYTES, SUFFIX = 0x1C, b"\xa1\x01\x18"
OUR_INTERVAL, KERNELS_INTERVAL = "100.000 msec", "1280.000 msec"
# HCI's commands for it, extended and not, by their numbers, for btmon cuts names.
PARAMETERS = ("(0x08|0x0036)", "(0x08|0x0006)")
# Well below the 1.28 s that the kernel takes by itself.
LONGEST_MEDIAN = 0.4


class Recording:
    """An adapter's traffic during the `with`."""

    def __init__(self, stage, adapter):
        self._stage, self._adapter = stage, adapter

    def __enter__(self):
        # Line by line, as it comes.
        self._program = Program(
            "btmon", ["stdbuf", "--output=L", "btmon", "-i", self._adapter],
            log=self._stage.results / f"{self._stage.case}-{self._adapter}.btmon",
            environment=dict(os.environ))
        try:
            self._stage.waiting.until("btmon to see its adapter", lambda: "Index Info" in self._program.said(), 30)
        except BaseException:
            self._program.stop()
            raise
        return self

    def __exit__(self, *_):
        self._program.stop()

    def _blocks(self, title):
        """The indented lines below each line that has the title, with the last line at the margin before."""
        blocks, margin, current = [], "", None
        for line in self._program.said().splitlines():
            if not line.startswith(" "):
                margin, current = line, [line] if title in line else None
            elif title in line:
                current = [margin, line]
            else:
                if current is not None:
                    current.append(line)
                continue
            if current is not None:
                blocks.append(current)
        return ["\n".join(block) for block in blocks]

    def parameters(self):
        """What the controller was told last of how to advertise."""
        told = [block for code in PARAMETERS for block in self._blocks(code) if block.startswith("< HCI Command")]
        return told[-1] if told else ""

    def adverts(self):
        """The reports of passkey adverts."""
        return [block for block in self._blocks("Advertising Report") if "0xfff9" in block]



def verdict(sent, received, interval):
    """Raises Failed if the advert is not what it should be; returns what it is."""
    _expect_told(sent, interval, "Random")
    adverts = received.adverts()
    addresses = set()
    for advert in adverts:
        if "ADV_NONCONN_IND" not in advert and "Non connectable" not in advert:
            raise Failed(f"not the advert of one that can't be connected to: {advert}")
        if not re.search(r"Address: \S+ \(Non-Resolvable\)", advert):
            raise Failed(f"an address by which one is known again: {advert}")
        _expect_length(advert, ADVERT_BYTES)
        addresses.add(re.search(r"Address: (\S+) ", advert)[1])
    if len(addresses) != 1:
        raise Failed(f"one advert had {len(addresses)} addresses")
    return f"ADV_NONCONN_IND, non-resolvable random address, {ADVERT_BYTES} bytes, told {interval}{_pace(adverts, interval)}"


def connectable_verdict(sent, received, interval, data, address):
    """The same of an advert that leads to a channel.

    - `data`: its service data, as bluetoothd told it.
    - `address`: the adapter's own, from which alone one that can be connected to comes.
    """
    _expect_told(sent, interval, "Public")
    adverts = received.adverts()
    for advert in adverts:
        if "ADV_IND" not in advert and "Connectable undirected" not in advert:
            raise Failed(f"not the advert of one that can be connected to: {advert}")
        if not re.search(rf"Address type: Public .*Address: {address} ", advert, re.DOTALL):
            raise Failed(f"not the adapter's own address, {address}: {advert}")
        _expect_length(advert, LEADING_BYTES)
        if not data.hex() in re.sub(r"\s", "", advert):
            raise Failed(f"not the service data {data.hex()}: {advert}")
    if not adverts or data[20:23] != SUFFIX or data[23] < 0x80:
        raise Failed(f"{len(adverts)} adverts with a suffix that leads nowhere: {data[20:].hex()}")
    return (f"ADV_IND, the adapter's public address, {LEADING_BYTES} bytes, told {interval}{_pace(adverts, interval)}, suffix "
            f"{data[20:].hex()} (PSM 0x{data[23]:02x})")


def _expect_told(sent, interval, kind):
    told = sent.parameters()
    for what in (f"Min advertising interval: {interval}", f"Max advertising interval: {interval}",
                 f"Own address type: {kind}"):
        if what not in told:
            raise Failed(f"the controller was not told {what!r}: {told}")


def _expect_length(advert, due):
    length = re.search(r"Data length: (0x[0-9a-f]+)", advert)
    if length and int(length[1], 16) != due:
        raise Failed(f"more in it than the service data: {advert}")


def _pace(adverts, interval):
    """How often they were received, in words; nothing if that says nothing.

    BlueZ 5.66 takes no interval, and its virtual radios send once for each scan that begins.
    """
    if interval != OUR_INTERVAL:
        return ""
    times = [float(re.search(r"([0-9]+\.[0-9]+)$", advert.splitlines()[0])[1]) for advert in adverts]
    gaps = [later - earlier for earlier, later in zip(times, times[1:])]
    if not gaps:
        return ""
    if statistics.median(gaps) > LONGEST_MEDIAN:
        raise Failed(f"received every {statistics.median(gaps):.3f} s: the interval was not taken")
    return f", received every {1000 * statistics.median(gaps):.0f} ms ({len(adverts)} times)"
