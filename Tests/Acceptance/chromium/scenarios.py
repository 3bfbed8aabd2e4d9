# SPDX-License-Identifier: Apache-2.0
"""Ceremonies: the request, the user's behavior and the expected result. One entry each."""
from collections.abc import Callable
from dataclasses import dataclass, field

from harness.phone import Person
from harness.relying_party import ACCOUNT, RP_ID

VIRTUAL = "VIRTUAL RADIO: no proximity proof"
# Sources/Phone/Authenticator/Authenticator.swift. Chromium forwards it under attestation "none".
AAGUID = "9d1c6f3a-5e42-4b8e-8a57-2f0bc461d370"
ES256 = -7
UP, UV, BE, BS, AT, ED = 0x01, 0x04, 0x08, 0x10, 0x40, 0x80
# Placeholder for 32 bytes that cannot be predicted.
SECRET = "a secret"


@dataclass(frozen=True)
class Asked:
    """An expected dialogue: its complete first line, texts below it, and the commands for questions."""
    first_line: str
    texts: tuple
    questions: tuple


NEW_VAULT = Asked("A new vault for passkeys", ("Choose a PIN", VIRTUAL), ("GETPIN", "GETPIN"))


def pin_for(sentence):
    return Asked(RP_ID, (sentence, "Asked through the relay cable.wufkweyy3uaxb.com, with a code shown ", VIRTUAL),
                 ("GETPIN",))


def confirms(sentence):
    return Asked(RP_ID, (sentence, VIRTUAL), ("CONFIRM",))


def is_told(sentence):
    return Asked(RP_ID, (sentence, VIRTUAL), ("CONFIRM --one-button",))


CREATE, SIGN_IN = pin_for("Create a passkey for this site?"), pin_for("Sign in to this site?")


def save(account):
    return confirms(f'Save a passkey for this account?\n"{account}"')


SAVE, USE = save(ACCOUNT), confirms(f'Sign in as this account?\n"{ACCOUNT}"')


def use_first_of(count):
    """Returns the question that replaces USE if there are several accounts; the latest one comes first."""
    return confirms(f'Sign in as this account? (1 of {count})\n"{ACCOUNT}"')


# The question that replaces SAVE if the account has a passkey.
REPLACE = confirms('Replace the passkey of this account with a new one?\nThe old one is deleted '
                   f'permanently.\n"{ACCOUNT}"')


@dataclass(frozen=True)
class Registered:
    """The page gets a new credential."""
    format: str = "none"
    is_discoverable: bool = True
    # The vault is not backed up: BE, not BS. Chromium asks for credProtect of discoverable passkeys,
    # whose level is extension data.
    flags: int = UP | UV | BE | AT | ED
    extensions: dict = field(default_factory=lambda: {"credProps": {"rk": True}})


@dataclass(frozen=True)
class SignedIn:
    """The page gets an assertion by the credential that was registered last, with its user handle."""
    flags: int = UP | UV | BE
    extensions: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Rejected:
    """The page's promise is rejected."""
    error: str


@dataclass(frozen=True)
class Gone:
    """The promise is gone: the page was replaced."""


@dataclass(frozen=True)
class Failure:
    """A failure during the ceremony, besides the user's answer."""
    # Script of hybrid-lab phone, which replaces hybrid-auth.
    script: str | None = None
    # Actions on the environment: after the code is read and before the phone starts; once the phone asks its user.
    before_scan: Callable | None = None
    when_asked: Callable | None = None
    # Action that restores the environment for later ceremonies.
    mends: Callable | None = None
    # The dialog keeps its last state when the phone has ended, until the user closes it.
    user_closes: bool = False


@dataclass(frozen=True)
class Scenario:
    ceremony: str
    # States of the dialog, as Chromium names them: a regular expression, with one space between two.
    steps: str
    outcome: object
    options: dict = field(default_factory=dict)
    person: Person = Person()
    dialogues: tuple = ()
    # None: no phone scans the code; Escape is pressed instead.
    phone_status: int | None = 0
    needs_passkey: bool = False
    failure: Failure = Failure()
    # Number of adverts, if a phone scans the code.
    adverts: int = 1
    # Text in the phone's last line.
    phone_says: str = ""

    @property
    def makes_passkey(self):
        """True if the vault has one more passkey afterwards."""
        return isinstance(self.outcome, Registered) and not self.failure.script


# "Connecting" is shown for at least 1.25 s; "connected" follows only if the phone has not responded by then.
ANSWERED = "kCableV2QRCode kCableV2Connecting( kCableV2Connected)? kClosed"

SCENARIOS = {
    "register": Scenario(
        "create", ANSWERED, Registered(), dialogues=(CREATE, SAVE)),
    "login": Scenario(
        "get", ANSWERED, SignedIn(), dialogues=(SIGN_IN, USE), needs_passkey=True),
    "login-discoverable": Scenario(
        "get", ANSWERED, SignedIn(), {"allow": "any"}, dialogues=(SIGN_IN, USE), needs_passkey=True),
    "register-excluded": Scenario(
        "create", ANSWERED, Rejected("InvalidStateError"), {"exclude_known": True},
        dialogues=(CREATE, is_told("This device already has a passkey for this site")), phone_status=77,
        needs_passkey=True),
    # A site that requests the authenticator's identity: self attestation with the new key.
    "register-packed": Scenario(
        "create", ANSWERED, Registered(format="packed"), {"attestation": "direct", "account": "carol@example.com"},
        dialogues=(CREATE, save("carol@example.com"))),
    # A passkey that is not discoverable; it replaces no other. Chromium then lets the user choose the mechanism,
    # because a security key could hold such a passkey.
    "register-nonresident": Scenario(
        "create", f"kMechanismSelection {ANSWERED}", Registered(
            is_discoverable=False, flags=UP | UV | BE | AT, extensions={"credProps": {"rk": False}}),
        {"resident_key": "discouraged", "account": "dan@example.com"}, dialogues=(CREATE, save("dan@example.com"))),
    "register-prf": Scenario(
        "create", ANSWERED, Registered(extensions={"credProps": {"rk": True}, "prf": {"enabled": True}}),
        {"extensions": {"credProps": True, "prf": {}}}, dialogues=(CREATE, SAVE)),
    "login-prf": Scenario(
        "get", ANSWERED, SignedIn(extensions={"prf": {"results": {"first": SECRET}}}),
        {"extensions": {"prf": {"eval": {"first": "c2FsdA"}}}}, dialogues=(SIGN_IN, USE), needs_passkey=True),
    "login-unknown": Scenario(
        "get", ANSWERED, Rejected("NotAllowedError"), {"allow": "unknown"},
        dialogues=(SIGN_IN, is_told("This device has no passkey that this site accepts.")), phone_status=77),
    "login-cancel": Scenario(
        "get", "kCableV2QRCode kClosed", Rejected("NotAllowedError"), {"allow": "any"}, phone_status=None),
    "login-declined": Scenario(
        "get", ANSWERED, Rejected("NotAllowedError"), person=Person(answer="no"), dialogues=(SIGN_IN, USE),
        phone_status=77, needs_passkey=True),
}
