# SPDX-License-Identifier: Apache-2.0
"""One function per case; each raises Failed, or returns nothing or a note."""
import os
import shutil
import time

from environment import LAPTOP, PHONE
from harness.command import REPOSITORY
from harness.programs import Program, brief
from harness.waiting import Failed
from questions import ACCOUNT, ACCOUNTS, BOB, GROUPS, KINDS, NEW_PIN, PIN, RECOVERY_CODE, ask

DECLINED = {"answer": 1, "decline": True}


def check(is_so, what):
    if not is_so:
        raise Failed(what)


def every_kind(env, name):
    """A screen reader knows every part of every question, and every control has a name."""
    for kind, (question, text, agree) in KINDS.items():
        with env.open(f"{name}-{kind}") as sheet:
            sheet.send(ask(1, question))
            sheet.until_named("button", agree, without=("insensitive",))
            sheet.picture()
            found = sheet.elements()
            names = [one[1] for one in found]
            check(text in names, f"{kind}: expected {text!r}, found {names}")
            unnamed = [one for one in found if "focusable" in one[2] and not one[1]
                       and one[0] not in ("list", "scroll pane")]
            check(not unnamed, f"{kind}: without a name: {unnamed}")
            for one in found:
                if one[0] in ("button", "toggle button") and one[1] in (agree, "Decline", "Cancel", "Don't Link"):
                    check(one[3][3] >= 44, f"{kind}: the button {one[1]} is {one[3][3]} pixels high")


def order(env, name):
    """Site, question and account follow each other."""
    with env.open(name) as sheet:
        sheet.send(ask(1, ACCOUNT))
        sheet.until_named("button", "Sign In")
        names = [one[1] for one in sheet.elements()]
        places = [names.index(text) for text in ("example.com", "Sign in as this account?", '"ada@example.com"')]
        check(places == sorted(places), f"the order is {names}")
        check(sheet.find("heading", "example.com"), "the site is not a heading")


def sign_in(env, name):
    """PIN, account and the end, by taps and keys."""
    with env.open(name, screen=PHONE) as sheet:
        sheet.send({"state": "tunnel-open"}, {"state": "asked"})
        sheet.send(ask(1, PIN))
        sheet.until_named("button", "Continue", without=("insensitive",))
        sheet.type("4711")
        sheet.tap("button", "Continue")
        sheet.until_answered({"answer": 1, "pin": "4711"})
        sheet.until_named("label", "One moment…")
        sheet.picture("-waiting")
        sheet.send(ask(2, ACCOUNT))
        sheet.tap("button", "Sign In")
        sheet.until_answered({"answer": 1, "pin": "4711"}, {"answer": 2, "account": 0})
        # After the end, "Done" is shown for a moment only.
        sheet.send({"state": "answered"}, {"state": "done"})
        sheet.until_named("label", "Done")
        sheet.picture("-done")
        sheet.send({"end": "done"})
        check(sheet.until_ended() == 0, f"hybrid-ask ended with {sheet.status}")


def second_account(env, name):
    with env.open(name, screen=PHONE) as sheet:
        sheet.send(ask(1, ACCOUNTS))
        sheet.until_named("radio button", '"ada@example.com"', "checked")
        sheet.tap("radio button", '"bob"')
        sheet.until_named("radio button", '"bob"', "checked")
        sheet.tap("button", "Sign In")
        sheet.until_answered({"answer": 1, "account": 1})


def keyboard(env, name):
    """Everything works without a mouse."""
    with env.open(name) as sheet:
        sheet.send(ask(1, PIN))
        sheet.until_named("button", "Continue", without=("insensitive",))
        sheet.type("4711")
        sheet.press("Return")
        sheet.until_answered({"answer": 1, "pin": "4711"})
        sheet.send(ask(2, ACCOUNTS))
        sheet.until_named("button", "Sign In", without=("insensitive",))
        sheet.press("Down")
        sheet.until_named("radio button", '"bob"', "checked")
        for _ in range(10):
            if "focused" in sheet.find("button", "Sign In")[2]:
                break
            sheet.press("Tab")
        sheet.press("space")
        sheet.until_answered({"answer": 1, "pin": "4711"}, {"answer": 2, "account": 1})


