# SPDX-License-Identifier: Apache-2.0
"""Two overlapping sign-ins: the results of both pages and phones, and the sequence of the dialogs."""
import re
from collections.abc import Callable
from dataclasses import dataclass

from ceremony import CLOSED, Ceremony, Outcome
from scenarios import ANSWERED, SIGN_IN, USE, Scenario, SignedIn

LOGIN = Scenario("get", ANSWERED, SignedIn(), {"allow": "any"}, dialogues=(SIGN_IN, USE))


@dataclass(frozen=True)
class Overlap:
    """Two sign-ins at a time with an existing passkey; `perform` runs them and sets their results."""
    perform: Callable
    # States of both dialogs, as in a scenario.
    steps: str
    needs_passkey: bool = True
    makes_passkey: bool = False

    def run(self, label, env):
        """Returns both results, and the errors found."""
        steps_before, adverts_before = len(env.browser.steps()), env.radio.calls("RegisterAdvertisement")
        first, second = Outcome(), Outcome()
        self.perform(label, env, first, second)
        env.waiting.until("Chromium's dialog to close", lambda: env.browser.steps()[-1] == CLOSED, 60)
        first.steps = env.browser.steps()[steps_before:]
        complaints = []
        if not re.fullmatch(self.steps, " ".join(first.steps)):
            complaints.append(f"Chromium's dialogs: expected {self.steps}, found {' '.join(first.steps)}")
        for which, outcome in (("first", first), ("second", second)):
            complaints += [f"{which} sign-in: {complaint}" for complaint in self._judged(outcome)]
        left = env.radio.adverts()
        adverts = env.radio.calls("RegisterAdvertisement") - adverts_before
        if (adverts, left) != (2, []):
            complaints.append(f"expected 2 adverts and none left, found {adverts} and {left}")
        return first, second, complaints

    @staticmethod
    def _judged(outcome):
        if outcome.page["event"] != "fulfilled":
            yield f"the promise was rejected: {outcome.page}"
        elif outcome.refused:
            yield outcome.refused
        if outcome.phone_status != 0:
            yield f"hybrid-auth ended with status {outcome.phone_status}: {outcome.phone_said}"


def in_two_tabs(label, env, first, second):
    """Shows a code in each of two tabs. The one in front is scanned first, then the user goes back to the other."""
    behind = Ceremony(f"{label}-behind", LOGIN, env)
    code_behind = behind.ask(first)
    tab = env.browser.new_tab()
    tab.open(env.site.address)
    front = Ceremony(f"{label}-front", LOGIN, env, tab)
    front.answer(front.ask(second), second)
    tab.close()
    env.browser.tab.show()
    behind.answer(code_behind, first)


def twice(label, env, first, second):
    """Requests again as soon as the page has its first result."""
    one, two = Ceremony(f"{label}-one", LOGIN, env), Ceremony(f"{label}-two", LOGIN, env)
    codes = []
    one.answer(one.ask(first), first, at_once=lambda: codes.append(two.ask(second)))
    two.answer(codes[0], second)


OVERLAPS = {
    "two-tabs": Overlap(in_two_tabs, f"kCableV2QRCode {ANSWERED} kCableV2Connecting( kCableV2Connected)? kClosed"),
    "login-twice": Overlap(twice, f"{ANSWERED} {ANSWERED}"),
}
