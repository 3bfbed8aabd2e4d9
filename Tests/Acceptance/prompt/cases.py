# SPDX-License-Identifier: Apache-2.0
"""One function per case; each raises Failed, or returns nothing."""
import json
import time

from harness.waiting import Failed

CODE = "FIDO:/" + "0912" + "73" * 82
REQUEST = {"event": "request", "operation": "sign-in", "rp_id": "example.com", "timeout_ms": 120000}
LOGIN = {"event": "request", "operation": "ssh-login", "rp_id": "k7.invalid", "key": "laptop", "user": "ada",
         "host": "build.example", "fingerprint": "SHA256:" + "aB3+/" * 8 + "xyz", "timeout_ms": 120000}
REMOTE = {"event": "request", "operation": "remote-sign-in", "rp_id": "shop.example",
          "hosts": ["bastion.example", "web1.example"], "secret": True, "permanent": True, "timeout_ms": 100000}
SCAN = ({"event": "qr", "text": CODE}, {"event": "state", "state": "scan"})
TRANSFER_CODE = "HYBRID:/" + "0912" + "73" * 82
RECEIVE = ({"event": "request", "operation": "receive", "timeout_ms": 120000}, {"event": "qr", "text": TRANSFER_CODE},
           {"event": "state", "state": "scan"})
DIGITS = {"event": "state", "state": "digits", "digits": "042117", "peer": "Ada's phone"}
ERROR = {"event": "error", "code": "phone-not-nearby", "message": "no phone was found nearby",
         "remedy": "scan the code with a phone that has Bluetooth on"}


def check(is_so, what):
    if not is_so:
        raise Failed(what)


def state(name):
    return {"event": "state", "state": name}


def shows_code(theme="light", scale=1):
    """Returns a case: the code in a theme and at a scale."""
    def case(env, name):
        with env.open(name, theme=theme, scale=scale) as prompt:
            prompt.send(REQUEST, *SCAN)
            code = prompt.code()
            check(code == CODE, f"expected the code of the input; zbar read {code!r}")
            brightness = prompt.brightness()
            check(brightness < 0.4 if "dark" in theme else brightness > 0.8, f"the window's brightness is {brightness}")
            width, _ = prompt.size()
            check(350 * scale <= width <= 500 * scale, f"the window is {width} pixels wide at {scale}×")
            prompt.press("Escape")
            check(prompt.until_ended() == 0, f"hybrid-prompt ended with {prompt.status}")
            check(prompt.answers == ["cancel"], f"expected the answer cancel, found {prompt.answers}")

    return case


def end_of_input(env, name):
    with env.open(name) as prompt:
        prompt.send(REQUEST, *SCAN)
        prompt.code()
        prompt.end_input()
        check(prompt.until_ended() == 0 and prompt.answers == [], f"expected no answer, found {prompt.answers}")


def success(env, name):
    with env.open(name) as prompt:
        prompt.send(LOGIN, *SCAN)
        prompt.code()
        prompt.send(state("phone-found"))
        env.waiting.until("the code to disappear", lambda: not env.screen.code(env.folder.path(f"{name}-found.png")), 30)
        prompt.send(state("connecting"), state("confirm"), state("done"))
        # The input stays open.
        check(prompt.until_ended() == 0 and prompt.answers == [], f"expected no answer, found {prompt.answers}")


def failure(env, name):
    with env.open(name) as prompt:
        prompt.send(REQUEST, *SCAN, ERROR)
        prompt.end_input()
        prompt.until_named("alert", "No phone was found nearby.\nScan the code with a phone that has Bluetooth on.")
        check(not env.screen.code(env.folder.path(f"{name}.png")), "the code is still shown")
        prompt.press("Return")
        check(prompt.until_ended() == 0 and prompt.answers == [], f"expected no answer, found {prompt.answers}")


def keyboard(env, name):
    """Enter accepts an offer, Tab reaches Cancel, and the window manager's key closes."""
    with env.open(name) as prompt:
        prompt.send(REQUEST, state("use-phone"))
        prompt.until_named("push button", "Use Phone")
        prompt.press_until_answers("Return", "proceed")
        prompt.send(state("contacting"))
        prompt.until_named("push button", "Show a Code")
        prompt.press_until_answers("Return", "proceed", "show-code")
        prompt.send(*SCAN)
        check(prompt.code() == CODE, "expected the code of the input")
        # Enter does nothing where there is no offer.
        prompt.press("Return", "Return")
        check(prompt.code() == CODE and prompt.status is None, "Enter has closed the window")
        prompt.press("alt+F4")
        check(prompt.until_ended() == 0, f"hybrid-prompt ended with {prompt.status}")
        check(prompt.answers == ["proceed", "show-code", "cancel"], f"found the answers {prompt.answers}")
    with env.open(f"{name}-tab") as prompt:
        prompt.send(REQUEST, state("use-phone"))
        prompt.until_named("push button", "Use Phone")
        prompt.press("Tab")
        env.waiting.until("Tab to reach Cancel", lambda: ["push button", "Cancel", ["focused", "focusable"]]
                          in prompt.elements(), 30, pause=0.2)
        prompt.press("space")
        check(prompt.until_ended() == 0 and prompt.answers == ["cancel"], f"found the answers {prompt.answers}")


