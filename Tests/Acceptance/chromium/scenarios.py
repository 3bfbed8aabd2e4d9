# SPDX-License-Identifier: Apache-2.0
"""The ceremonies: what is asked for, how the person answers, and what must come of it. One entry each."""
from collections.abc import Callable
from dataclasses import dataclass, field

from phone import Person
from relying_party import ACCOUNT, RP_ID

VIRTUAL = "VIRTUAL RADIO: no proximity proof"
# Sources/HybridAuthenticator/Authenticator.swift. Chromium passes it on under attestation "none".
AAGUID = "9d1c6f3a-5e42-4b8e-8a57-2f0bc461d370"
ES256 = -7
UP, UV, BE, BS, AT = 0x01, 0x04, 0x08, 0x10, 0x40
# In the place of 32 bytes that nobody can foretell.
SECRET = "a secret"


@dataclass(frozen=True)
class Asked:
    """A dialogue that the person must have had: its first line alone, texts below it, and what was asked."""
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
    """What is asked instead of USE where there are several accounts; the last that was made comes first."""
    return confirms(f'Sign in as this account? (1 of {count})\n"{ACCOUNT}"')


# What is asked instead of SAVE where the account has a passkey.
REPLACE = confirms(f'Replace the passkey of this account by a new one?\nThe old is deleted for ever.\n"{ACCOUNT}"')


@dataclass(frozen=True)
class Registered:
    """The page gets a new credential."""
    format: str = "none"
    is_discoverable: bool = True
    # The vault is not backed up: BE, not BS.
    flags: int = UP | UV | BE | AT
    extensions: dict = field(default_factory=lambda: {"credProps": {"rk": True}})


@dataclass(frozen=True)
class SignedIn:
    """The page gets an assertion by the credential that was registered last."""
    # A phone that was given a list of credentials does not say whose the one it used is; Chromium adds nothing.
    tells_user: bool
    flags: int = UP | UV | BE
    extensions: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Rejected:
    """The page's promise is rejected."""
    error: str


@dataclass(frozen=True)
class Gone:
    """There is no promise any more: the page is another."""


@dataclass(frozen=True)
class Mishap:
    """What goes wrong on the way, besides what the person says."""
    # Played by hybrid-lab phone, in the place of hybrid-auth.
    script: str | None = None
    # Done to the stage when the code is read and the phone has yet to begin, and once its person is asked.
    before_scan: Callable | None = None
    when_asked: Callable | None = None
    # Done afterwards, for the ceremonies that follow.
    mends: Callable | None = None
    # The dialog stays when the phone has ended, in the last of its states, until the user closes it.
    user_closes: bool = False


@dataclass(frozen=True)
class Scenario:
    ceremony: str
    # The dialog's states by Chromium's names, as a regular expression over them, one blank between two.
    steps: str
    outcome: object
    options: dict = field(default_factory=dict)
    person: Person = Person()
    dialogues: tuple = ()
    # None: nobody scans the code; Escape is pressed instead.
    phone_status: int | None = 0
    needs_passkey: bool = False
    mishap: Mishap = Mishap()
    # How many the phone puts on the air, if one scans the code.
    adverts: int = 1
    # What the phone's last line has in it.
    phone_says: str = ""

    @property
    def makes_passkey(self):
        """Whether the vault has a passkey more afterwards."""
        return isinstance(self.outcome, Registered) and not self.mishap.script


# "Connecting" stays on the screen for at least 1.25 s; "connected" follows only if the phone has not answered by then.
ANSWERED = "kCableV2QRCode kCableV2Connecting( kCableV2Connected)? kClosed"

SCENARIOS = {
    "register": Scenario(
        "create", ANSWERED, Registered(), dialogues=(CREATE, SAVE)),
    "login": Scenario(
        "get", ANSWERED, SignedIn(tells_user=False), dialogues=(SIGN_IN, USE), needs_passkey=True),
    "login-discoverable": Scenario(
        "get", ANSWERED, SignedIn(tells_user=True), {"allow": "any"}, dialogues=(SIGN_IN, USE), needs_passkey=True),
    "register-excluded": Scenario(
        "create", ANSWERED, Rejected("InvalidStateError"), {"exclude_known": True},
        dialogues=(CREATE, is_told("There is a passkey for this site already")), phone_status=77,
        needs_passkey=True),
    # A site that wants to know what made the passkey: the new key's own word for it.
    "register-packed": Scenario(
        "create", ANSWERED, Registered(format="packed"), {"attestation": "direct", "account": "carol@example.com"},
        dialogues=(CREATE, save("carol@example.com"))),
    # One that only answers who names it; it takes no other's place. Chromium lets the user choose the way then, as it
    # might be kept on a security key.
    "register-nonresident": Scenario(
        "create", f"kMechanismSelection {ANSWERED}", Registered(is_discoverable=False, extensions={"credProps": {"rk": False}}),
        {"resident_key": "discouraged", "account": "dan@example.com"}, dialogues=(CREATE, save("dan@example.com"))),
    "register-prf": Scenario(
        "create", ANSWERED, Registered(extensions={"credProps": {"rk": True}, "prf": {"enabled": True}}),
        {"extensions": {"credProps": True, "prf": {}}}, dialogues=(CREATE, SAVE)),
    "login-prf": Scenario(
        "get", ANSWERED, SignedIn(tells_user=False, extensions={"prf": {"results": {"first": SECRET}}}),
        {"extensions": {"prf": {"eval": {"first": "c2FsdA"}}}}, dialogues=(SIGN_IN, USE), needs_passkey=True),
    "login-unknown": Scenario(
        "get", ANSWERED, Rejected("NotAllowedError"), {"allow": "unknown"},
        dialogues=(SIGN_IN, is_told("None of the passkeys here is one that this site asks for.")), phone_status=77),
    "login-cancel": Scenario(
        "get", "kCableV2QRCode kClosed", Rejected("NotAllowedError"), {"allow": "any"}, phone_status=None),
    "login-declined": Scenario(
        "get", ANSWERED, Rejected("NotAllowedError"), person=Person(answer="no"), dialogues=(SIGN_IN, USE),
        phone_status=77, needs_passkey=True),
}