def declines(env, name):
    """Escape, the close button and the button are one answer."""
    ways = {"escape": lambda sheet: sheet.press("Escape"), "close": lambda sheet: sheet.press("alt+F4"),
            "button": lambda sheet: sheet.tap("button", "Decline"), "cross": lambda sheet: sheet.tap_cross()}
    for way, decline in ways.items():
        with env.open(f"{name}-{way}") as sheet:
            sheet.send(ask(1, PIN))
            sheet.until_named("button", "Decline")
            decline(sheet)
            sheet.until_answered(DECLINED)
            sheet.until_hidden()
            sheet.send({"end": "declined"})
            check(sheet.until_ended() == 0, f"{way}: hybrid-ask ended with {sheet.status}")


def half_second(env, name):
    """A key that was meant for another window does nothing."""
    with env.open(name) as sheet:
        # Enter does not answer a question for a PIN.
        sheet.send(ask(1, PIN))
        sheet.until_open()
        began = time.monotonic()
        sheet.send(ask(2, ACCOUNT))
        sheet.screen.press("Return")
        if time.monotonic() - began > 0.4:
            return "not checked: the machine is too busy"
        sheet.until_named("button", "Sign In", without=("insensitive",))
        check(sheet.answers == [], f"an immediate Enter has answered {sheet.answers}")
        sheet.press("Return")
        sheet.until_answered({"answer": 2, "account": 0})


def markup(env, name):
    """Names are shown as text."""
    with env.open(name) as sheet:
        names = ["<b>bold</b>", "&amp;", "a\u202eb", "x" * 10_000, "two\nlines"]
        accounts = [{"name": one, "displayName": f"<i>{one}</i>"} for one in names]
        sheet.send(ask(1, {**ACCOUNTS, "accounts": accounts, "computer": "<u>c</u>"}))
        for one in ('"bbold/b"', '"amp;"', '"ab"', '"twolines"'):
            sheet.until_named("radio button", one)
        sheet.picture()


def wrong_pin(env, name):
    with env.open(name, screen=PHONE) as sheet:
        sheet.send(ask(1, {**PIN, "problem": {"code": "wrong", "attemptsLeft": 2}, "finger": True}))
        sheet.until_named("alert", "Wrong PIN. 2 attempts are left before a delay.")
        sheet.until_named("button", "Continue", without=("insensitive",))
        sheet.picture()
        sheet.press("Return")
        sheet.until_named("alert", "Type the PIN.")
        sheet.send({"notice": "finger-not-matched", "message": "m"})
        sheet.until_named("label", "The finger did not match.")
        sheet.send({"withdraw": 1, "because": "touched"})
        sheet.until_named("label", "Fingerprint recognized")
        check(sheet.answers == [], f"found the answers {sheet.answers}")


def new_pin(env, name):
    """Both fields are compared, and Enter leads from one to the other."""
    with env.open(name, screen=PHONE) as sheet:
        sheet.send(ask(1, NEW_PIN))
        sheet.until_named("button", "Set PIN", without=("insensitive",))
        sheet.type("4711\n4712\n")
        sheet.until_named("alert", "The two PINs differ.")
        sheet.picture()
        sheet.type("4711\n")
        sheet.until_answered({"answer": 1, "pin": "4711"})


def recovery_code(env, name):
    """The code counts as written down once two of its groups are typed."""
    with env.open(name, screen=PHONE) as sheet:
        sheet.send(ask(1, RECOVERY_CODE))
        sheet.until_named("label", f"1  {GROUPS[0]}")
        sheet.tap("button", "Written Down")
        sheet.until_named("button", "Show the Code Again")
        sheet.until_named("button", "Continue", without=("insensitive",))
        sheet.picture()
        asked = [int(one[1].split()[1]) for one in sheet.elements() if one[0] == "text" and one[1].startswith("Group ")]
        check(len(asked) == 2 and asked[0] < asked[1], f"expected two groups, found {asked}")
        check(not any(group in one[1] for group in GROUPS for one in sheet.elements()), "the code is still shown")
        sheet.type(f"{GROUPS[asked[0] - 1].lower()}\nwrong\n")
        sheet.until_named("alert", f"That is not group {asked[1]} of the code.")
        sheet.type(f"{GROUPS[asked[1] - 1]}\n")
        sheet.until_answered({"answer": 1, "agree": True})


def computer_name(env, name):
    """A link can be named; without a name, the button alone agrees."""
    link = {"kind": "link", "relay": "cable.example", "timeout": 60}
    with env.open(name, screen=PHONE) as sheet:
        sheet.send(ask(1, link))
        sheet.tap("button", "Link")
        agreed = {"answer": 1, "agree": True}
        sheet.until_answered(agreed)
        sheet.send(ask(2, link))
        sheet.tap("text", "Name of the computer (optional)")
        sheet.until_named("text", "Name of the computer (optional)", "focused")
        # Enter agrees only then.
        sheet.until_named("button", "Link", without=("insensitive",))
        sheet.type("work laptop\n")
        sheet.until_answered(agreed, {"answer": 2, "agree": True, "name": "work laptop"})