def names(env, name):
    """A screen reader knows every part of the window."""
    purpose = 'Sign in to build.example by ssh key "laptop"'
    with env.open(name) as prompt:
        prompt.send(LOGIN, *SCAN, {"event": "notice", "notice": "virtual-radio", "message": "VIRTUAL RADIO"})
        prompt.code()
        details = f'User "ada"\nHost key {LOGIN["fingerprint"]}\nPasskey of k7.invalid'
        for role, label in (("frame", purpose), ("label", purpose), ("label", details), ("alert", "VIRTUAL RADIO."),
                            ("image", "QR code"), ("status bar", "Scan this code with your phone"),
                            ("push button", "Cancel")):
            prompt.until_named(role, label)
        told = json.dumps(prompt.elements())
        check(CODE[6:30] not in told, "the text of the code is told to other programs")
        prompt.send(state("confirm"))
        prompt.until_named("status bar", "Confirm on your phone")
        check(not any(role == "image" for role, _, _ in prompt.elements()), "there is a code without a state for it")


def remote(env, name):
    """The question of another host: Enter never accepts it, Tab reaches Cancel, Continue and Always in this order."""
    buttons = ("Cancel", "Continue", "Always for This Host and Site")

    def focused(prompt):
        return next((label for role, label, states in prompt.elements()
                     if role == "push button" and "focused" in states), None)

    def go_to(prompt, button):
        """Presses Tab until a button has the focus, one press for each button before it."""
        check(focused(prompt) is None, "a button has the focus before any key")
        for one in buttons[:buttons.index(button) + 1]:
            prompt.press("Tab")
            env.waiting.until(f"Tab to reach {one}", lambda one=one: focused(prompt) == one, 30, pause=0.2)

    widths = []
    for text in (1, 2):
        with env.open(f"{name}-text-{text}", text=text) as prompt:
            prompt.send(REMOTE, state("use-phone"))
            prompt.until_named("frame", "Sign in to shop.example, requested by web1.example")
            shown = time.monotonic()
            for button in buttons:
                prompt.until_named("push button", button)
            told = json.dumps(prompt.elements())
            for part in ("Through bastion.example", "a secret of the passkey", "this computer can't check that",
                         "not near web1.example"):
                check(part in told, f"expected {part!r}, found {told}")
            # It must fit on the screen of a small laptop.
            width, height = prompt.size()
            check(width <= 500 * text and height <= 450 * text, f"the window has {width} × {height} pixels")
            widths.append(width)
            prompt.picture(env.folder.path(f"{name}-text-{text}-window.png"))
            # Sooner, no offer is accepted anyway.
            env.waiting.until("the delay of an offer to pass", lambda: time.monotonic() - shown > 0.6, 30)
            prompt.press("Return", "space")
            go_to(prompt, "Always for This Host and Site")
            check(prompt.answers == [] and prompt.status is None, f"Enter has answered {prompt.answers}")
            prompt.press_until_answers("space", "proceed-always")
            prompt.send(*SCAN)
            check(prompt.code() == CODE, "expected the code of the input in the same window")
            prompt.picture(env.folder.path(f"{name}-text-{text}-code.png"))
            _, height = prompt.size()
            check(height <= 700 + 150 * (text - 1), f"the window with the code is {height} pixels high")
            labels = [label for role, label, _ in prompt.elements() if role == "push button"]
            check(labels == ["Cancel"], f"expected only Cancel beside the code, found {labels}")
            prompt.end_input()
            check(prompt.until_ended() == 0, f"hybrid-prompt ended with {prompt.status}")
    check(widths[1] > 1.5 * widths[0], f"large text was not applied: the windows are {widths} pixels wide")
    with env.open(f"{name}-once") as prompt:
        prompt.send({**REMOTE, "operation": "remote-create", "permanent": False}, state("use-phone"))
        prompt.until_named("frame", "Create a passkey for shop.example, requested by web1.example")
        prompt.until_named("push button", "Continue")
        labels = [label for role, label, _ in prompt.elements() if role == "push button"]
        check(labels == ["Cancel", "Continue"], f"expected Cancel and Continue, found {labels}")
        go_to(prompt, "Continue")
        prompt.press_until_answers("space", "proceed")
        prompt.press("Escape")
        check(prompt.until_ended() == 0 and prompt.answers == ["proceed", "cancel"], f"found {prompt.answers}")


