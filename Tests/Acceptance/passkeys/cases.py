# SPDX-License-Identifier: Apache-2.0
"""One function per case; each raises Failed, or returns nothing or a note."""
import re
import time

from harness.logind import Logind
from harness.relay import DOMAIN
from harness.waiting import must
from passkeys.environment import LIMIT, PIN


def welcome(env, name):
    """From nothing to a vault: relay, PIN, and a recovery code later."""
    with env.open(name) as app:
        app.picture()
        app.tap("Begin")
        app.tap("Enter Its Name", "radio button")
        app.tap("Number or host name", "text", "entry")
        app.type(str(DOMAIN))
        app.tap("Check and Save")
        app.until_named("The relay works and is saved")
        app.picture("-relay")
        app.tap("Next")
        app.tap("Choose a PIN", "button")
        sheet = app.sheet()
        app.until_named("New PIN", process=sheet)
        app.type(PIN)
        app.tap("New PIN again", "text", "entry", process=sheet)
        app.type(PIN)
        app.tap("Set PIN", "button", process=sheet)
        # On a phone, the sheet covers the app until it has closed.
        app.until_no_sheet()
        app.tap("Later")
        app.until_named("Unlock Passkeys", "button")


def registers(env, name, account="ada@example.com"):
    """Creates a passkey with a code in the camera; the website verifies the response."""
    options = env.site.creation_options(account=account)
    client = env.client(options)
    env.show_code(client.picture)
    with env.open(name) as app:
        app.tap("Scan a Code")
        app.give_pin()
        sheet = app.sheet()
        app.until_named(account, process=sheet, part=True)
        app.picture("-sheet")
        app.tap("Save", "button", process=sheet)
        response = env.ended(client)
        env.site.verify_creation(response, options["challenge"])
        app.until_named("Passkey created")
        app.until_no_sheet()
        app.picture()


def second_account(env, name):
    """Of two accounts, the second one signs in."""
    registers(env, f"{name}-bob", "bob@example.com")
    return choose_second(env, name)


def choose_second(env, name):
    """Signs in with the account that the list shows second."""
    options = env.site.request_options(allow="any")
    client = env.client(options)
    env.show_code(client.picture)
    with env.open(name) as app:
        began = time.monotonic()
        app.tap("Scan a Code")
        sheet = app.sheet()
        seconds = time.monotonic() - began
        app.give_pin()
        app.until_named('"ada@example.com"', "radio button", process=sheet)
        app.picture("-accounts")
        app.tap('"ada@example.com"', "radio button", process=sheet)
        app.tap("Sign In", "button", process=sheet)
        response = env.ended(client)
        env.site.verify_request(response, options["challenge"])
        app.until_named("Signed in")
        app.until_no_sheet()
    return f"{seconds:.1f} s from the tap to the sheet"


def declined(env, name):
    """Declining on the phone reaches the client as a refusal, and nothing else."""
    before = env.vault()
    client = env.client(env.site.request_options(allow="any"))
    env.show_code(client.picture)
    with env.open(name) as app:
        app.tap("Scan a Code")
        sheet = app.sheet()
        app.tap("Decline", "button", process=sheet)
        env.ended(client, 77)
        app.until_named("You declined")
        app.until_no_sheet()
    must(env.vault() == before, "the vault has changed")


def wrong_pin(env, name):
    """A PIN that is wrong three times ends the request; the app says so, and not the sheet, too."""
    client = env.client(env.site.request_options(allow="any"))
    env.show_code(client.picture)
    with env.open(name) as app:
        app.tap("Scan a Code")
        app.give_pin("000000")
        for left in (4, 3):
            app.until_named(f"Wrong PIN. {left} attempts", process=app.sheet(), part=True)
            app.give_pin("000000")
        env.ended(client, 77)
        app.until_no_sheet()
        app.until_named("The PIN was wrong")
        app.picture()


def passkeys(env, name):
    """One PIN for a list, a new name and a deletion, which needs the PIN again."""
    with env.open(name) as app:
        app.tap("Unlock Passkeys")
        app.give_pin()
        app.until_no_sheet()
        app.until_named("ada@example.com", "list item")
        app.picture()
        app.tap("bob@example.com", "list item")
        app.tap("Delete Passkey…")
        app.give_pin()
        sheet = app.sheet()
        app.picture("-delete")
        app.tap("Delete", "button", process=sheet)
        app.until_no_sheet()
        # A busy machine may miss the message, which the suite app waits for.
        env.waiting.until("the passkey to disappear",
                          lambda: not any(one[1] == "bob@example.com" for one in app.elements()), LIMIT)
        app.until_named("ada@example.com", "list item")


def no_camera(env, name):
    """Without a camera, the page says so, and goes on when there is one."""
    with env.open(name) as app:
        app.tap("Scan a Code")
        app.until_named("No camera found")
        app.picture()


def unplugged(env, name):
    """A camera that is unplugged while the page is open."""
    client = env.client(env.site.request_options(allow="any"))
    env.show_code(client.picture, blank=True)
    with env.open(name) as app:
        app.tap("Scan a Code")
        app.until_named("Hold the code", part=True)
        env.hide_code()
        app.until_named("Try Again", "button")
        app.picture()


