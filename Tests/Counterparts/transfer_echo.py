#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One end of a transfer that tests the channel alone: the giver sends each object back.

  transfer_echo.py give --relay HOST:PORT --ca FILE < CODE
  transfer_echo.py receive --relay HOST:PORT --ca FILE

The receiver prints its code on standard error, sends three objects and compares them with the answers. At the end, both print the handshake
hash. The radio is that of DBUS_SYSTEM_BUS_ADDRESS.
"""
import argparse, sys

import radio, transfer_wire
from channel import ChannelFailed
from noise import HandshakeFailed
from tunnel import TunnelFailed

OBJECTS = ({"type": "hello"}, {"type": "text", "text": "\u00e4\n" * 400}, {"type": "long", "text": "x" * 300_000})


def give(options):
    giver = transfer_wire.GiverWire(sys.stdin.readline().strip(), options.relay, options.ca, options.domain)
    giver.open_tunnel()
    transmitter = radio.Radio()
    with transmitter.advertising({radio.FIDO: giver.advert}):
        message1 = giver.tunnel.receive()
    transmitter.close()
    giver.shake_hands(message1)
    while (value := giver.next_object()) is not None:
        giver.send_object(value)
    giver.tunnel.close()
    return giver


def receive(options):
    receiver = transfer_wire.ReceiverWire(options.relay, options.ca, options.purpose)
    ears = radio.Radio()
    with ears.scanning():
        print(receiver.text, file=sys.stderr, flush=True)
        receiver.hear(ears)
    ears.close()
    receiver.join()
    receiver.shake_hands()
    for value in OBJECTS:
        receiver.send_object(value)
        if (answer := receiver.next_object()) != value:
            raise ChannelFailed(f"another object: {str(answer)[:100]}")
    receiver.say_goodbye()
    receiver.tunnel.close()
    return receiver


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("role", choices=("give", "receive"))
    parser.add_argument("--relay", required=True)
    parser.add_argument("--ca", required=True)
    parser.add_argument("--domain", type=int, default=266)
    parser.add_argument("--purpose", default="give")
    options = parser.parse_args()
    try:
        end = {"give": give, "receive": receive}[options.role](options)
    except (TunnelFailed, radio.RadioFailed, HandshakeFailed, ChannelFailed, ValueError) as error:
        sys.exit(f"transfer_echo.py: {error}")
    print(end.handshake_hash.hex())


if __name__ == "__main__":
    main()
