#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Independent client of the hybrid transport.

  client.py --relay HOST:PORT --ca FILE [--origin URL] [variants] < requests

Reads one {"publicKey": ...} per line and sends all of them through one tunnel; without requests it shuts down at once.
Prints the code's text, unless it contacts a linked phone, then for each request a WebAuthn response, or {"status": N} if
the authenticator refused. Exit status: 0; 1 if the session failed; 3 if --inspect found errors in the authenticator's messages, one per line on standard
error. Uses BlueZ on the bus of DBUS_SYSTEM_BUS_ADDRESS.
"""
import argparse, json, sys

import cbor, channel, ctap, linking
from desktop import Desktop, LinkedDesktop
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
    parser.add_argument("--inspect", action="store_true", help="check every message of the authenticator")
    qr = parser.add_argument_group("the code")
    qr.add_argument("--qr-omit", default="", help="keys to omit, such as 2,3,4,5")
    qr.add_argument("--qr-add", default="{}", help="JSON of additional keys and values")
    qr.add_argument("--lower-case", action="store_true", help="fido:/ instead of FIDO:/")
    links = parser.add_argument_group("linked phones")
    links.add_argument("--link", metavar="FILE", help="offer linking, and store the link in this file")
    links.add_argument("--contact", metavar="FILE", help="contact the phone of this link instead of showing a code")
    tunnel = parser.add_argument_group("the tunnel")
    tunnel.add_argument("--like-chrome", action="store_true", help="send Origin, and identifiers in upper case")
    tunnel.add_argument("--padding", choices=PADDINGS, default="usual")
    tunnel.add_argument("--updates", type=int, default=0, help="number of updates before the requests")
    tunnel.add_argument("--goodbye", choices=["said", "unsaid"], default="said")
    requests = parser.add_argument_group("requests")
    requests.add_argument("--ask-info", action="store_true", help="also request getInfo")
    requests.add_argument("--loose", action="store_true", help="send CBOR that is not canonical")
    requests.add_argument("--extra-keys", action="store_true", help="add unknown members")
    requests.add_argument("--request-bytes", type=int, default=0, help="pad the first request to this size")
    requests.add_argument("--no-uv", action="store_true", help="do not require user verification")
    requests.add_argument("--no-rk", action="store_true", help="do not require a discoverable credential")
    return parser.parse_args()


class Client:
    """Client that follows the protocol, with the variants of its options."""

    def __init__(self, options):
        self.options = options
        self.inspection = Inspection(options.inspect)
        lines = [json.loads(line) for line in sys.stdin if line.strip()]
        rk = False if options.no_rk else None
        self.ceremonies = [Ceremony(line, options.origin, uv=not options.no_uv, rk=rk) for line in lines]
        hint = "mc" if self.ceremonies and self.ceremonies[0].is_creation else "ga"
        if options.contact:
            link = linking.ClientLink.load(options.contact)
            self.desktop = LinkedDesktop(link, options.relay, options.ca, hint, self.inspection)
        else:
            self.desktop = Desktop(options.relay, options.ca, hint, self.inspection, wants_link=bool(options.link))
        for key in filter(None, options.qr_omit.split(",")):
            del self.desktop.fields[int(key)]
        for key, value in json.loads(options.qr_add).items():
            self.desktop.fields[int(key)] = value

    def run(self):
        desktop, options = self.desktop, self.options
        receiver = Radio(options.adapter)
        with receiver.scanning():
            if options.contact:
                desktop.contact()
                desktop.meet_by_radio(receiver)
            else:
                say(desktop.text.replace("FIDO", "fido") if options.lower_case else desktop.text)
                desktop.hear(receiver)
        receiver.close()
        if not options.contact:
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
        if options.link:
            desktop.link().save(options.link)
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
            # The length takes five bytes instead of one; the command takes one more.
            parameters[255] = bytes(size - len(encode(parameters)) - 5)
        request = bytes([ceremony.command]) + encode(parameters)
        status, body = self.desktop.ask(request)
        if status != ctap.SUCCESS:
            self.inspection.expect(not body, f"{len(body)} bytes after the status {status:#04x}")
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
    except (TunnelFailed, RadioFailed, HandshakeFailed, channel.ChannelFailed, linking.LinkRefused) as error:
        sys.exit(f"client.py: {error}")
    for fault in client.inspection.faults:
        print(f"fault: {fault}", file=sys.stderr)
    sys.exit(3 if client.inspection.faults else 0)


if __name__ == "__main__":
    main()