def failure(env, name):
    """A failure stays until it is closed, also after the end of the input."""
    with env.open(name, screen=PHONE) as sheet:
        sheet.send(ask(1, PIN), {"withdraw": 1, "because": "interrupted"},
                   {"end": "failed", "code": "relay", "message": "the relay does not answer", "remedy": "try again later"})
        sheet.end_input()
        sheet.until_named("label", "The relay does not answer.")
        sheet.until_named("label", "Try again later.")
        sheet.picture()
        sheet.tap("button", "Close")
        check(sheet.until_ended() == 0 and sheet.answers == [], f"found {sheet.answers}")


def end_of_input(env, name):
    """The window disappears with hybrid-auth, and with SIGTERM."""
    with env.open(name) as sheet:
        sheet.send(ask(1, PIN))
        sheet.until_open()
        sheet.end_input()
        check(sheet.until_ended() == 0 and sheet.answers == [], f"found {sheet.answers}")
        sheet.until_hidden()


def protected(env, name):
    """Other programs of the same user can't read the memory of the program."""
    if os.getuid() != 0:
        return "left out: only root can start programs of another user"
    as_other = ["setpriv", "--reuid", "65534", "--clear-groups"]

    def can_read(process):
        # The kernel applies the same rule to the environment as to the memory.
        return brief([*as_other, "cat", f"/proc/{process}/environ"], environment=env.folder.environment(),
                     check=False).returncode == 0

    with env.open(name, ask=[*as_other, str(env.ask)]) as sheet:
        other = Program("cat", [*as_other, "cat"], log=env.folder.path("cat.log"),
                        environment=env.folder.environment(), pipe_input=True)
        try:
            sheet.waiting.until("a program of the other user to be readable", lambda: can_read(other.pid), 30)
        finally:
            env.complaints += other.stop()
        check(not can_read(sheet.pid), "the memory of hybrid-ask can be read")
        sheet.send(ask(1, PIN))
        sheet.until_open()
        sheet.type("4711")
        # Without the session bus, which belongs to root here, nothing says when the delay is over.
        sheet.screen.press_until("Return", "the answer", lambda: sheet.answers, 30)
        sheet.until_answered({"answer": 1, "pin": "4711"})
        sheet.send(ask(2, ACCOUNT))
        sheet.screen.press_until("Return", "the choice", lambda: len(sheet.answers) > 1, 30)
        sheet.until_answered({"answer": 1, "pin": "4711"}, {"answer": 2, "account": 0})


def unknown(env, name):
    """Questions of a later version are declined without a window; a flood of lines stops nothing."""
    junk = ["x" * 100_000, '{"ask":' + "[" * 5000, '{"event":"weather"}', "\x1b[2J\u202e"]
    with env.open(name) as sheet:
        sheet.send(*junk * 40, ask(1, {"kind": "dance"}), *junk * 40)
        sheet.until_answered(DECLINED)
        check(sheet.window() is None, "there is a window for an unknown question")
        sheet.send(*junk * 40, ask(2, PIN), *junk * 40)
        sheet.until_named("button", "Decline")
        sheet.send(*junk * 40)
        sheet.press("Escape")
        sheet.until_answered(DECLINED, {"answer": 2, "decline": True})


