#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Independent authenticator of the hybrid transport; each option is a behavior of real phones.

  authenticator.py --relay HOST:PORT --ca FILE [--keys FILE] [--link FILE] [quirks] < text of the code
  authenticator.py --relay HOST:PORT --ca FILE [--keys FILE] --listen FILE [quirks]

With --listen, it reads no code, but waits for the client of that link. Approves every request. At the end it prints one
JSON line: the requests and the end of the session. Exit status: 0; 1 if the session failed; 3 if --inspect found errors
in the client's messages, one per line on standard error. Uses BlueZ on the bus of DBUS_SYSTEM_BUS_ADDRESS.
"""
import argparse, json, os, secrets, sys, time
from contextlib import ExitStack, suppress

import algorithms, cbor, channel, ctap, linking, phone as phones, radio
from answers import Answers
from inspection import Inspection
from noise import HandshakeFailed
from tunnel import TunnelFailed

AAGUID = bytes.fromhex("c0ffee00000040008000000000000001")
VECTORS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Vectors", "vectors.json")
# Wait for the shutdown message; close at once, as iPhones do; send a shutdown message, as webauthn-rs does, plain or with
# trailing bytes; cut the connection; stay until the client closes.
ENDS = ["wait", "close", "goodbye", "long-goodbye", "drop", "linger"]
PADDINGS = {"usual": channel.pad, "before-type": channel.pad_before_type, "least": channel.pad_least}


def arguments(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--relay", required=True)
    parser.add_argument("--ca", required=True)
    parser.add_argument("--domain", type=int, default=266)
    parser.add_argument("--adapter", default="hci1")
    parser.add_argument("--keys", help="JSON file for passkeys")
    parser.add_argument("--inspect", action="store_true", help="check every message of the client")
    links = parser.add_argument_group("linked clients")
    links.add_argument("--link", metavar="FILE", help="offer a link, and store it in this file")
    links.add_argument("--listen", metavar="FILE", help="wait for the client of this link instead of reading a code")
    links.add_argument("--name", default="Counterpart", help="the name of this phone")
    links.add_argument("--wrong-link", action="store_true", help="offer a link with a wrong signature")
    links.add_argument("--tap", choices=["yes", "no", "never"], default="yes", help="the user's answer to a wake-up")
    links.add_argument("--sign-ins", type=int, default=1, help="number of wake-ups to wait for")
    air = parser.add_argument_group("the advert")
    air.add_argument("--suffix", default="", help="bytes after the advert's 20, in hexadecimal")
    air.add_argument("--older-uuid", action="store_true", help="advertise under Google's UUID")
    air.add_argument("--connectable", action="store_true", help="send a connectable advert")
    air.add_argument("--both-uuids", action="store_true", help="advertise under both UUIDs, one advert each")
    air.add_argument("--other-service", action="store_true", help="also advertise another service of the same vendor")
    air.add_argument("--stay-on-air", action="store_true", help="advertise until the session is over")
    air.add_argument("--list-uuid", action="store_true", help="also list the UUID in the advert's service list")
    air.add_argument("--strangers", type=int, default=0, help="number of adverts of other phones")
    air.add_argument("--renew", type=int, default=0, help="number of restarts of the advert, as with rotating addresses")
    first = parser.add_argument_group("the first message")
    first.add_argument("--introduction", help="send the first message of a real phone, by its name in the vectors")
    first.add_argument("--features", help="JSON of key 3; null omits it")
    first.add_argument("--first-padding", type=int, help="number of bytes under key 0")
    first.add_argument("--link-first", action="store_true", help="linking information under key 2")
    first.add_argument("--aaguid", type=bytes.fromhex, default=AAGUID, help="the model in getInfo")
    first.add_argument("--lists", action="append", default=[], help="additional extension in getInfo")
    first.add_argument("--lacks", action="append", default=[], help="extension or option that getInfo omits")
    first.add_argument("--refuses", action="append", default=[], help="option that is false in getInfo")
    first.add_argument("--lists-algorithm", choices=algorithms.BY_NAME, help="the only algorithm in getInfo")
    first.add_argument("--lists-format", action="append", default=[], help="attestation format in getInfo")
    first.add_argument("--more-info", action="store_true", help="add unknown members to getInfo")
    session = parser.add_argument_group("the session")
    session.add_argument("--padding", choices=PADDINGS, default="usual")
    session.add_argument("--loose", action="store_true", help="send CBOR that is not canonical")
    session.add_argument("--update", choices=["empty", "link", "unknown"], help="update directly after the first message")
    session.add_argument("--late-updates", type=int, default=0, help="number of updates between request and response")
    session.add_argument("--update-after", action="store_true", help="update after the response")
    session.add_argument("--delay", type=float, default=0, help="seconds until the response")
    session.add_argument("--end", choices=ENDS, default="wait", help="steps after the last response")
    answers = parser.add_argument_group("answers")
    answers.add_argument("--status", type=lambda text: int(text, 0), help="refuse with this status")
    answers.add_argument("--more-members", action="store_true", help="add unknown members to responses")
    answers.add_argument("--answer-bytes", type=int, default=0, help="pad the response to this size")
    Answers.add_arguments(answers)
    return parser.parse_args(words)


class Authenticator:
    """Authenticator that follows the protocol, with the variants of its options."""

    def __init__(self, options, text):
        self.options = options
        self.inspection = Inspection(options.inspect)
        self.inspection.links = bool(options.link)
        self.phone = None
        if text:
            self.phone = phones.Phone(text, options.relay, options.ca, options.domain, self.inspection)
        self.encode = cbor.loose if options.loose else cbor.canonical
        kept = {}
        if options.keys and os.path.exists(options.keys):
            with open(options.keys) as file:
                kept = json.load(file)
        self.answers = Answers(options, ctap.Passkeys(options.aaguid, kept), self.encode)
        self.served = []

    def listen(self):
        """Waits for wake-ups and serves their client; returns the end of the last session."""
        link = linking.PhoneLink.load(self.options.listen)
        listener = linking.Listener(link.contact_key, link.host, self.options.relay, self.options.ca)
        print("listening", file=sys.stderr, flush=True)
        for _ in range(self.options.sign_ins):
            while not (accepted := link.accepts((wake := listener.wake(300)).payload)):
                print("ignored", file=sys.stderr, flush=True)
            # Stored before the user is asked, so that it cannot be repeated.
            link.save(self.options.listen)
            print(f"asked {accepted[1]}", file=sys.stderr, flush=True)
            if self.options.tap == "never":
                time.sleep(300)
            if self.options.tap == "no":
                listener.decline(wake)
                end = "declined"
                continue
            self.phone = phones.LinkedPhone(link, wake, *accepted, self.options.relay, self.options.ca, self.inspection)
            end = self.run()
        listener.close()
        return end

    def run(self):
        """Serves one client and returns the end of the session."""
        self.phone.open_tunnel()
        transmitter = radio.Radio(self.options.adapter)
        with ExitStack() as on_air:
            on_air.callback(transmitter.close)
            message1 = self.advertise(transmitter, on_air)
            if not self.options.stay_on_air:
                on_air.close()
            return self.serve(message1)

    def serve(self, message1):
        self.phone.shake_hands(message1, PADDINGS[self.options.padding])
        self.introduce()
        while (request := self.phone.next_request()) is not None:
            answer = self.answer(request)
            self.served.append({"command": request[0], "status": answer[0]})
            for number in range(self.options.late_updates):
                self.phone.send(bytes([channel.UPDATE]) + self.encode({0: bytes(number)}))
            time.sleep(self.options.delay)
            self.phone.send(bytes([channel.CTAP]) + answer)
            # The client has its response and may have closed already; its shutdown message can still be read.
            with suppress(TunnelFailed):
                self.say_after()
            if self.options.end == "drop":
                self.phone.tunnel.drop()
                return "dropped"
            if self.options.end not in ("wait", "linger"):
                self.phone.tunnel.close()
                return "closed"
        if self.options.end == "linger":
            # Fails when the client closes, which ends the wait.
            self.phone.tunnel.receive(30)
        self.phone.tunnel.close()
        return "goodbye"

    def say_after(self):
        """Performs the steps between the last response and the end of the session."""
        if self.options.update_after:
            self.phone.send(channel.update())
        if self.options.end.endswith("goodbye"):
            behind = b"over" if self.options.end == "long-goodbye" else b""
            self.phone.send(bytes([channel.SHUTDOWN]) + behind)

    def advertise(self, transmitter, on_air):
        """Advertises at least until the client's first message arrives, and returns that message."""
        data = self.phone.advert + bytes.fromhex(self.options.suffix)
        services = {radio.GOOGLE if self.options.older_uuid else radio.FIDO: data}
        kind = "peripheral" if self.options.connectable else "broadcast"
        for _ in range(self.options.strangers):
            on_air.enter_context(transmitter.advertising({radio.FIDO: secrets.token_bytes(20)}))
        if self.options.other_service:
            on_air.enter_context(transmitter.advertising({radio.FAST_PAIRING: secrets.token_bytes(22)}))
        for _ in range(self.options.renew):
            with transmitter.advertising(services, kind):
                time.sleep(0.02)
        on_air.enter_context(transmitter.advertising(services, kind, list_uuids=self.options.list_uuid))
        if self.options.both_uuids:
            on_air.enter_context(transmitter.advertising({radio.GOOGLE: data}, kind))
        return self.phone.tunnel.receive(60)

    def introduce(self):
        options, members = self.options, {}
        if options.introduction:
            with open(VECTORS) as file:
                known = {phone["name"]: phone for phone in json.load(file)["post_handshake"]}
            message = bytes.fromhex(known[options.introduction]["cbor"])
            self.inspection.introduced(cbor.read(cbor.read(message)[1]))
            return self.phone.send(message)
        info = phones.information(options.aaguid)
        info[2] = [name for name in info[2] + options.lists if name not in options.lacks]
        info[4] = {name: value for name, value in info[4].items() if name not in options.lacks}
        info[4] |= {name: False for name in options.refuses}
        if options.lists_algorithm:
            info[10] = [{"alg": algorithms.BY_NAME[options.lists_algorithm], "type": "public-key"}]
        if options.lists_format:
            info[22] = options.lists_format
        if options.more_info:
            info |= {5: 1200, 8: 64, 10: [{"alg": -7, "type": "public-key"}, {"alg": -300, "type": "public-key"}]}
            info |= {14: 42, 22: {"later": [1]}, 99: None}
            info[1] += ["FIDO_2_3", "U2F_V2"]
            info[4] |= {"up": True, "plat": False, "jsonMessages": True, "perCredMgmtRO": False}
        if options.features is not None:
            members["features"] = json.loads(options.features)
        if options.link_first:
            members["linking"] = self.phone.link()
        if options.first_padding is not None:
            members["more"] = {0: bytes(options.first_padding), 77: "later"}
        phones.introduce(self.phone, info, self.encode, **members)
        if options.link:
            link = linking.PhoneLink.new(options.domain)
            fields = link.information(options.name, self.phone.offer.client_key, self.phone.handshake_hash)
            if options.wrong_link:
                fields[6] = bytes(32)
            link.save(options.link)
            self.phone.send(channel.update(fields))
        if options.update == "empty":
            self.phone.send(channel.update())
        elif options.update == "link":
            self.phone.send(channel.update({**self.phone.link(), 999: True}, size=1024))
        elif options.update == "unknown":
            self.phone.send(bytes([channel.UPDATE]) + self.encode({7: ["later"], "text": 1}))

    def answer(self, request):
        """Returns status and body, and stores new passkeys."""
        answer = self.answers.answer(request)
        if self.options.keys:
            with open(self.options.keys, "w") as file:
                json.dump(self.answers.passkeys.kept, file)
        return answer


def main():
    options = arguments()
    authenticator = Authenticator(options, None if options.listen else sys.stdin.readline().strip())
    try:
        end = authenticator.listen() if options.listen else authenticator.run()
    except TunnelFailed as error:
        if not authenticator.served:
            sys.exit(f"authenticator.py: {error}")
        end = f"code {error.code}"
    except (radio.RadioFailed, HandshakeFailed, channel.ChannelFailed) as error:
        sys.exit(f"authenticator.py: {error}")
    print(json.dumps({"served": authenticator.served, "end": end}))
    for fault in authenticator.inspection.faults:
        print(f"fault: {fault}", file=sys.stderr)
    sys.exit(3 if authenticator.inspection.faults else 0)


if __name__ == "__main__":
    main()
