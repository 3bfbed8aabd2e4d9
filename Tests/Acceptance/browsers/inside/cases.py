# SPDX-License-Identifier: Apache-2.0
"""The cases, which both browsers pass."""
import time

from browser_environment import LONG
from harness.phone import Person
from harness.waiting import must, poll
from site_server import unknown_ids

# Seconds in which no further window may open after the end of a request.
QUIET = 10
# Memory in MiB that no process of a browser may ever take.
MOST_MEMORY = 1500


class Request:
    """A request of the page for a credential, from its start to its result."""

    def __init__(self, env, tab, ceremony, options):
        self._env, self._tab, self.options = env, tab, options
        self._windows, self._said, self.message = env.prompts.count, [], ""
        self._errors = env.browser.errors() if env.kind == "chromium" else 0
        env.site.case = f"{env.kind}: {env.case}"
        self.begun = time.monotonic()
        tab.perform(ceremony, options)
        self.asked, self.seconds_to_window = time.monotonic(), None

    def window(self):
        """Waits for the window with the code; returns it."""
        prompt = self._env.next_prompt()
        self.seconds_to_window = time.monotonic() - self.asked
        return prompt

    def confirmed(self, person=Person()):
        """Waits for the window, and for the phone's answer; returns the window."""
        prompt = self.window()
        self._env.ended(self._env.scan(prompt, person), LONG)
        return prompt

    def result(self):
        """Waits for the page's result."""
        self._env.waiting.until("the page to get its result", self._heard, LONG)
        return self._said[0]

    def _heard(self):
        self._said += [said for said in self._tab.heard() if said["event"] in ("fulfilled", "rejected")]
        return self._said

    def succeeds(self):
        """Waits for the page's credential, which the judges check after the run; returns its ID."""
        said = self.result()
        must(said["event"] == "fulfilled", f"expected a credential; the page got {said}")
        self._env.site.record(self.options, said["response"])
        return said["response"]["id"]

    def fails(self, *errors):
        """Waits for the page's error, which must be one of these; returns its name.

        Chromium shows a message, or waits for another key after an error of this one: its dialog is closed here.
        """
        if self._env.kind == "chromium":
            env = self._env
            env.waiting.until("the page to get its result, or Chromium an error of the key",
                              lambda: self._heard() or env.browser.errors() > self._errors, LONG)
            env.screen.press_until("Escape", "the page to get its result", self._heard, LONG)
            self.message = env.browser.steps()[-2]
        said = self.result()
        must(said.get("error") in errors, f"expected {' or '.join(errors)}; the page got {said}")
        return f"{said['error']}{f', Chromium at {self.message}' if self.message else ''}"

    def opened(self, count):
        """Expects this number of windows in all, also for a while after the end."""
        poll(lambda: self._env.prompts.count > self._windows + count, QUIET, pause=0.2)
        found = self._env.prompts.count - self._windows
        must(found == count, f"expected {count} windows; {found} have opened")


def create(env, exclude=()):
    return Request(env, env.tab, "create", env.site.creation_options(exclude))


def get(env, allow=(), tab=None, **more):
    return Request(env, tab or env.tab, "get", env.site.request_options(allow, **more))


def register(env):
    request = create(env, exclude=unknown_ids(3))
    window = request.confirmed()
    request.succeeds()
    request.opened(1)
    must(window.request["rp_id"] == "example.com", f"expected the name of the site; the window shows {window.request}")
    return f"window after {request.seconds_to_window:.1f} s; exclude list of three"


def registered_already(env):
    request = create(env, exclude=[*unknown_ids(2), env.credential])
    request.confirmed()
    error = request.fails("InvalidStateError", "NotAllowedError")
    request.opened(1)
    return f"{error}; the third of the exclude list is the phone's"


def sign_in(env):
    request = get(env, [*unknown_ids(2), env.credential])
    request.confirmed()
    must(request.succeeds() == env.credential, "expected the credential of the phone")
    request.opened(1)
    return f"window after {request.seconds_to_window:.1f} s; the third of three IDs is the phone's"


def sign_in_without_list(env):
    request = get(env)
    request.confirmed()
    must(request.succeeds() == env.credential, "expected the credential of the phone")
    return f"window after {request.seconds_to_window:.1f} s"


def sign_ins(env):
    """Many sign-ins, one after another, in one browser, whose memory must stay bounded."""
    seconds, memory = [], [env.browser.program.peak_memory()]
    for number in range(env.runs):
        # Each hybrid-key may open three windows in a minute.
        if number % 3 == 0:
            env.new_key()
        request = get(env, [*unknown_ids(2), env.credential])
        window = request.confirmed()
        must(request.succeeds() == env.credential, "expected the credential of the phone")
        env.gone(window)
        seconds.append(request.seconds_to_window)
        memory.append(env.browser.program.peak_memory())
        must(memory[-1] < MOST_MEMORY, f"expected less than {MOST_MEMORY} MiB in each process of the browser; found "
                                       f"{memory[-1]:.0f} after sign-in {number + 1}")
    seconds.sort()
    return (f"{len(seconds)} of {env.runs}; window after {seconds[0]:.1f} to {seconds[-1]:.1f} s, "
            f"median {seconds[len(seconds) // 2]:.1f} s; "
            f"largest process {memory[0]:.0f} MiB before, {memory[-1]:.0f} MiB after")


