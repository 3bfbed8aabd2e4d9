# SPDX-License-Identifier: Apache-2.0
"""One function per case; each raises Failed, or returns nothing or a note."""
from shell import BOTTOM, HEIGHT, TOP, WIDTH

from harness.waiting import must
from passkeys.cases import choose_second, declined, welcome
from passkeys.environment import LIMIT, TAPPED

ACCOUNT, SECOND = "ada@example.com", "bob@example.com"
COMPUTER = "work laptop"
# The blue of libadwaita's suggested action, and how far a picture may be from it: it is lighter below the pointer.
BLUE, DISTANCE = (53, 132, 228), 40


def fits(app, sheet):
    """Checks that everything of a window that can be used is on the screen."""
    for role, name, _, (left, top, width, height) in app.elements(sheet):
        if role in TAPPED and name and width:
            must(left >= 0 and top >= 0 and left + width <= WIDTH and top + height <= HEIGHT - TOP - BOTTOM,
                 f"expected the {role} {name!r} on the screen; found {width}x{height} at {left}, {top}")


def is_blue(app, place):
    """Checks that a suggested button is where the accessibility service says, in a picture of the screen."""
    color = app.color(place)
    must(all(abs(found - wanted) <= DISTANCE for found, wanted in zip(color, BLUE)),
         f"expected the suggested button's blue at {place}; found {color}")


def registers(env, name):
    """A code in the camera; the sheet appears as a window of Phosh, with the focus, and fits the screen."""
    options = env.site.creation_options(account=ACCOUNT)
    client = env.client(options)
    env.show_code(client.picture)
    with env.open(name) as app:
        app.picture("-app")
        app.tap("Scan a Code")
        sheet = app.sheet()
        app.until_named("PIN", "text", "password text", "entry", process=sheet)
        env.waiting.until("the field for the PIN to have the focus",
                          lambda: any("focused" in one[2] and one[1] == "PIN" for one in app.elements(sheet)), LIMIT)
        fits(app, sheet)
        app.picture("-pin")
        app.give_pin()
        app.until_named(ACCOUNT, process=sheet, part=True)
        button = app.until_named("Save", "button", process=sheet)
        fits(app, sheet)
        is_blue(app, button[3])
        app.picture("-sheet")
        app.tap("Save", "button", process=sheet)
        response = env.ended(client)
        env.passkeys[ACCOUNT] = env.site.verify_creation(response, options["challenge"])["id"]
        app.until_named("Passkey created")
        app.until_no_sheet()
        app.picture()


def second_account(env, name):
    """Of two accounts, the second one signs in."""
    for account in (ACCOUNT, SECOND):
        env.passkey_of(account)
    return choose_second(env, name)


def declines(env, name):
    """Declining on the phone reaches the computer as a refusal."""
    env.passkey_of(ACCOUNT)
    declined(env, name)


def linked_request(env):
    """Returns the options of a request with the passkey of the first account, and the client that asks the phone."""
    options = env.site.request_options(allow="any")
    options["allowCredentials"] = [{"type": "public-key", "id": env.passkey_of(ACCOUNT)}]
    client = env.linked_client(options)
    env.waiting.until("the phone to be notified", lambda: "phone-notified" in client.said(), LIMIT)
    return options, client


def answered(env, phone, options, client):
    """Answers the sheet of a linked request, and verifies the response."""
    sheet = phone.sheet()
    phone.until_named(COMPUTER, process=sheet, part=True)
    phone.picture("-sheet")
    phone.give_pin()
    phone.until_named("Sign In", "button", process=sheet)
    phone.tap("Sign In", "button", process=sheet)
    env.site.verify_request(env.ended(client), options["challenge"])
    phone.until_no_sheet()


def notified(env, name):
    """The app is closed: a linked computer asks, Phosh notifies, and a tap opens the sheet."""
    env.link(env.passkey_of(ACCOUNT))
    with env.listen(name) as phone:
        options, client = linked_request(env)
        env.phosh.until_shown("Sign in", "button")
        phone.picture("-notification")
        must(not phone.child("hybrid-ask"), "expected no sheet before the tap")
        env.phosh.tap_on("Sign in", "button")
        answered(env, phone, options, client)
        phone.picture()


def meanwhile(env, name):
    """A linked computer asks while the sheet of a scanned code is open, and a further request while it waits for an answer."""
    env.link(env.passkey_of(ACCOUNT))
    scanned_options = env.site.request_options(allow="any")
    scanned = env.client(scanned_options)
    env.show_code(scanned.picture)
    with env.listen(f"{name}-listen") as listener, env.open(name) as app:
        app.tap("Scan a Code")
        sheet = app.sheet()
        options, client = linked_request(env)
        env.phosh.until_shown("Sign in", "button")
        app.picture("-notification")
        refused = env.linked_client(env.site.request_options(allow="any"))
        env.waiting.until("the further request to show its code", lambda: "FIDO:/" in refused.said(), LIMIT)
        env.phosh.tap_on("Sign in", "button")
        answered(env, listener, options, client)
        must(app.sheet() == sheet, "expected the sheet of the scanned code to stay")
        app.picture("-afterwards")
        app.give_pin()
        app.tap("Sign In", "button", process=sheet)
        env.site.verify_request(env.ended(scanned), scanned_options["challenge"])
        app.until_named("Signed in")


def not_now(env, name):
    """The other button of the notification: no sheet, and the computer shows its code."""
    env.link(env.passkey_of(ACCOUNT))
    with env.listen(name) as phone:
        _, client = linked_request(env)
        env.phosh.tap_on("Not now", "button")
        env.waiting.until("the computer to show its code", lambda: "FIDO:/" in client.said(), LIMIT)
        must(not phone.child("hybrid-ask"), "expected no sheet")
        env.waiting.until("the notification to disappear", lambda: not env.phosh.find("Not now", "button"), LIMIT)


CASES = {
    "welcome": welcome, "register": registers, "second-account": second_account, "declined": declines,
    "notification": notified, "meanwhile": meanwhile, "not-now": not_now,
}
