#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A desktop of hybrid transport that is not ours.

  client.py --relay HOST:PORT --ca FILE [--origin URL] [variants] < requests

Standard input has one {"publicKey": ...} per line, all asked on one tunnel; without any, the desktop says goodbye
at once. Standard output has the code's text, then for each request a WebAuthn response, or {"status": N} where
the phone refused. Ends with 0; with 1 if the session failed; with 3 if --inspect found faults in what the phone
sent, one on each line of standard error. The radio is BlueZ on the bus that DBUS_SYSTEM_BUS_ADDRESS names.
"""
import argparse, json, sys

import cbor, channel, ctap
from desktop import Desktop
from inspection import Inspection
from noise import HandshakeFailed
from radio import Radio, RadioFailed
from tunnel import TunnelFailed
from website import Ceremony

PADDINGS = {"usual": channel.pad, "before-type": channel.pad_before_type, "least": channel.pad_least}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--relay", required=True)
    parser.add_argument("--ca", required=True)
    parser.add_argument("--origin", default="https://example.com")
    parser.add_argument("--adapter", default="hci1")
    parser.add_argument("--inspect", action="store_true", help="check all that the phone sends")
    qr = parser.add_argument_group("the code")
    qr.add_argument("--qr-omit", default="", help="keys to leave out, such as 2,3,4,5")
    qr.add_argument("--qr-add", default="{}", help="JSON of further keys and their values")
    qr.add_argument("--lower-case", action="store_true", help="fido:/ instead of FIDO:/")
    tunnel = parser.add_argument_group("the tunnel")
    tunnel.add_argument("--like-chrome", action="store_true", help="Origin, identifiers in upper case")
    tunnel.add_argument("--padding", choices=PADDINGS, default="usual")
    tunnel.add_argument("--updates", type=int, default=0, help="updates to send before the requests")
    tunnel.add_argument("--goodbye", choices=["said", "unsaid"], default="said")
    requests = parser.add_argument_group("requests")
    requests.add_argument("--ask-info", action="store_true", help="ask for getInfo as well")
    requests.add_argument("--loose", action="store_true", help="CBOR that is not canonical")
    requests.add_argument("--extra-keys", action="store_true", help="members that no phone knows")
    requests.add_argument("--request-bytes", type=int, default=0, help="fill the first request up to this size")
    requests.add_argument("--no-uv", action="store_true", help="do not ask for user verification")
    requests.add_argument("--no-rk", action="store_true", help="do not ask for a discoverable credential")
    return parser.parse_args()


class Client:
    """A desktop that behaves, with the variants of its arguments."""

    def __init__(self, options):
        self.options = options
        self.inspection = Inspection(options.inspect)
        lines = [json.loads(line) for line in sys.stdin if line.strip()]
        rk = False if options.no_rk else None
        self.ceremonies = [Ceremony(line, options.origin, uv=not options.no_uv, rk=rk) for line in lines]
        hint = "mc" if self.ceremonies and self.ceremonies[0].is_creation else "ga"
        self.desktop = Desktop(options.relay, options.ca, hint, self.inspection)
        for key in filter(None, options.qr_omit.split(",")):
            del self.desktop.fields[int(key)]
        for key, value in json.loads(options.qr_add).items():
            self.desktop.fields[int(key)] = value

    def run(self):
        desktop, options = self.desktop, self.options
        receiver = Radio(options.adapter)
        with receiver.scanning():
            say(desktop.text.replace("FIDO", "fido") if options.lower_case else desktop.text)
            desktop.hear(receiver)
        receiver.close()
        desktop.join(origin=options.like_chrome, upper_case=options.like_chrome)
        desktop.shake_hands(PADDINGS[options.padding])
        desktop.meet()
        for number in range(options.updates):
            desktop.send(bytes([channel.UPDATE]) + cbor.canonical({0: bytes(number), 100: "news"}))
        if options.ask_info:
            status, body = desktop.ask(bytes([ctap.GET_INFO]))
            same = status == ctap.SUCCESS and cbor.read(body) == desktop.info
            self.inspection.expect(same, "getInfo is not what it was in the first message")
        for number, ceremony in enumerate(self.ceremonies):
            self.ask(ceremony, options.request_bytes if number == 0 else 0)
        if options.goodbye == "said":
            desktop.shut_down()
        desktop.tunnel.close()

    def ask(self, ceremony, size):
        parameters = dict(ceremony.parameters)
        if self.options.extra_keys:
            parameters |= {99: ["more"], 200: {"x": 1}}
            if ceremony.is_creation:
                parameters[2] = {**parameters[2], "icon": "https://example.com/i.png"}
                parameters[6] = {**parameters.get(6, {}), "credProtect": 2, "unheardOf": {"a": b"b"}}
            else:
                parameters[4] = {**parameters.get(4, {}), "unheardOf": True}
        encode = cbor.loose if self.options.loose else cbor.canonical
        if size:
            parameters[255] = b""
            # Five bytes of length instead of one, and the command's byte.
            parameters[255] = bytes(size - len(encode(parameters)) - 5)
        request = bytes([ceremony.command]) + encode(parameters)
        status, body = self.desktop.ask(request)
        if status != ctap.SUCCESS:
            self.inspection.expect(not body, f"{len(body)} bytes behind the status {status:#04x}")
            return say(json.dumps({"status": status}))
        answer = cbor.read(body)
        if ceremony.is_creation:
            self.inspection.creation(body, answer, ceremony, self.desktop.info[3])
        else:
            self.inspection.assertion(body, answer, ceremony)
        say(json.dumps(ceremony.response(answer, self.desktop.info.get(9, []))))


def say(line):
    print(line, flush=True)


def main():
    client = Client(arguments())
    try:
        client.run()
    except (TunnelFailed, RadioFailed, HandshakeFailed, channel.ChannelFailed) as error:
        sys.exit(f"client.py: {error}")
    for fault in client.inspection.faults:
        print(f"fault: {fault}", file=sys.stderr)
    sys.exit(3 if client.inspection.faults else 0)


if __name__ == "__main__":
    main()