def link_offer(env, name):
    """The window of `hybrid-key link` names the phone and the link code, and has no button that answers."""
    request = {"event": "request", "operation": "link", "rp_id": "k7.invalid", "key": "laptop", "timeout_ms": 120000}
    offer = {"event": "notice", "notice": "link-offer", "phone": "Pixel", "link_code": "042 117", "evidence": "verified"}
    with env.open(name) as prompt:
        prompt.send(request, *SCAN)
        prompt.until_named("frame", 'Link the phone that has ssh key "laptop"')
        prompt.send(state("confirm"), offer)
        prompt.until_named("status bar", "Link this phone?")
        prompt.until_named("status bar", 'Link "Pixel", so that it needs no code next time?\n'
                                         "Answer yes only if it shows the link code 042 117, in the program that asks.")
        buttons = [label for role, label, _ in prompt.elements() if role == "push button"]
        check(buttons == ["Cancel"], f"expected only Cancel, found {buttons}")
        prompt.send(state("done"))
        check(prompt.until_ended() == 0 and prompt.answers == [], f"expected no answer, found {prompt.answers}")


def hostile_input(env, name):
    """A flood of lines, long lines and unknown events neither stops the window nor the code."""
    junk = ["x" * 100_000, '{"event":' + "[" * 5000, '{"event":"weather"}', "\x1b[2J\u202e", '{"event":"state","state":"x"}']
    with env.open(name) as prompt:
        prompt.send(*junk * 40, REQUEST, *junk * 40, *SCAN, *junk * 40)
        check(prompt.code() == CODE, "expected the code of the input")
        prompt.send(*junk * 40)
        prompt.press("Escape")
        check(prompt.until_ended() == 0 and prompt.answers == ["cancel"], f"found the answers {prompt.answers}")
    with env.open(f"{name}-request") as prompt:
        prompt.send({**REQUEST, "rp_id": "exam\u202eple.com"})
        check(prompt.until_ended() == 65 and prompt.answers == ["cancel"], f"expected a refusal with status 65; it ended "
                                                                           f"with {prompt.status}, {prompt.answers}")
        check("the request can't be shown" in prompt.errors, f"found the message {prompt.errors!r}")


def transfer(env, name):
    """Code, digits and progress of passkeys from another device."""
    with env.open(name) as prompt:
        prompt.send(*RECEIVE)
        check(prompt.code() == TRANSFER_CODE, "expected the code of the input")
        prompt.until_named("status bar", "Scan this code with hybrid-auth give")
        prompt.send(DIGITS)
        prompt.until_named("status bar", "042 117")
        prompt.until_named("status bar", 'The screen of "Ada\'s phone" must show the same digits')
        prompt.send({**state("stored"), "count": "3", "of": "200"})
        prompt.until_named("status bar", "3 of 200 stored")
        prompt.press("Escape")
        check(prompt.until_ended() == 0 and prompt.answers == ["cancel"], f"found the answers {prompt.answers}")


def no_display(env, name):
    with env.open(name, command=["env", "-u", "DISPLAY", "-u", "WAYLAND_DISPLAY", env.prompt]) as prompt:
        check(prompt.until_ended() == 69, f"expected status 69, found {prompt.status}")
        check("there is no display" in prompt.errors, f"found the message {prompt.errors!r}")


def show_qr(env, name):
    """The code and the failure of a real `hybrid-client show-qr --json`."""
    request = env.folder.scratch / "request.json"
    request.write_text(json.dumps({"publicKey": {"challenge": "A" * 43, "rpId": "example.com"}}), encoding="ascii")
    # The client is cancelled when the window has closed, as by a program that reads its answers.
    pipe = 'exec "$0" < <(exec setpriv --pdeathsig TERM -- "$@" 2>&1 >"$TMPDIR/response")'
    command = ["bash", "-c", pipe, env.prompt, env.programs.client, "show-qr", "--json", "--request", request, "--origin",
               "https://example.com", "--timeout"]
    with env.open(name, command=[*command, "300"]) as prompt:
        code = prompt.code()
        check(code.startswith("FIDO:/") and len(code) > 100, f"expected a sign-in code; zbar read {code!r}")
        prompt.press("Escape")
        check(prompt.until_ended() == 0 and prompt.answers == ["cancel"], f"found the answers {prompt.answers}")
    with env.open(f"{name}-failure", command=[*command, "2"]) as prompt:
        prompt.until_named("status bar", "It did not work")
        told = json.dumps(prompt.elements())
        check("No phone was found nearby" in told and "Bluetooth" in told, f"expected cause and remedy, found {told}")
        prompt.press("Return")
        check(prompt.until_ended() == 0 and prompt.answers == [], f"found the answers {prompt.answers}")


CASES = {
    "light": shows_code(),
    "dark": shows_code("dark"),
    "gnome-dark": shows_code("gnome-dark"),
    "light-2x": shows_code(scale=2),
    "dark-2x": shows_code("dark", scale=2),
    "end-of-input": end_of_input,
    "success": success,
    "failure": failure,
    "keyboard": keyboard,
    "names": names,
    "remote": remote,
    "link-offer": link_offer,
    "transfer": transfer,
    "hostile-input": hostile_input,
    "no-display": no_display,
}
# Cases that need the programs of --bin-dir.
WITH_PROGRAMS = {"show-qr": show_qr}
