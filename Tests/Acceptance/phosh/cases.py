# SPDX-License-Identifier: Apache-2.0
"""One function per case; each raises Failed, or returns nothing or a note."""
from harness.waiting import must
from passkeys.cases import welcome
from passkeys.environment import LIMIT

ACCOUNT = "ada@example.com"
COMPUTER = "work laptop"


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


CASES = {"welcome": welcome, "notification": notified}
