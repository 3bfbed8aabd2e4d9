# SPDX-License-Identifier: Apache-2.0
"""Passkeys for a person nearby, over Bluetooth alone: nothing goes through the relay.

Each case runs in its own guest, as those of channels.py do.
"""
import base64
import json
import shutil

from bluez import run
from channels import check, expect_no_channels, names
from environment import PINENTRY, PROGRAMS, USER, ReportingProgram, as_user
from harness.exchange_file import exchange_document
from harness.programs import brief
from harness.relay import DOMAIN

# Seconds for a transfer with an emulated processor.
LONG = 600


class Device:
    """A device with a vault and a state of its own."""

    def __init__(self, env, name):
        self.env, self.name = env, name
        self.vault = env.folder / name / "vault"
        brief(as_user("mkdir", "-p", self.vault.parent), environment=env.environment)

    def _command(self, *words):
        return ["env", f"XDG_STATE_HOME={self.vault.parent / 'state'}", PROGRAMS / "hybrid-auth", *words, "--vault", self.vault,
                "--pinentry", PINENTRY]

    def start(self, *words, text=None):
        """Starts a command that talks to another device."""
        program = ReportingProgram(self.env, f"{self.name}-{words[0]}", self._command(
            *words, "--json", "--ble-channel", "--name", self.name, *self.env.network), text)
        self.env.programs.append(program)
        return program

    def receive(self, *words):
        return self.start(*(words or ("receive",)), "--adapter", "hci0")

    def give(self, code, *options):
        return self.start("give", *options, "-", "--adapter", "hci1", "--tunnel-domain", DOMAIN, text=code + "\n")

    def run(self, *words):
        return brief(as_user(*self._command(*words)), environment=self.env.environment, seconds=LONG).stdout

    def with_passkeys(self, count):
        """Creates the vault, with passkeys that share a key, because an emulated processor makes keys slowly."""
        self.run("vault", "init")
        if count:
            pem = self.env.folder / f"{self.name}.pem"
            run(f"openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out {pem}")
            # PEM is PKCS #8 in base64; as DER, genpkey writes another format.
            key = base64.b64decode("".join(pem.read_text().splitlines()[1:-1]))
            file = self.env.folder / f"{self.name}.json"
            accounts = [f"user{number:03}@example.com" for number in range(count)]
            file.write_text(json.dumps(exchange_document("example.com", accounts, lambda: key)))
            shutil.chown(file, USER, USER)
            self.run("import", file)
        return self

    @property
    def passkeys(self):
        found = json.loads(self.run("passkeys", "list", "--json"))["passkeys"]
        check(len({passkey["credentialId"] for passkey in found}) == len(found), f"expected no passkey twice in {self.name}")
        return sorted(passkey["userName"] for passkey in found)


def transferred(env, giving, receiving):
    """Checks that both ended well, without the relay; returns the times."""
    statuses = giving.ended(LONG), receiving.ended(LONG)
    check(statuses == (0, 0), f"expected both to succeed; found {statuses}: {giving.sentence}; {receiving.sentence}")
    check("connected-by-bluetooth" in names(receiving), f"expected a connection over Bluetooth; found {names(receiving)}")
    check("connecting" not in names(receiving), f"expected no connection to the relay; found {names(receiving)}")
    check(any(event.get("channel") == "bluetooth" for event in giving.events),
          f"expected the giver to report Bluetooth; found {giving.events}")
    digits = [program.until("show the digits", event="state", state="digits")["digits"] for program in (giving, receiving)]
    check(digits[0] == digits[1], f"expected the same digits; found {digits}")
    check("VIRTUAL RADIO" not in giving.program.said() + receiving.program.said(), "expected a real radio")
    expect_no_channels(env)


def result(program):
    return json.loads(program.output.read_text(encoding="utf-8"))


def given(count, *options):
    """Gives all passkeys: a copy of them, or with --move."""
    def case(env):
        giver, receiver = Device(env, "old").with_passkeys(count), Device(env, "new").with_passkeys(0)
        before = giver.passkeys
        receiving = receiver.receive()
        giving = giver.give(receiving.until("show a code", event="qr")["text"], "--all", *options)
        transferred(env, giving, receiving)
        deleted = count if "--move" in options else 0
        check((result(giving)["given"], result(giving)["deleted"], result(receiving)["added"]) == (count, deleted, count),
              f"expected {count} given and {deleted} deleted passkeys; found {result(giving)} and {result(receiving)}")
        check(giver.passkeys == before[deleted:] and receiver.passkeys == before,
              f"expected all of them there, and {count - deleted} here")
        # The last event with a count.
        last = [event for event in giving.events if event.get("state") == "stored"][-1]
        return f"{last['count']} of {last['of']} passkeys, the last stored {last['elapsed_ms']} ms after the scan"
    return case


def joined(env):
    old, new = Device(env, "old").with_passkeys(1), Device(env, "new")
    joining = new.receive("vault", "join", "--nearby")
    giving = old.give(joining.until("show a code", event="qr")["text"])
    check(giving.ended(LONG) == 0, f"expected the old device to succeed; found {giving.sentence}")
    joining.until("wait for the files", event="state", state="waiting-for-files")
    brief(as_user("cp", "-rT", old.vault, new.vault), environment=env.environment)
    transferred(env, giving, joining)
    check(result(joining)["complete"] and result(joining)["key"] == result(giving)["key"],
          f"expected the same key; found {result(joining)} and {result(giving)}")
    check(new.passkeys == old.passkeys, "expected the same passkeys on both devices")
    return "a device joined the vault"


CASES = {"ble-give": given(1), "ble-move": given(200, "--move"), "ble-join": joined}
