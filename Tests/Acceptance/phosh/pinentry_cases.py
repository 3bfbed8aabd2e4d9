# SPDX-License-Identifier: Apache-2.0
"""The prompts of pinentry-gnome3, which Phosh shows, where hybrid-auth has no sheet."""
import re

from harness.waiting import must
from passkeys.environment import LIMIT, PIN

PINENTRY = "/usr/bin/pinentry-gnome3"


def _labels(env):
    return [one[1] for one in env.phosh.elements() if one[0] == "label" and one[1]]


def _prompt(env, part, program):
    """Waits for a prompt with a text."""
    def look():
        must(program.status is None, f"expected the prompt {part!r}; hybrid-auth {program.ending}: {program.said()}")
        return any(part in label for label in _labels(env))

    env.waiting.until(f"Phosh to prompt with {part!r}", look, LIMIT, pause=0.1)


def _type(env, text, program, part):
    """Types into the prompt that shows a part of a text, and continues."""
    _prompt(env, part, program)
    env.waiting.until("the field of the prompt to have the focus", lambda: any(
        one[0] in ("password text", "text", "entry") and "focused" in one[2] for one in env.phosh.elements()), LIMIT)
    env.type(text)
    env.screen.press("Return")


def _picture(env, name):
    if env.pictures:
        env.screen.picture(env.pictures / f"{name}.png")


def new_pin(env, name):
    """A new PIN is asked twice; another repetition is refused, and the question comes again."""
    vault = env.folder.scratch / "vault-of-pinentry"
    program = env.command("vault", "init", "--vault", vault, "--pinentry", PINENTRY, HYBRID_ASK="")
    for first, second in ((PIN, PIN[::-1]), (PIN, PIN)):
        _type(env, first, program, "Choose a PIN")
        _prompt(env, "again", program)
        must(program.status is None and not (vault / "vault.json").exists(), "expected no vault after one PIN")
        _picture(env, f"{name}-again")
        _type(env, second, program, "again")
    env.waiting.until("hybrid-auth to end", lambda: program.status is not None, LIMIT)
    must(program.status == 0, f"hybrid-auth {program.ending}: {program.said()}")


def accounts(env, name):
    """Each account can be chosen: the buttons are Use and Other, and the last account can be declined."""
    for account in ("ada@example.com", "bob@example.com"):
        env.passkey_of(account)
    names = []
    for chosen in (0, 1, None):
        options = env.site.request_options(allow="any")
        client = env.client(options)
        code = re.findall(r"FIDO:/\d+", client.said())[-1]
        program = env.command("scan", "--pinentry", PINENTRY, "-", text=f"{code}\n", HYBRID_ASK="")
        _type(env, PIN, program, "localhost")
        _prompt(env, "1 of 2", program)
        _picture(env, f"{name}-1")
        if chosen != 0:
            env.phosh.tap_on("Other…", "button")
            _prompt(env, "2 of 2", program)
            _picture(env, f"{name}-2")
        env.phosh.tap_on("Use" if chosen is not None else "Decline", "button")
        response = env.ended(client, 0 if chosen is not None else 77)
        if chosen is not None:
            env.site.verify_request(response, options["challenge"])
            names.append(response["id"])
        env.waiting.until("hybrid-auth to end", lambda program=program: program.status is not None, LIMIT)
    must(len(set(names)) == 2, f"expected two passkeys; found {names}")
