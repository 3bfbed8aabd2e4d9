# SPDX-License-Identifier: Apache-2.0
"""The plainest security key on /dev/uhid, for comparison: one thread that reads events and answers PING.

It has no limits, no privileges to separate and no other process to pass reports to. After each 16 reports it sleeps for a
millisecond, because the kernel keeps 64 for a program that reads them.
"""
import os
import struct
import time

CREATE2, INPUT2, OUTPUT = 11, 12, 6
DESCRIPTOR = bytes.fromhex("06d0f10901a1010920150026ff007508954081020921150026ff00750895409102c0")


def main():
    device = os.open("/dev/uhid", os.O_RDWR)
    os.write(device, struct.pack("<I128s64s64sHHIIII", CREATE2, b"Plain", b"plain", b"1", len(DESCRIPTOR), 3, 0x1209,
                                 0xCAB1, 1, 0) + DESCRIPTOR)
    message, missing = [], 0
    while True:
        event = os.read(device, 4380)
        if struct.unpack_from("<I", event)[0] != OUTPUT:
            continue
        # The report number precedes each report.
        report = event[5:69]
        if report[4] & 0x80:
            message, missing = [], int.from_bytes(report[5:7], "big") - 57
        else:
            missing -= 59
        message.append(report)
        if missing <= 0:
            for number, answer in enumerate(message, 1):
                os.write(device, struct.pack("<IH", INPUT2, 64) + answer)
                if number % 16 == 0:
                    time.sleep(0.001)
            message = []


main()