def other_camera(env, name):
    """The camera to which the user has changed is the first one at the next start."""
    for start in ("first", "next"):
        client = env.client(env.site.request_options(allow="any"))
        env.show_code(client.picture, blank=True)
        env.add_camera(client.picture, location="front")
        with env.open(f"{name}-{start}") as app:
            app.tap("Scan a Code")
            if start == "first":
                app.until_named("Hold the code", part=True)
                app.picture()
                app.tap("Other Camera", "button")
            app.tap("Decline", "button", process=app.sheet())
            app.until_named("You declined")
            app.until_no_sheet()
        env.ended(client, 77)


def reach(env, name):
    """Times and loads of the app, which the note states: a busy machine is no error."""
    client = env.client(env.site.request_options(allow="any"))
    env.show_code(client.picture, blank=True)
    with env.open(name) as app:
        app.until_named("Scan a Code", "button")
        idle = app.wakeups(60)
        began = time.monotonic()
        app.press("ctrl+n")
        app.until_named("Hold the code", part=True)
        viewfinder = time.monotonic() - began
        scanning = app.load(10)
    env.show_code(client.picture)
    with env.open(f"{name}-code") as app:
        app.until_named("Scan a Code", "button")
        began = time.time()
        app.press("ctrl+n")
        app.tap("Decline", "button", process=app.sheet())
        app.until_named("You declined")
        read = env.started.stat().st_mtime - began
    latency = env.list_latency()
    return (f"{idle} wake-ups in a minute, viewfinder within {viewfinder:.2f} s, {scanning:.0%} of a core, "
            f"code read within {read:.2f} s, list in {latency * 1000:.0f} ms")


def bluetooth_off(env, name):
    """Without Bluetooth, the app says so, and works again when it is on."""
    client = env.client(env.site.request_options(allow="any"))
    env.show_code(client.picture)
    env.radio.set_powered("hci1", False)
    try:
        with env.open(name) as app:
            app.tap("Scan a Code")
            app.until_named("Bluetooth is off")
            app.picture()
            app.until_no_sheet()
            env.radio.set_powered("hci1", True)
            app.tap("Try Again", "button")
            app.tap("Decline", "button", process=app.sheet())
            app.until_named("You declined")
    finally:
        env.radio.set_powered("hci1", True)
    env.ended(client, 77)


def expired(env, name):
    """The code of a device that does not wait any more."""
    client = env.client(env.site.request_options(allow="any"))
    env.show_code(client.picture)
    env.waiting.until("hybrid-client to end", lambda: client.stop() == [], LIMIT)
    env.options.write_text("--timeout 5", encoding="ascii")
    try:
        with env.open(name) as app:
            app.tap("Scan a Code")
            app.until_named("The other device did not find this one")
            app.until_named("Try Again", "button")
            app.picture()
    finally:
        env.options.unlink()


def suspend(env, name):
    """The list disappears when the device suspends."""
    with Logind(env.radio.address) as logind, env.open(name) as app:
        app.tap("Unlock Passkeys")
        app.give_pin()
        app.until_named("ada@example.com", "list item")

        def is_locked():
            # The session may not listen yet.
            logind.suspend()
            return any(one[1] == "Locked together with the screen" for one in app.elements())

        env.waiting.until("the list to disappear", is_locked, LIMIT, pause=0.5)
        app.until_named("Unlock Passkeys", "button")
        env.waiting.until("the session to end", lambda: app.child("hybrid-auth") is None, LIMIT)


def link(env, name):
    """A link asks first, and declining it sends nothing."""
    client = env.client(env.site.request_options(allow="any"))
    code = re.findall(r"FIDO:/\d+", client.said())[-1]
    with env.open(name, code) as app:
        sheet = app.sheet()
        app.picture()
        app.tap("Decline", "button", process=sheet)
        app.until_no_sheet()
        app.until_named("You declined")
    must(client.status is None, "the client must still wait")


def relay_gone(env, name):
    """Without the relay, the app says so, and works again when it is back."""
    client = env.client(env.site.request_options(allow="any"))
    env.show_code(client.picture)
    env.relay.die()
    with env.open(name) as app:
        app.tap("Scan a Code")
        app.until_named("The relay can't be reached")
        app.picture()
    env.relay.start()


def killed(env, name):
    """Killed at each step, the sheet, hybrid-auth and the app lose nothing."""
    before = env.vault()
    for victim, words in (("hybrid-ask", "You declined"), ("hybrid-auth", "The request ended unexpectedly")):
        client = env.client(env.site.request_options(allow="any"))
        env.show_code(client.picture)
        with env.open(f"{name}-{victim}") as app:
            app.tap("Scan a Code")
            app.sheet()
            app.kill_child(victim)
            app.until_named(words)
            app.until_no_sheet()
        env.waiting.until("hybrid-client to end", lambda client=client: client.status is not None, LIMIT)
    client = env.client(env.site.request_options(allow="any"))
    env.show_code(client.picture)
    with env.open(f"{name}-app") as app:
        app.tap("Scan a Code")
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
    "wrong-pin": wrong_pin, "passkeys": passkeys, "suspend": suspend, "no-camera": no_camera, "unplugged": unplugged, "other-camera": other_camera,
    "reach": reach, "bluetooth-off": bluetooth_off, "expired": expired, "link": link, "relay-gone": relay_gone, "killed": killed,
}
