# SPDX-License-Identifier: Apache-2.0
"""Ceremonies that fail between code and response. One entry each.

`steps` holds the behavior of Chromium 156. If a tunnel is lost before the phone's post-handshake message, dialog and
promise stay pending until the user closes the dialog; later, Chromium closes it at once.
"""
from harness.phone import Person
from scenarios import ANSWERED, SIGN_IN, Gone, Failure, Registered, Rejected, Scenario

CONNECTING = "kCableV2QRCode kCableV2Connecting kClosed"
NOBODY_ANSWERS = Person(answer="never")
REFUSED = Rejected("NotAllowedError")
# No other ceremony uses this account: the lab's phone runs once, and its passkeys end with it.
EVE = {"account": "eve@example.com"}


def drops(stage, steps, outcome, *, user_closes=False, adverts=1):
    """Returns the scenario of a phone that loses its network at a stage."""
    return Scenario("create", steps, outcome, EVE, failure=Failure(script=f"drop:{stage}", user_closes=user_closes),
                    adverts=adverts, phone_says="the script closed the tunnel")


FAILURES = {
    "drop-tunnel": drops("tunnel", "kCableV2QRCode kClosed", REFUSED, user_closes=True, adverts=0),
    "drop-advert": drops("advert", CONNECTING, REFUSED, user_closes=True),
    "drop-handshake": drops("handshake", CONNECTING, REFUSED, user_closes=True),
    "drop-introduction": drops("introduction", ANSWERED, REFUSED),
    "drop-request": drops("request", ANSWERED, REFUSED),
    # The site has its response.
    "drop-answer": drops("answer", ANSWERED, Registered()),
    "relay-dies": Scenario(
        "get", ANSWERED, REFUSED, {"allow": "any"}, NOBODY_ANSWERS, (SIGN_IN,), phone_status=75, needs_passkey=True,
        failure=Failure(when_asked=lambda env: env.relay.die(), mends=lambda env: env.relay.start())),
    "relay-unreachable": Scenario(
        "get", "kCableV2QRCode kClosed", REFUSED, {"allow": "any"}, NOBODY_ANSWERS, phone_status=69, adverts=0,
        phone_says="refused the connection",
        # Not for the passkey: a phone without a vault asks for a new PIN first.
        needs_passkey=True,
        failure=Failure(before_scan=lambda env: env.relay.die(), mends=lambda env: env.relay.start(),
                      user_closes=True)),
    "reload": Scenario(
        "get", ANSWERED, Gone(), {"allow": "any"}, NOBODY_ANSWERS, (SIGN_IN,), phone_status=75, needs_passkey=True,
        phone_says="before you answered", failure=Failure(when_asked=lambda env: env.browser.tab.reload())),
}
