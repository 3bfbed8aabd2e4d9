# SPDX-License-Identifier: Apache-2.0
"""Radio traffic, as btmon records it between kernel and controller."""
import os
import re
import statistics

from harness.programs import Program
from harness.waiting import Failed

# Flags, a name or another data field would make it longer: length, type, UUID, and 20 bytes.
ADVERT_BYTES = 0x18
# With the four bytes of a suffix: a CBOR map from the channel's kind to its number of two bytes.
LEADING_BYTES, SUFFIX = 0x1C, b"\xa1\x01\x18"
OUR_INTERVAL, KERNELS_INTERVAL = "100.000 msec", "1280.000 msec"
# HCI commands for advertising, legacy and extended, by number, because btmon shortens names.
PARAMETERS = ("(0x08|0x0036)", "(0x08|0x0006)")
# Well below the kernel's default of 1.28 s.
LONGEST_MEDIAN = 0.4


class Recording:
    """An adapter's traffic during the `with`."""

    def __init__(self, env, adapter):
        self._env, self._adapter = env, adapter

    def __enter__(self):
        # Line by line, without delay.
        self._program = Program(
            "btmon", ["stdbuf", "--output=L", "btmon", "-i", self._adapter],
            log=self._env.results / f"{self._env.case}-{self._adapter}.btmon",
            environment=dict(os.environ))
        try:
            self._env.waiting.until("btmon to detect its adapter", lambda: "Index Info" in self._program.said(), 30)
        except BaseException:
            self._program.stop()
            raise
        return self

    def __exit__(self, *_):
        self._program.stop()

    def _blocks(self, title):
        """Returns the indented lines below each line with the title, with the last unindented line before it."""
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
        """Returns the controller's last advertising parameters."""
        settings = [block for code in PARAMETERS for block in self._blocks(code) if block.startswith("< HCI Command")]
        return settings[-1] if settings else ""

    def adverts(self):
        """Returns the reports of passkey adverts."""
        return [block for block in self._blocks("Advertising Report") if "0xfff9" in block]



def verdict(sent, received, interval):
    """Checks the advert; returns its description."""
    _expect_parameters(sent, interval, "Random")
    adverts = received.adverts()
    addresses = set()
    for advert in adverts:
        if "ADV_NONCONN_IND" not in advert and "Non connectable" not in advert:
            raise Failed(f"expected a non-connectable advert; found {advert}")
        if not re.search(r"Address: \S+ \(Non-Resolvable\)", advert):
            raise Failed(f"expected a non-resolvable address; found {advert}")
        _expect_length(advert, ADVERT_BYTES)
        addresses.add(re.search(r"Address: (\S+) ", advert)[1])
    if len(addresses) != 1:
        raise Failed(f"expected one address for an advert; found {len(addresses)}")
    return (f"ADV_NONCONN_IND, non-resolvable random address, {ADVERT_BYTES} bytes, set to {interval}"
            f"{_pace(adverts, interval)}")


def connectable_verdict(sent, received, interval, data, address):
    """Does the same for an advert with a channel suffix.

    - `data`: its service data, as bluetoothd reported it.
    - `address`: the adapter's own address, the only one for a connectable advert.
    """
    _expect_parameters(sent, interval, "Public")
    adverts = received.adverts()
    for advert in adverts:
        if "ADV_IND" not in advert and "Connectable undirected" not in advert:
            raise Failed(f"expected a connectable advert; found {advert}")
        if not re.search(rf"Address type: Public .*Address: {address} ", advert, re.DOTALL):
            raise Failed(f"expected the adapter's own address, {address}; found {advert}")
        _expect_length(advert, LEADING_BYTES)
        if not data.hex() in re.sub(r"\s", "", advert):
            raise Failed(f"expected the service data {data.hex()}; found {advert}")
    if not adverts or data[20:23] != SUFFIX or data[23] < 0x80:
        raise Failed(f"{len(adverts)} adverts: expected a suffix with a channel; found {data[20:].hex()}")
    return (f"ADV_IND, the adapter's public address, {LEADING_BYTES} bytes, set to "
            f"{interval}{_pace(adverts, interval)}, suffix "
            f"{data[20:].hex()} (PSM 0x{data[23]:02x})")


def _expect_parameters(sent, interval, kind):
    settings = sent.parameters()
    for what in (f"Min advertising interval: {interval}", f"Max advertising interval: {interval}",
                 f"Own address type: {kind}"):
        if what not in settings:
            raise Failed(f"expected {what!r} in the controller's parameters; found {settings}")


def _expect_length(advert, due):
    length = re.search(r"Data length: (0x[0-9a-f]+)", advert)
    if length and int(length[1], 16) != due:
        raise Failed(f"expected only the service data; found {advert}")


def _pace(adverts, interval):
    """Returns the interval of received adverts, in words; empty if it is not meaningful.

    BlueZ 5.66 accepts no interval, and its virtual controllers send once for each scan that begins.
    """
    if interval != OUR_INTERVAL:
        return ""
    times = [float(re.search(r"([0-9]+\.[0-9]+)$", advert.splitlines()[0])[1]) for advert in adverts]
    gaps = [later - earlier for earlier, later in zip(times, times[1:])]
    if not gaps:
        return ""
    if statistics.median(gaps) > LONGEST_MEDIAN:
        raise Failed(f"expected the requested interval; received every {statistics.median(gaps):.3f} s")
    return f", received every {1000 * statistics.median(gaps):.0f} ms ({len(adverts)} times)"
