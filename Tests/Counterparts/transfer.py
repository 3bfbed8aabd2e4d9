#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Independent receiver and giver of passkeys; each fault breaks one rule.

  transfer.py receive (--relay HOST:PORT --ca FILE | --pipe HASH) [--join] [options]
  transfer.py give (--relay HOST:PORT --ca FILE | --pipe HASH) [options] < text of the code

A receiver prints the text of its code first. Both print JSON, one value a line: {"digits", "peer"} when the digits are known, and at
the end {"end", ...} with what arrived or was confirmed. With --ask, a line `yes` on standard input is needed after the digits. With
--pipe, there is no channel: messages are lines on standard input and output, HASH is the handshake hash in hexadecimal, and
the JSON is on standard error. Exit status: 0; 1 if the session failed.
"""
import argparse, hashlib, json, os, secrets, signal, sys, time
from contextlib import contextmanager, suppress

import channel, radio, transfer_messages as messages, transfer_wire
from noise import HandshakeFailed
from transfer_messages import Binding, Sealing, TransferFailed, expect
from tunnel import TunnelFailed
from website import from_base64url, to_base64url

RECEIVER_FAULTS = (
    "wrong-sha", "wrong-id", "doubled-id", "no-ids", "wrong-commitment", "wrong-nonce", "other-version", "other-purpose",
    "malformed", "oversized", "early-accept", "unoffered", "low-order-key", "other-suite", "refuse-full", "refuse-digits",
)
GIVER_FAULTS = (
    "doubled-item", "other-passkey", "malformed-cxf", "too-many", "oversized", "long-payload", "early-offer", "wrong-index",
    "wrong-last", "other-binding", "endless", "repeated-batch", "other-version", "early-done", "malformed", "refuse-declined",
)
# A giver that keeps all rules but the last: the receiver has everything, and never learns that the giver knows.
SILENT_END = "silent-end"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("role", choices=["receive", "give"])
    parser.add_argument("--relay")
    parser.add_argument("--ca")
    parser.add_argument("--domain", type=int, default=266)
    parser.add_argument("--adapter", default="hci1")
    parser.add_argument("--pipe", metavar="HASH", type=bytes.fromhex)
    parser.add_argument("--name", default="Counterpart")
    parser.add_argument("--vault", metavar="ID", type=bytes.fromhex, default=secrets.token_bytes(16), help="ID")
    parser.add_argument("--ask", action="store_true", help="wait for a line `yes` after the digits")
    parser.add_argument("--fault", choices=(*RECEIVER_FAULTS, *GIVER_FAULTS, SILENT_END))
    parser.add_argument("--die", metavar="before:TYPE|after:TYPE", help="end without a word at a message that is sent")
    parser.add_argument("--join", action="store_true", help="receive: join a vault")
    parser.add_argument("--which", type=lambda text: [int(part) for part in text.split(",")], help="receive: indices")
    parser.add_argument("--passkeys", metavar="FILE", help="receive: where to write them; give: where they are")
    parser.add_argument("--new", metavar="N", type=int, default=1, help="give: number of new passkeys, without --passkeys")
    parser.add_argument("--move", action="store_true", help="give: say that passkeys are removed")
    parser.add_argument("--key", type=bytes.fromhex, default=b"a vault's key", help="give: for a device that joins")
    return parser.parse_args()


class Lines:
    """Messages as lines, in place of a channel."""

    def __init__(self, handshake_hash):
        self.handshake_hash = handshake_hash

    def send_object(self, value):
        print(json.dumps(value), flush=True)

    def send_body(self, body):
        print(body.decode(), flush=True)

    def next_object(self):
        line = sys.stdin.readline()
        return json.loads(line) if line.strip() else None

    def say_goodbye(self):
        pass


class Side:
    """What both sides do alike."""

    def __init__(self, wire, options):
        self.wire, self.options, self.fault = wire, options, options.fault
        self.nonce = secrets.token_bytes(32)

    def send(self, kind, **members):
        if self.options.die == f"before:{kind}":
            os.kill(os.getpid(), signal.SIGKILL)
        self.wire.send_object({"type": kind, **members})
        if self.options.die == f"after:{kind}":
            os.kill(os.getpid(), signal.SIGKILL)

    def next(self, kind):
        message = self.wire.next_object()
        if message is None:
            raise TransferFailed("closed", "the other side ended the session")
        if message.get("type") == "refused":
            raise TransferFailed("refused", message.get("reason"))
        expect(message.get("type") == kind, f"{message.get('type')} in place of {kind}")
        return message

    def break_in(self):
        """Sends what no message is."""
        if self.fault == "malformed":
            self.wire.send_body(b'{"type":"hello","type":"hello"}')
        elif self.fault == "oversized":
            self.wire.send_body(b'{"type":"hello"}' + b" " * ((1 << 20) - 40))

    def show(self, binding, peer):
        say({"digits": binding.digits, "peer": {"name": peer["name"], "vault": peer["vault"]}}, self.options)
        if self.options.ask and sys.stdin.readline().strip() != "yes":
            self.send("refused", reason="digits")
            raise TransferFailed("digits", "the digits differ")

    def fingerprint(self):
        return f"{int.from_bytes(hashlib.sha256(self.options.vault).digest()[:5], 'big') % 10000:04d}"

    @property
    def version(self):
        return 2 if self.fault == "other-version" else 1


class Receiver(Side):
    """Receives passkeys, or the key of a vault."""

    def __init__(self, wire, options):
        super().__init__(wire, options)
        self.purpose = "join" if options.join else "give"
        self.passkeys, self.material = [], None

    def run(self):
        binding = self.greet()
        if self.fault == "early-accept":
            self.send("accept", request=messages.request(messages.new_key()))
        offer = self.next("offer")
        if self.fault in ("refuse-full", "refuse-digits"):
            self.send("refused", reason=self.fault.removeprefix("refuse-"))
            raise TransferFailed("refused", "here")
        self.receive(offer, binding)
        self.next("done")
        return {"end": "done", "offer": offer, **self.found()}

    def found(self):
        """Returns what has arrived."""
        found = {"ids": [passkey["credentialId"] for passkey in self.passkeys]}
        return found if self.material is None else {**found, "key": self.material.hex()}

    def greet(self):
        self.break_in()
        asked = {"give": "join", "join": "give"}[self.purpose] if self.fault == "other-purpose" else self.purpose
        committed = secrets.token_bytes(32) if self.fault == "wrong-commitment" else messages.commitment(self.nonce)
        vault = self.fingerprint() if asked == "give" else ""
        self.send(
            "hello", version=self.version, purpose=asked, name=self.options.name, vault=vault,
            commitment=to_base64url(committed),
        )
        hello = self.next("hello")
        expect(hello["version"] == 1, "another version", "version")
        binding = Binding(self.wire.handshake_hash, self.nonce, from_base64url(hello["nonce"]))
        tag = {} if asked == "join" else {"vault": to_base64url(binding.vault_tag(self.options.vault))}
        shown = secrets.token_bytes(32) if self.fault == "wrong-nonce" else self.nonce
        self.send("reveal", nonce=to_base64url(shown), **tag)
        self.show(binding, hello)
        return binding

    def receive(self, offer, binding):
        private = messages.new_key()
        asked = messages.request(private)
        if self.fault == "low-order-key":
            asked["hpke"][0]["key"]["x"] = to_base64url(bytes(32))
        if self.fault == "other-suite":
            asked["hpke"][0]["aead"] = 3
        which = [len(offer["items"])] if self.fault == "unoffered" else self.options.which
        self.send("accept", **({} if which is None else {"which": which}), request=asked)
        sealing, index, last = Sealing(self.purpose, binding.bytes), 0, False
        while not last:
            items = self.next("items")
            payload, last = sealing.open(items, index, private), items["last"]
            index += 1
            self.store(payload)

    def store(self, payload):
        ids = []
        if self.purpose == "join":
            self.material = payload
        else:
            new = messages.passkeys_of(payload)
            ids = [passkey["credentialId"] for passkey in new]
            known = {passkey["credentialId"] for passkey in self.passkeys}
            self.passkeys += [passkey for passkey in new if passkey["credentialId"] not in known]
            if self.options.passkeys:
                with open(self.options.passkeys, "w") as file:
                    json.dump(self.passkeys, file)
        digest = hashlib.sha256(payload).digest()
        if self.fault == "wrong-sha":
            digest = bytes(32)
        if self.fault == "wrong-id":
            ids = [to_base64url(b"another"), *ids[1:]]
        if self.fault == "doubled-id":
            ids += ids[:1]
        if self.fault == "no-ids":
            ids = []
        self.send("stored", ids=ids, sha256=to_base64url(digest))


class Giver(Side):
    """Gives passkeys, or the key of its vault."""

    def __init__(self, wire, options, purpose):
        super().__init__(wire, options)
        self.purpose = purpose
        self.confirmed = []

    def run(self):
        binding = self.greet()
        if self.fault == "refuse-declined":
            self.send("refused", reason="declined")
            raise TransferFailed("refused", "here")
        if self.purpose == "join":
            self.send("offer", vault=self.fingerprint(), passkeys=1)
            accepted = self.next("accept")
            items = Sealing("join", binding.bytes).seal(self.options.key, 0, True, accepted["request"])
            self.confirm(items, self.options.key, [])
        else:
            self.give(binding)
        if self.fault == SILENT_END:
            time.sleep(3600)
        self.send("done")
        return {"end": "done", **self.found()}

    def found(self):
        """Returns what was confirmed."""
        return {"ids": self.confirmed}

    def greet(self):
        hello = self.next("hello")
        expect(hello["version"] == 1, "another version", "version")
        expect(hello["purpose"] == self.purpose, "another purpose", "purpose")
        expect((hello["vault"] == "") == (self.purpose == "join"), "a vault where none may be, or none")
        self.break_in()
        if self.fault == "early-offer":
            self.send("offer", items=[{"rpId": "example.com", "user": "ada"}], bytes=1, move=False)
        self.send(
            "hello", version=self.version, name=self.options.name, vault=self.fingerprint(), nonce=to_base64url(self.nonce)
        )
        reveal = self.next("reveal")
        nonce = from_base64url(reveal["nonce"])
        expect(messages.commitment(nonce) == from_base64url(hello["commitment"]), "a nonce that was not committed to")
        binding = Binding(self.wire.handshake_hash, nonce, self.nonce)
        same = to_base64url(binding.vault_tag(self.options.vault))
        expect(reveal.get("vault") != same, "the same vault", "same-vault")
        self.show(binding, hello)
        return binding

    def give(self, binding):
        if self.options.passkeys:
            with open(self.options.passkeys) as file:
                passkeys = json.load(file)
        else:
            passkeys = [messages.new_passkey("example.com", f"user {n}", n) for n in range(self.options.new)]
        labels = [messages.label(passkey) for passkey in passkeys]
        self.send("offer", items=labels, bytes=len(messages.document(passkeys)), move=self.options.move)
        accepted = self.next("accept")
        chosen = [passkeys[index] for index in accepted["which"]] if "which" in accepted else passkeys
        expect(chosen and all(index >= 0 for index in accepted.get("which", [])), "no passkey is accepted")
        fault = self.fault
        if fault == "other-passkey":
            chosen = [messages.new_passkey("bank.example", "mallory", 1)]
        if fault == "early-done":
            return
        purpose = "join" if fault == "other-binding" else "give"
        sealing, parts = Sealing(purpose, binding.bytes), messages.batches(chosen, 65 if fault == "too-many" else 64)
        if fault == "doubled-item":
            parts = [part + part[:1] for part in parts]
        if fault == "repeated-batch":
            parts = [parts[0], *parts]
        if fault == "endless":
            parts = [parts[0]] * 5000
        for index, part in enumerate(parts):
            payload = messages.document(part)
            if fault == "malformed-cxf":
                payload = payload.replace(b'"accounts"', b'"account"')
            if fault == "long-payload":
                payload += b" " * messages.LONGEST_PAYLOAD
            last = index == len(parts) - 1
            items = sealing.seal(payload, index, last, accepted["request"])
            if fault == "wrong-index":
                items["index"] += 1
            if fault == "wrong-last":
                items["last"] = not last
            self.confirm(items, payload, [passkey["credentialId"] for passkey in part])

    def confirm(self, items, payload, ids):
        self.send("items", **items)
        stored = self.next("stored")
        expect(from_base64url(stored["sha256"]) == hashlib.sha256(payload).digest(), "another payload is stored")
        doubled = len(set(stored["ids"])) != len(stored["ids"])
        expect(not doubled and set(stored["ids"]) <= set(ids), "passkeys are stored that were not sent")
        self.confirmed += stored["ids"]


def say(value, options):
    print(json.dumps(value), flush=True, file=sys.stderr if options.pipe else sys.stdout)


@contextmanager
def ending(wire):
    """Ends the session in any case."""
    try:
        yield
    finally:
        # The other side may have ended the session before.
        with suppress(TunnelFailed):
            wire.say_goodbye()
            wire.tunnel.close()


@contextmanager
def receiving(options):
    """Shows a code, and yields the receiver of the session that answers it."""
    wire = transfer_wire.ReceiverWire(options.relay, options.ca, "join" if options.join else "give")
    listener = radio.Radio(options.adapter)
    with listener.scanning():
        print(wire.text, flush=True)
        wire.hear(listener)
    listener.close()
    wire.join()
    wire.shake_hands()
    with ending(wire):
        yield Receiver(wire, options)


@contextmanager
def giving(options):
    """Reads a code, and yields the giver of its session."""
    wire = transfer_wire.GiverWire(sys.stdin.readline().strip(), options.relay, options.ca, options.domain)
    wire.open_tunnel()
    transmitter = radio.Radio(options.adapter)
    with transmitter.advertising({radio.FIDO: wire.advert}):
        message1 = wire.tunnel.receive(60)
    transmitter.close()
    wire.shake_hands(message1)
    with ending(wire):
        yield Giver(wire, options, wire.code.purpose)


@contextmanager
def piped(options):
    lines = Lines(options.pipe)
    receives = options.role == "receive"
    yield Receiver(lines, options) if receives else Giver(lines, options, "join" if options.join else "give")


def perform(side):
    """Performs a transfer; returns how it ended, and if it was complete."""
    try:
        return side.run(), True
    except TransferFailed as failure:
        if failure.reason in ("malformed", "version", "purpose", "same-vault"):
            side.send("refused", reason=failure.reason)
        return {"end": failure.reason, "why": str(failure), **side.found()}, False
    except TunnelFailed as failure:
        return {"end": "closed", "why": str(failure), **side.found()}, False


def main():
    options = arguments()
    session = piped if options.pipe else receiving if options.role == "receive" else giving
    try:
        with session(options) as side:
            result, is_complete = perform(side)
            say(result, options)
    except (TunnelFailed, radio.RadioFailed, HandshakeFailed, channel.ChannelFailed) as error:
        sys.exit(f"transfer.py: {error}")
    sys.exit(0 if is_complete else 1)


if __name__ == "__main__":
    main()
