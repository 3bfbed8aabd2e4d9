# SPDX-License-Identifier: Apache-2.0
"""Performs one scenario in the browser and at the phone, and collects what came of it. Judging it is done elsewhere."""
import time
from dataclasses import dataclass, field

from relying_party import ACCOUNT, Refused
from scenarios import Registered
from waiting import Failed

MECHANISMS, CODE, CLOSED = "kMechanismSelection", "kCableV2QRCode", "kClosed"


@dataclass
class Outcome:
    """All that a ceremony left behind."""
    page: dict = field(default_factory=dict)
    facts: dict = field(default_factory=dict)
    refused: str | None = None
    steps: list = field(default_factory=list)
    had_vault: bool = False
    # Whether the account has a passkey whose place a new one takes.
    replaces: bool = False
    # How many accounts a sign-in can choose from.
    accounts: int = 1
    dialogues: list = field(default_factory=list)
    phone_status: int | None = None
    phone_said: str = ""
    records_before: dict = field(default_factory=dict)
    records_after: dict = field(default_factory=dict)
    adverts_begun: int = 0
    adverts_ended: int = 0
    adverts_left: list = field(default_factory=list)
    seconds_to_code: float = 0.0
    seconds_to_result: float = 0.0


class Ceremony:
    def __init__(self, name, scenario, stage):
        self._name = name
        self._scenario = scenario
        self._stage = stage
        self._waiting = stage.waiting
        self._steps_before = len(stage.browser.steps())
        self._page = None
        self._answered = 0.0

    def perform(self):
        stage, scenario, outcome = self._stage, self._scenario, Outcome()
        outcome.had_vault = stage.phone.has_vault
        account = scenario.options.get("account", ACCOUNT)
        outcome.replaces = (isinstance(scenario.outcome, Registered) and scenario.outcome.is_discoverable
                            and stage.site.has_passkey(account))
        outcome.accounts = stage.site.accounts if scenario.options.get("allow") == "any" else 1
        outcome.records_before = stage.phone.records()
        dialogues_before = len(stage.phone.dialogues())
        begun, ended = self._advert_calls()

        make = stage.site.creation_options if scenario.ceremony == "create" else stage.site.request_options
        self._note("begins")
        stage.browser.perform(scenario.ceremony, make(**scenario.options))
        asked = time.monotonic()
        code = self._code()
        read = time.monotonic()
        outcome.seconds_to_code = read - asked
        self._note("code read", seconds_to_code=round(outcome.seconds_to_code, 3))

        if scenario.phone_status is None:
            stage.screen.press_until("Escape", "Escape to close the sheet with the code", self._answer, 120)
        else:
            self._answer_by_phone(code, outcome)
        outcome.page = self._page
        outcome.seconds_to_result = self._answered - read
        self._note("page answered", outcome=self._page, seconds_to_result=round(outcome.seconds_to_result, 3))

        self._waiting.until("Chromium's dialog to be closed", lambda: self._at(CLOSED), 60)
        outcome.steps = self._steps()
        outcome.dialogues = stage.phone.dialogues()[dialogues_before:]
        outcome.records_after = stage.phone.records()
        outcome.adverts_left = stage.air.adverts()
        outcome.adverts_begun, outcome.adverts_ended = (
            now - before for now, before in zip(self._advert_calls(), (begun, ended)))
        self._verify(outcome)
        return outcome

    def _answer_by_phone(self, code, outcome):
        """The phone scans the code; when this returns it has ended, and the page has its answer."""
        scenario = self._scenario
        phone = self._stage.phone.scan(code, scenario.person, self._name)
        try:
            self._waiting.until("the page to get its answer", lambda: self._answer_or_end(phone), 180)
            self._waiting.until("hybrid-auth to end after the page had its answer",
                                lambda: phone.status is not None, 120)
        finally:
            outcome.phone_status, outcome.phone_said = phone.status, phone.said()
            self._stage.complaints += phone.stop()

    def _answer_or_end(self, phone):
        """The page's answer; a phone that has ended with another status than it should makes it pointless to wait."""
        status = phone.status
        answer = self._answer()
        if not answer and status is not None and status != self._scenario.phone_status:
            raise Failed(f"hybrid-auth {phone.ending} and the page has no answer; it said: {phone.said().strip()}")
        return answer

    def _code(self):
        """The text of the QR code, once Chromium shows it."""
        def is_shown():
            if self._answer():
                raise Failed(f"the page had an answer before a code was shown: {self._page}")
            step = self._last_step()
            return step if step in (MECHANISMS, CODE) else None

        if self._waiting.until("Chromium to show a code, or a choice of ways", is_shown, 120) == MECHANISMS:
            # The first row, which has the focus, is "use a phone or tablet".
            self._stage.screen.press_until("Return", "Return to choose the phone", lambda: self._at(CODE), 120)
        picture, old = self._stage.folder.path(f"code-{self._name}.png"), self._stage.codes

        def new_code():
            # The sheet of the ceremony before may still be fading out.
            code = self._stage.screen.code(picture)
            return code if code not in old else None

        code = self._waiting.until("a picture of the screen with a readable code that is new", new_code, 120)
        old.add(code)
        return code

    def _verify(self, outcome):
        if outcome.page["event"] != "fulfilled":
            return
        site = self._stage.site
        verify = site.verify_creation if self._scenario.ceremony == "create" else site.verify_request
        try:
            outcome.facts = verify(outcome.page["response"])
        except Refused as error:
            outcome.refused = str(error)

    def _answer(self):
        for said in self._stage.browser.heard():
            if said["event"] in ("fulfilled", "rejected"):
                self._page, self._answered = said, time.monotonic()
        return self._page

    def _advert_calls(self):
        return tuple(self._stage.air.calls(m) for m in ("RegisterAdvertisement", "UnregisterAdvertisement"))

    def _steps(self):
        return self._stage.browser.steps()[self._steps_before:]

    def _last_step(self):
        steps = self._steps()
        return steps[-1] if steps else None

    def _at(self, step):
        return self._last_step() == step

    def _note(self, step, **details):
        self._stage.journal.note(f"{self._name}: {step}", **details)
