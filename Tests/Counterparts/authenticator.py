#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A phone of hybrid transport that is not ours; each option is something that real phones do.

  authenticator.py --relay HOST:PORT --ca FILE [--keys FILE] [quirks] < text of the code

Approves everything. Standard output has one JSON line at the end: the requests served and how the session ended.
Ends with 0; with 1 if the session failed; with 3 if --inspect found faults in what the desktop sent, one on each
line of standard error. The radio is BlueZ on the bus that DBUS_SYSTEM_BUS_ADDRESS names.
"""
import argparse, json, os, secrets, sys, time
from contextlib import ExitStack

import cbor, channel, ctap, phone as phones, radio
from inspection import Inspection
from noise import HandshakeFailed
from tunnel import TunnelFailed

AAGUID = bytes.fromhex("c0ffee00000040008000000000000001")
VECTORS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Vectors", "vectors.json")
PADDINGS = {"usual": channel.pad, "before-type": channel.pad_before_type, "least": channel.pad_least}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--relay", required=True)
    parser.add_argument("--ca", required=True)
    parser.add_argument("--domain", type=int, default=266)
    parser.add_argument("--adapter", default="hci1")
    parser.add_argument("--keys", help="a JSON file where passkeys are kept")
    parser.add_argument("--inspect", action="store_true", help="check all that the desktop sends")
    air = parser.add_argument_group("the advert")
    air.add_argument("--suffix", default="", help="hexadecimal bytes behind the twenty")
    air.add_argument("--older-uuid", action="store_true", help="advertise under Google's UUID")
    air.add_argument("--connectable", action="store_true", help="an advert that can be connected to")
    air.add_argument("--list-uuid", action="store_true", help="the UUID in a list of its own as well")
    air.add_argument("--strangers", type=int, default=0, help="other phones' adverts on the air as well")
    air.add_argument("--renew", type=int, default=0, help="how often the advert stops and starts, as addresses rotate")
    first = parser.add_argument_group("the first message")
    first.add_argument("--introduction", help="send that real phone's first message, by its name in the vectors")
    first.add_argument("--features", help="JSON of key 3; null leaves it out")
    first.add_argument("--first-padding", type=int, help="bytes under key 0")
    first.add_argument("--link-first", action="store_true", help="a link under key 2")
    first.add_argument("--more-info", action="store_true", help="members in getInfo that are new or unknown")
    session = parser.add_argument_group("the session")
    session.add_argument("--padding", choices=PADDINGS, default="usual")
    session.add_argument("--loose", action="store_true", help="CBOR that is not canonical")
    session.add_argument("--update", choices=["empty", "link", "unknown"], help="an update right behind the first")
    session.add_argument("--late-updates", type=int, default=0, help="updates between request and answer")
    session.add_argument("--delay", type=float, default=0, help="seconds until the answer")
    session.add_argument("--end", choices=["wait", "close", "goodbye"], default="wait", help="what follows an answer")
    answers = parser.add_argument_group("answers")
    answers.add_argument("--status", type=lambda text: int(text, 0), help="refuse with this status")
    answers.add_argument("--attestation", choices=["none", "packed"], default="none")
    answers.add_argument("--more-members", action="store_true", help="members of answers that are unknown")
    answers.add_argument("--answer-bytes", type=int, default=0, help="fill the answer up to this size")
    answers.add_argument("--no-credential", action="store_true", help="leave it out, as it was the only one listed")
    return parser.parse_args()


class Authenticator:
    """A phone that behaves, with the quirks of its arguments."""

    def __init__(self, options, text):
        self.options = options
        self.inspection = Inspection(options.inspect)
        self.phone = phones.Phone(text, options.relay, options.ca, options.domain, self.inspection)
        self.encode = cbor.loose if options.loose else cbor.canonical
        kept = {}
        if options.keys and os.path.exists(options.keys):
            with open(options.keys) as file:
                kept = json.load(file)
        self.passkeys = ctap.Passkeys(AAGUID, kept)
        self.served = []

    def run(self):
        """Serves one desktop and tells how it ended."""
        self.phone.open_tunnel()
        message1 = self.advertise()
        self.phone.shake_hands(message1, PADDINGS[self.options.padding])
        self.introduce()
        while (request := self.phone.next_request()) is not None:
            answer = self.answer(request)
            self.served.append({"command": request[0], "status": answer[0]})
            for number in range(self.options.late_updates):
                self.phone.send(bytes([channel.UPDATE]) + self.encode({0: bytes(number)}))
            time.sleep(self.options.delay)
            self.phone.send(bytes([channel.CTAP]) + answer)
            if self.options.end == "goodbye":
                self.phone.send(bytes([channel.SHUTDOWN]))
            if self.options.end != "wait":
                self.phone.tunnel.close()
                return "closed"
        self.phone.tunnel.close()
        return "goodbye"

    def advertise(self):
        """Is on the air until the desktop's first message has come."""
        data = self.phone.advert + bytes.fromhex(self.options.suffix)
        services = {radio.GOOGLE if self.options.older_uuid else radio.FIDO: data}
        transmitter = radio.Radio(self.options.adapter)
        kind = "peripheral" if self.options.connectable else "broadcast"
        with ExitStack() as others:
            for _ in range(self.options.strangers):
                others.enter_context(transmitter.advertising({radio.FIDO: secrets.token_bytes(20)}))
            for _ in range(self.options.renew):
                with transmitter.advertising(services, kind):
                    time.sleep(0.02)
            with transmitter.advertising(services, kind, list_uuids=self.options.list_uuid):
                message1 = self.phone.tunnel.receive(60)
        transmitter.close()
        return message1

    def introduce(self):
        options, members = self.options, {}
        if options.introduction:
            with open(VECTORS) as file:
                known = {phone["name"]: phone for phone in json.load(file)["post_handshake"]}
            return self.phone.send(bytes.fromhex(known[options.introduction]["cbor"]))
        info = phones.information(AAGUID)
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
        if options.update == "empty":
            self.phone.send(channel.update())
        elif options.update == "link":
            self.phone.send(channel.update({**self.phone.link(), 999: True}, size=1024))
        elif options.update == "unknown":
            self.phone.send(bytes([channel.UPDATE]) + self.encode({7: ["later"], "text": 1}))

    def answer(self, request):
        """Status and body."""
        if self.options.status is not None:
            return bytes([self.options.status])
        parameters = cbor.read(request[1:])
        if request[0] == ctap.MAKE_CREDENTIAL:
            if self.passkeys.matching(parameters[2]["id"], parameters.get(5, [])) and parameters.get(5):
                return bytes([ctap.CREDENTIAL_EXCLUDED])
            members = self.make(parameters)
        elif request[0] == ctap.GET_ASSERTION:
            found = self.passkeys.matching(parameters[1], parameters.get(3, []))
            if not found:
                return bytes([ctap.NO_CREDENTIALS])
            members = self.use(found[-1], parameters)
        else:
            return bytes([ctap.INVALID_COMMAND])
        if self.options.more_members:
            members |= {77: "later", 78: {"x": [None, b"", {}]}}
        if self.options.answer_bytes:
            members[255] = b""
            # Five bytes of length instead of one, and the status.
            members[255] = bytes(self.options.answer_bytes - len(self.encode(members)) - 5)
        return bytes([ctap.SUCCESS]) + self.encode(members)

    def make(self, parameters):
        data, signature = self.passkeys.make(secrets.token_bytes(20), parameters)
        if self.options.keys:
            with open(self.options.keys, "w") as file:
                json.dump(self.passkeys.kept, file)
        if self.options.attestation == "packed":
            return {1: "packed", 2: data, 3: {"alg": ctap.ES256, "sig": signature}}
        return {1: "none", 2: data, 3: {}}

    def use(self, identifier, parameters):
        data, signature = self.passkeys.use(identifier, parameters[2])
        members = {1: ctap.descriptor(bytes.fromhex(identifier)), 2: data, 3: signature}
        if self.options.no_credential:
            del members[1]
        if 3 not in parameters:
            members[4] = {"id": self.passkeys.user(identifier), "name": "", "displayName": ""}
            members[6] = True
        return members


def main():
    options = arguments()
    authenticator = Authenticator(options, sys.stdin.readline().strip())
    try:
        end = authenticator.run()
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
