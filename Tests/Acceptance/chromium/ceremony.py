# SPDX-License-Identifier: Apache-2.0
"""Runs one scenario in the browser and on the phone and collects its results; `verdict` checks them."""
import re
import time
from dataclasses import dataclass, field

from harness.relying_party import ACCOUNT, Refused
from harness.waiting import Failed
from scenarios import Registered

MECHANISMS, CODE, CLOSED = "kMechanismSelection", "kCableV2QRCode", "kClosed"


@dataclass
class Outcome:
    """Results of a ceremony."""
    page: dict = field(default_factory=dict)
    facts: dict = field(default_factory=dict)
    refused: str | None = None
    steps: list = field(default_factory=list)
    had_vault: bool = False
    # True if the account has a passkey that a new one replaces.
    replaces: bool = False
    # Number of accounts that a sign-in can choose from.
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
    def __init__(self, name, scenario, env, tab=None):
        """Uses the window's first tab by default."""
        self._name = name
        self._scenario = scenario
        self._env = env
        self._tab = tab or env.browser.tab
        self._waiting = env.waiting
        self._steps_before = len(env.browser.steps())
        self._dialogues_before = len(env.phone.dialogues())
        self._challenge = ""
        self._page = None
        self._read, self._answered = 0.0, 0.0

    def perform(self):
        env, scenario, outcome = self._env, self._scenario, Outcome()
        outcome.had_vault = env.phone.has_vault
        account = scenario.options.get("account", ACCOUNT)
        outcome.replaces = (isinstance(scenario.outcome, Registered) and scenario.outcome.is_discoverable
                            and env.site.has_passkey(account))
        outcome.accounts = env.site.accounts if scenario.options.get("allow") == "any" else 1
        outcome.records_before = env.phone.records()
        begun, ended = self._advert_calls()

        code = self.ask(outcome)
        if scenario.phone_status is None:
            env.screen.press_until("Escape", "Escape to close the sheet with the code", self._answer, 120)
            self._take_in(outcome)
        else:
            self.answer(code, outcome)
        self._waiting.until("Chromium's dialog to close", lambda: self._at(CLOSED), 60)
        outcome.steps = self._steps()
        if scenario.failure.mends:
            scenario.failure.mends(env)
        outcome.dialogues = env.phone.dialogues()[self._dialogues_before:]
        outcome.records_after = env.phone.records()
        outcome.adverts_left = env.radio.adverts()
        outcome.adverts_begun, outcome.adverts_ended = (
            now - before for now, before in zip(self._advert_calls(), (begun, ended)))
        return outcome

    def ask(self, outcome):
        """Starts the page's request; returns the text of the code that Chromium shows."""
        site = self._env.site
        make = site.creation_options if self._scenario.ceremony == "create" else site.request_options
        self._note("begins")
        options = make(**self._scenario.options)
        self._challenge = options["challenge"]
        self._tab.perform(self._scenario.ceremony, options)
        asked = time.monotonic()
        code = self._code()
        self._read = time.monotonic()
        outcome.seconds_to_code = self._read - asked
        self._note("code read", seconds_to_code=round(outcome.seconds_to_code, 3))
        return code

    def _take_in(self, outcome):
        """Waits for the page's result."""
        outcome.page = self._page
        outcome.seconds_to_result = self._answered - self._read
        self._note("page answered", outcome=self._page, seconds_to_result=round(outcome.seconds_to_result, 3))
        self._verify(outcome)

    def answer(self, code, outcome, at_once=lambda: None):
        """Scans the code with the phone; returns when the phone has ended and the page has its result.

        `at_once` is called when the page has its result; the phone may still run then.
        """
        scenario, failure = self._scenario, self._scenario.failure
        if failure.before_scan:
            failure.before_scan(self._env)
        if failure.script:
            phone = self._env.phone.play(code, failure.script, self._name)
        else:
            phone = self._env.phone.scan(code, scenario.person, self._name)
        try:
            if failure.when_asked:
                self._waiting.until("the phone to ask its user", lambda: self._asked_or_end(phone), 120)
                failure.when_asked(self._env)
            if failure.user_closes:
                self._close(phone)
            else:
                self._waiting.until("the page to get its result", lambda: self._answer_or_end(phone), 180)
            self._take_in(outcome)
            at_once()
            self._waiting.until(f"{phone.name} to end after the page got its result",
                                lambda: phone.status is not None, 120)
        finally:
            outcome.phone_status, outcome.phone_said = phone.status, phone.said()
            self._env.complaints += phone.stop()

    def _close(self, phone):
        """Closes the dialog, which shows the same as when the phone was connected."""
        self._waiting.until(f"{phone.name} to end", lambda: phone.status is not None, 120)
        self._waiting.until(f"Chromium's dialog to go through {self._scenario.steps}", self._is_as_before_the_end, 60)
        if self._answer():
            raise Failed(f"the page has a result although the dialog was not closed: {self._page}")
        self._note("user closes the dialog", steps=self._steps())
        self._env.screen.press_until("Escape", "Escape to close the dialog", self._answer, 120)

    def _is_as_before_the_end(self):
        return re.fullmatch(self._scenario.steps, " ".join([*self._steps(), CLOSED]))

    def _asked_or_end(self, phone):
        if phone.status is not None:
            raise Failed(f"{phone.name} {phone.ending} before it asked its user; output: {phone.said().strip()}")
        return self._env.phone.asks_more_than(self._dialogues_before)

    def _answer_or_end(self, phone):
        """Returns the page's result; fails early if the phone ended with an unexpected status."""
        status = phone.status
        answer = self._answer()
        if not answer and status is not None and status != self._scenario.phone_status:
            raise Failed(f"{phone.name} {phone.ending} and the page has no result; output: {phone.said().strip()}")
        return answer

    def _code(self):
        """Returns the text of the QR code, once Chromium shows it."""
        def is_shown():
            if self._answer():
                raise Failed(f"the page had a result before a code was shown: {self._page}")
            step = self._last_step()
            return step if step in (MECHANISMS, CODE) else None

        if self._waiting.until("Chromium to show a code, or a choice of mechanisms", is_shown, 120) == MECHANISMS:
            # The first row, which has the focus, is "use a phone or tablet".
            self._env.screen.press_until("Return", "Return to choose the phone", lambda: self._at(CODE), 120)
        picture, old = self._env.folder.path(f"code-{self._name}.png"), self._env.codes

        def new_code():
            # The sheet of the previous ceremony may still be fading out.
            code = self._env.screen.code(picture)
            return code if code not in old else None

        code = self._waiting.until("a picture of the screen with a new readable code", new_code, 120)
        old.add(code)
        return code

    def _verify(self, outcome):
        if outcome.page["event"] != "fulfilled":
            return
        site = self._env.site
        verify = site.verify_creation if self._scenario.ceremony == "create" else site.verify_request
        try:
            outcome.facts = verify(outcome.page["response"], self._challenge)
        except Refused as error:
            outcome.refused = str(error)
        else:
            if self._scenario.failure.script:
                site.forget(outcome.facts["id"])

    def _answer(self):
        for said in self._tab.heard():
            if said["event"] in ("fulfilled", "rejected", "ready"):
                self._page, self._answered = said, time.monotonic()
        return self._page

    def _advert_calls(self):
        return tuple(self._env.radio.calls(m) for m in ("RegisterAdvertisement", "UnregisterAdvertisement"))

    def _steps(self):
        return self._env.browser.steps()[self._steps_before:]

    def _last_step(self):
        steps = self._steps()
        return steps[-1] if steps else None

    def _at(self, step):
        return self._last_step() == step

    def _note(self, step, **details):
        self._env.journal.note(f"{self._name}: {step}", **details)