def looks(size, *, scale=1, theme="light", text=1):
    """Returns a case: questions on a screen; everything is inside it."""
    def case(env, name):
        questions = {"pin": {**PIN, "problem": {"code": "wrong", "attemptsLeft": 2}}, "accounts": ACCOUNTS,
                     "new-pin": NEW_PIN, "recovery-code": RECOVERY_CODE, "question": KINDS["question"][0],
                     "delete": KINDS["delete"][0], "warnings": {**PIN, "warnings": ["virtual-radio", "old-code"],
                                                               "codeAge": 500, "givesSecret": True, "finger": True},
                     "long-site": {**ACCOUNTS, "rpId": "sign-in.identity-provider.very-long-name.example.co.uk",
                                   "accounts": [BOB] * 12}}
        for kind, question in questions.items():
            with env.open(f"{name}-{kind}", screen=size, scale=scale, theme=theme, text=text) as sheet:
                sheet.send(ask(1, question))
                sheet.until_open()
                agree = {"pin": "Continue", "accounts": "Sign In", "new-pin": "Set PIN", "warnings": "Continue",
                         "recovery-code": "Written Down", "question": "It is the same", "delete": "Delete",
                         "long-site": "Sign In"}[kind]
                sheet.until_named("button", agree, without=("insensitive",))
                brightness = sheet.brightness()
                check(brightness < 0.4 if theme == "dark" else brightness > 0.8, f"{kind}: the brightness is {brightness}")
                left, top, width, height = sheet.area()
                check(left >= 0 and top >= 0 and left + width <= size[0] * scale and top + height <= size[1] * scale,
                      f"{kind}: the window {left, top, width, height} is not on the screen")
                for role, label, _, place in sheet.elements():
                    if role in ("button", "heading", "text"):
                        check(place[0] >= 0 and (place[0] + place[2]) * scale <= width,
                              f"{kind}: the {role} {label!r} is cut: {place}")
                    if role == "button" and label in (agree, "Decline", "Cancel"):
                        check(place[1] >= 0 and (place[1] + place[3]) * scale <= height,
                              f"{kind}: the button {label} is outside: {place}")
                if size == LAPTOP:
                    check(width <= 560 * scale, f"{kind}: the window is {width} pixels wide")

    return case


def translated(env, name):
    """The sheet speaks the user's language, with catalogs that are installed next to the program."""
    catalog = REPOSITORY / "Desktop" / "po" / "de.po"
    if not catalog.exists():
        return "left out: there is no Desktop/po/de.po"
    installed = env.folder.scratch / "installed"
    messages = installed / "share" / "locale" / "de" / "LC_MESSAGES"
    messages.mkdir(parents=True)
    (installed / "libexec").mkdir()
    program = shutil.copy(env.ask, installed / "libexec")
    brief(["msgfmt", "-o", messages / "hybrid.mo", catalog], environment=env.folder.environment())
    problem = {"code": "wrong", "attemptsLeft": 2}
    sheets = {"pin": ({**PIN, "problem": problem}, "Bei dieser Website anmelden?", "Weiter"),
              "accounts": (ACCOUNTS, "Mit welchem Konto anmelden?", "Anmelden"),
              "new-secret": (KINDS["new-secret"][0], "Wählen Sie eine Passphrase für diesen Tresor", "Passphrase festlegen")}
    for kind, (question, text, agree) in sheets.items():
        with env.open(f"{name}-{kind}", screen=PHONE, language="de_DE", ask=program) as sheet:
            sheet.send(ask(1, question))
            sheet.until_named("button", agree, without=("insensitive",))
            sheet.until_named("label", text)
            if kind == "pin":
                sheet.until_named("alert", "Falsche PIN. Noch 2 Versuche bis zu einer Wartezeit.")
            sheet.picture()
            _, _, width, height = sheet.area()
            for role, label, _, place in sheet.elements():
                if role == "button":
                    check(place[0] + place[2] <= width and place[1] + place[3] <= height, f"{label} is outside: {place}")


def start(env, name):
    """The time to the window, and the memory."""
    times, memory = [], 0
    for run in range(4):
        with env.open(f"{name}-{run}") as sheet:
            ready = time.monotonic() - sheet.started
            sheet.send(ask(1, PIN))
            sheet.waiting.until("the window", sheet.window, 30)
            times.append((ready, time.monotonic() - sheet.started))
            sheet.until_named("button", "Continue", without=("insensitive",))
            memory = max(memory, sheet.memory)
    ready, mapped = (sorted(one)[len(one) // 2] for one in zip(*times))
    return f"ready after {ready:.2f} s, window after {mapped:.2f} s, {memory:.0f} MiB"


CASES = {
    "start": start,
    "sign-in": sign_in,
    "order": order,
    "second-account": second_account,
    "keyboard": keyboard,
    "declines": declines,
    "half-second": half_second,
    "markup": markup,
    "wrong-pin": wrong_pin,
    "new-pin": new_pin,
    "recovery-code": recovery_code,
    "computer-name": computer_name,
    "failure": failure,
    "end-of-input": end_of_input,
    "protected": protected,
    "unknown": unknown,
    "every-kind": every_kind,
    "translated": translated,
    "phone": looks(PHONE),
    "phone-2x": looks(PHONE, scale=2),
    "phone-dark": looks(PHONE, theme="dark"),
    "phone-large-text": looks(PHONE, text=2),
    "laptop": looks(LAPTOP),
    "laptop-dark": looks(LAPTOP, theme="dark"),
    "laptop-large-text": looks(LAPTOP, text=2),
}