def declined(env):
    request = get(env, [*unknown_ids(2), env.credential])
    window = request.confirmed(Person(answer="no"))
    error = request.fails("NotAllowedError")
    request.opened(1)
    env.gone(window)
    return f"{error}; no other window"


def window_closed(env):
    request = get(env, [env.credential])
    window = request.window()
    window.answer("cancel")
    error = request.fails("NotAllowedError")
    request.opened(1)
    env.gone(window)
    return f"{error}; no other window"


def cancelled(env):
    """The user cancels in the browser while the code is shown."""
    request = get(env, [*unknown_ids(2), env.credential])
    window = request.window()
    env.cancel()
    error = request.fails("NotAllowedError", "AbortError")
    seconds = env.gone(window)
    request.opened(1)
    return f"{error}; the window closed after {seconds:.1f} s"


def aborted(env):
    """The page aborts while the phone asks its user."""
    request = get(env, [env.credential])
    window = request.window()
    dialogues = len(env.phone.dialogues())
    phone = env.scan(window, Person(answer="never"))
    env.waiting.until("the phone to ask its user", lambda: len(env.phone.dialogues()) > dialogues, LONG)
    env.tab.evaluate("controller.abort()")
    error = request.fails("AbortError", "NotAllowedError")
    seconds = env.gone(window)
    env.ended(phone, LONG)
    request.opened(1)
    return f"{error}; the window closed after {seconds:.1f} s"


def app_id(env):
    """Sites that once had U2F keys name an AppID: phones have no such credential, but the site's others work."""
    request = get(env, [*unknown_ids(2), env.credential], extensions={"appid": "https://www.example.com/keys.json"})
    request.confirmed()
    must(request.succeeds() == env.credential, "expected the credential of the phone")
    request.opened(1)
    return "one window"


def app_id_excluded(env):
    """A registration that excludes credentials of U2F keys."""
    options = env.site.creation_options(unknown_ids(3), extensions={"appidExclude": "https://www.example.com/keys.json"})
    request = Request(env, env.tab, "create", options)
    window = request.window()
    window.answer("cancel")
    error = request.fails("NotAllowedError")
    request.opened(1)
    return f"one window, which its user closed: {error}"


def two_tabs(env):
    """A second tab asks while the first waits. Firefox ends the first request; Chromium waits for its end."""
    first = get(env, [env.credential])
    window = first.window()
    tab = env.browser.new_tab()
    try:
        tab.open(env.site.address)
        tab.show()
        second = get(env, [env.credential], tab=tab)
        if env.kind == "firefox":
            ended = first.fails("NotAllowedError")
        else:
            env.ended(env.scan(window), LONG)
            first.succeeds()
            ended = "a credential"
        # The next ceremony may have begun already.
        env.waiting.until("the first window to close", lambda: window.is_gone, LONG)
        second.confirmed()
        must(second.succeeds() == env.credential, "expected the credential of the phone")
    finally:
        tab.close()
        env.tab.show()
    first.opened(2)
    return f"the first tab's request ends with {ended}, the second's with a credential"


def settings(env):
    """The browser's page about security keys opens no window."""
    windows = env.prompts.count
    tab = env.open_settings()
    try:
        poll(lambda: env.prompts.count > windows, QUIET, pause=0.2)
    finally:
        tab.close()
        env.tab.show()
    must(env.prompts.count == windows, f"expected no window; {env.prompts.count - windows} have opened")
    return "no window"


def prf(env):
    """Sites that encrypt with a passkey get a credential, but no secret: it would need hmac-secret."""
    found = []
    for ceremony, options in (
            ("create", env.site.creation_options(extensions={"prf": {}})),
            ("get", env.site.request_options(extensions={"prf": {"eval": {"first": "AAAA"}}}))):
        request = Request(env, env.tab, ceremony, options)
        request.confirmed()
        request.succeeds()
        found.append(request.result()["extensions"].get("prf"))
    secrets = [one for one in found if one and (one.get("enabled") or one.get("results"))]
    must(not secrets, f"expected no secret; found {secrets}")
    return f"prf of registration and sign-in: {found}"


CASES = {
    "register": register, "sign-in": sign_in, "sign-in-without-list": sign_in_without_list,
    "registered-already": registered_already, "declined": declined, "window-closed": window_closed,
    "cancelled": cancelled, "aborted": aborted, "appid": app_id, "appid-exclude": app_id_excluded, "two-tabs": two_tabs,
    "settings": settings, "prf": prf,
    "sign-ins": sign_ins,
}
