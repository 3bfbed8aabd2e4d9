# SPDX-License-Identifier: Apache-2.0
"""One function per case; each raises Failed, or returns nothing or a note."""
import re
import time

from environment import APPLICATION, LIMIT, PIN
from harness.programs import brief
from harness.relay import DOMAIN
from harness.waiting import must


def welcome(env, name):
    """From nothing to a vault with a recovery code: relay, PIN, code."""
    with env.open(name) as app:
        app.picture()
        app.tap("button", "Start")
        app.until_named("radio button", "Enter Its Name")
        app.tap("radio button", "Enter Its Name")
        app.tap("text", "Number or host name")
        app.type(str(DOMAIN))
        app.picture("-relay")
        app.tap("button", "Next")
        app.until_named("button", "Choose a PIN")
        app.tap("button", "Choose a PIN")
        sheet = app.sheet()
        app.until_named("button", "Set PIN", process=sheet)
        app.type(PIN)
        app.press("Tab")
        app.press("Tab")
        app.type(PIN)
        app.tap("button", "Set PIN", process=sheet)
        app.until_named("button", "Later")
        app.tap("button", "Later")
        app.until_named("button", "Scan a Code")
        app.picture("-done")


def registers(env, name, account="ada@example.com"):
    """Creates a passkey with a code in the camera; the website verifies the response."""
    options = env.site.creation_options(account=account)
    client = env.client(options)
    env.show_code(client.picture)
    with env.open(name) as app:
        app.tap("button", "Scan a Code")
        app.give_pin()
        sheet = app.sheet()
        app.until_named("label", account, process=sheet)
        app.picture("-sheet")
        app.tap("button", "Save", process=sheet)
        response = env.ended(client)
        env.site.verify_creation(response, options["challenge"])
        app.until_no_sheet()
        app.picture()


def second_account(env, name):
    """Of two accounts, the second one signs in."""
    registers(env, f"{name}-bob", "bob@example.com")
    options = env.site.request_options(allow="any")
    client = env.client(options)
    env.show_code(client.picture)
    with env.open(name) as app:
        began = time.monotonic()
        app.tap("button", "Scan a Code")
        app.give_pin()
        seconds = time.monotonic() - began
        sheet = app.sheet()
        app.until_named("radio button", "ada@example.com", process=sheet)
        app.picture("-accounts")
        app.tap("radio button", "ada@example.com", process=sheet)
        app.tap("button", "Sign In", process=sheet)
        response = env.ended(client)
        env.site.verify_request(response, options["challenge"])
        app.until_no_sheet()
    return f"{seconds:.1f} s from the tap to the PIN"


def declined(env, name):
    """Declining on the phone reaches the client as a refusal, and nothing else."""
    before = env.vault()
    client = env.client(env.site.request_options(allow="any"))
    env.show_code(client.picture)
    with env.open(name) as app:
        app.tap("button", "Scan a Code")
        sheet = app.sheet()
        app.tap("button", "Decline", process=sheet)
        env.ended(client, 77)
        app.until_no_sheet()
    must(env.vault() == before, "the vault has changed")


def wrong_pin(env, name):
    """A PIN that is wrong three times ends the request, and the app says so."""
    client = env.client(env.site.request_options(allow="any"))
    env.show_code(client.picture)
    with env.open(name) as app:
        app.tap("button", "Scan a Code")
        for _ in range(3):
            app.give_pin("000000")
        env.ended(client, 77)
        app.until_named("label", "PIN")
        app.picture()


def passkeys(env, name):
    """One PIN for a list, details, a new name and its undoing, and a deletion, which needs the PIN again."""
    with env.open(name) as app:
        app.tap("button", "Unlock Passkeys")
        app.give_pin()
        app.until_no_sheet()
        app.until_named("label", "localhost")
        app.picture()
        app.tap("label", "bob@example.com")
        app.tap("button", "Delete Passkey")
        app.give_pin()
        sheet = app.sheet()
        app.picture("-delete")
        app.tap("button", "Delete", process=sheet)
        app.until_no_sheet()
        app.until_named("label", "deleted")
    must(len(env.vault()) >= 2, "expected a passkey and the record of a deletion")


def no_camera(env, name):
    """Without a camera, and when it is unplugged, the page says so."""
    with env.open(name) as app:
        app.tap("button", "Scan a Code")
        app.until_named("label", "camera")
        app.picture()


def link(env, name):
    """A link asks first, and declining it sends nothing."""
    client = env.client(env.site.request_options(allow="any"))
    code = re.findall(r"FIDO:/\d+", client.said())[-1]
    with env.open(name) as app:
        brief(["gapplication", "launch", APPLICATION, code], environment=env.environment, check=False)
        sheet = app.sheet()
        app.until_named("label", "link", process=sheet)
        app.picture()
        app.tap("button", "Decline", process=sheet)
        app.until_no_sheet()
    must(client.status is None, "the client must still wait")


def killed(env, name):
    """Killed at each step, the sheet, hybrid-auth and the app lose nothing."""
    before = env.vault()
    for victim in ("hybrid-ask", "hybrid-auth"):
        client = env.client(env.site.request_options(allow="any"))
        env.show_code(client.picture)
        with env.open(f"{name}-{victim}") as app:
            app.tap("button", "Scan a Code")
            app.sheet()
            app.kill_child(victim)
            app.until_no_sheet()
            app.until_named("button", "Scan a Code") if victim == "hybrid-ask" else app.until_named("label", "hybrid-auth")
        env.waiting.until("hybrid-client to end", lambda client=client: client.status is not None, LIMIT)
    client = env.client(env.site.request_options(allow="any"))
    env.show_code(client.picture)
    app = env.open(f"{name}-app")
    app.tap("button", "Scan a Code")
    app.sheet()
    children = [app.child(one) for one in ("hybrid-ask", "hybrid-auth")]
    app.kill()
    env.waiting.until("the app's children to end", lambda: not any(_runs(one) for one in children), LIMIT)
    must(env.vault() == before, "the vault has changed")
    registers(env, f"{name}-afterwards", "eve@example.com")


def _runs(process):
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


CASES = {
    "welcome": welcome, "register": registers, "second-account": second_account, "declined": declined,
    "wrong-pin": wrong_pin, "passkeys": passkeys, "no-camera": no_camera, "link": link, "killed": killed,
}
