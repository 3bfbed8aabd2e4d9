# SPDX-License-Identifier: Apache-2.0
"""Ceremonies by `hybrid-remote ask`, and their ends. py_webauthn and python-fido2 check every response."""
import re

from harness.hybrid_key import nothing_left
from harness.phone import Person
from harness.waiting import must

SALT = {"first": "c2FsdA"}


def isolated(env):
    """A host has no radio, no variable of the lab and no way to this computer or the relay."""
    agent = env.start_agent()
    run = env.ssh(agent, "env; ip route; ls -A /run", name="env")
    env.ended(run)
    said = run.said()
    must(re.search("^SSH_AUTH_SOCK=/.*/agent", said, re.M) and "HYBRID" not in said and "DBUS" not in said,
         f"expected only variables of ssh; found {said}")
    must("default" not in said and said.rstrip().endswith("sshd"), f"expected no route and no bus; found {said}")
    for address in (env.b.near_address, "127.0.0.1"):
        done = env.b.inside("bash", "-c", f"echo > /dev/tcp/{address}/{env.relay.port}", check=False)
        must("refused" in done.stderr, f"expected no way from b to {address}; found {done.stderr!r}")


def register(env):
    """Creates a passkey, after a question that names the hosts; sign-ins follow with a list and without one."""
    agent, before = env.start_agent(), len(env.journal())
    _, prompt, _ = env.register(agent)
    request = {name: prompt.request.get(name) for name in ("operation", "rp_id", "hosts", "secret", "permanent")}
    must(request == {"operation": "remote-create", "rp_id": "localhost", "hosts": ["b.test"], "secret": None,
                     "permanent": None}, f"expected the question of a registration; found {prompt.request}")
    env.recorded(before, ("signed", "localhost", "b.test", "create"))


def sign_in(env):
    """Signs in with a list."""
    agent = env.start_agent()
    env.needs_passkey()
    before = len(env.journal())
    prompt, _ = env.sign_in(agent)
    request = {name: prompt.request.get(name) for name in ("operation", "rp_id", "hosts", "secret", "permanent")}
    must(request == {"operation": "remote-sign-in", "rp_id": "localhost", "hosts": ["b.test"], "secret": None,
                     "permanent": True}, f"expected the question of a sign-in; found {prompt.request}")
    env.recorded(before, ("signed", "localhost", "b.test", "sign in"))


def discoverable(env):
    """Signs in without a list; the response names the account."""
    agent = env.start_agent()
    env.needs_passkey()
    _, response = env.sign_in(agent, allow="any")
    must(response["response"].get("userHandle"), f"expected the account; found {response}")


def prf(env):
    """Asks for a secret at the registration and at the sign-in: both questions say so, and the secrets agree."""
    agent, before = env.start_agent(), len(env.journal())
    _, prompt, created = env.register(agent, extensions={"prf": {"eval": SALT}})
    must(prompt.request.get("secret") is True, f"expected a question about a secret; found {prompt.request}")
    must(created["clientExtensionResults"].get("prf", {}).get("enabled") is True,
         f"expected a passkey with PRF; found {created['clientExtensionResults']}")
    prompt, response = env.sign_in(agent, extensions={"prf": {"eval": SALT}})
    must(prompt.request.get("secret") is True, f"expected a question about a secret; found {prompt.request}")
    first, second = (one["clientExtensionResults"]["prf"].get("results", {}).get("first") for one in (created, response))
    must(second and first in (None, second), f"expected equal secrets; found {first} and {second}")
    env.recorded(before, ("signed", "with a secret"), ("signed", "with a secret"))
    return f"secret at the registration: {'yes' if first else 'no'}"


def excluded(env):
    """The phone has a passkey of the exclude list."""
    agent = env.start_agent()
    env.needs_passkey()
    before = len(env.journal())
    ask = env.ask(agent, env.site.creation_options(exclude_known=True))
    env.confirmed(ask)
    refused(ask, "InvalidStateError", 77)
    must("already has a passkey" in ask.complaint(), f"expected the reason; found {ask.complaint()}")
    env.recorded(before, ("failed", "localhost", "b.test"))


def declined_here(env):
    """The user cancels the question: no code was shown, nothing is left."""
    agent = env.start_agent()
    env.needs_passkey()
    before = len(env.journal())
    ask = env.ask(agent, env.site.request_options())
    prompt = env.question(ask)
    prompt.answer("cancel")
    env.ended(ask)
    refused(ask, "NotAllowedError", 77)
    must(prompt.code is None, f"expected no code; found {prompt.events}")
    nothing_left(agent.program, prompt)
    env.recorded(before, ("declined", "localhost", "b.test"))


def cancelled_here(env):
    """The user cancels while the code is shown."""
    agent = env.start_agent()
    env.needs_passkey()
    before = len(env.journal())
    ask = env.ask(agent, env.site.request_options())
    prompt = env.question(ask)
    prompt.answer("proceed")
    env.code(prompt, ask)
    prompt.answer("cancel")
    env.ended(ask)
    refused(ask, "NotAllowedError", 77)
    nothing_left(agent.program, prompt)
    env.recorded(before, ("cancelled", "localhost", "b.test"))


def declined_on_phone(env):
    """The user declines on the phone."""
    agent = env.start_agent()
    env.needs_passkey()
    before = len(env.journal())
    ask = env.ask(agent, env.site.request_options())
    prompt = env.confirmed(ask, person=Person(answer="no"))
    refused(ask, "NotAllowedError", 77)
    nothing_left(agent.program, prompt)
    env.recorded(before, ("failed", "localhost", "b.test"))


def unanswered(env):
    """Nobody answers the question within the time limit of the agent; the website's own limit does not count."""
    agent = env.start_agent("--timeout", "2")
    env.needs_passkey()
    before = len(env.journal())
    ask = env.ask(agent, {**env.site.request_options(), "timeout": 600_000})
    prompt = env.question(ask)
    env.ended(ask)
    refused(ask, "NotAllowedError", 75)
    nothing_left(agent.program, prompt)
    env.recorded(before, ("no answer to the question", "localhost", "b.test"))


def wrong_origin(env):
    """An origin of another domain: none that could be related is asked about, and no code is shown for any."""
    agent = env.start_agent()
    env.needs_passkey()
    before = len(env.journal())
    # It could be related to the domain, which a look there denies after the user has agreed.
    ask = env.ask(agent, env.site.request_options(), origin="https://evil.example")
    prompt = env.question(ask)
    must(prompt.request.get("origin") == "https://evil.example", f"expected the origin; found {prompt.request}")
    prompt.answer("proceed")
    env.ended(ask)
    refused(ask, "SecurityError", 65)
    must(prompt.code is None, f"expected no code; found {prompt.events}")
    prompts = env.prompts.count
    for origin, name in (("http://evil.example", "SecurityError"), ("chrome-extension://abc", "SecurityError"),
                         ("localhost", "TypeError")):
        ask = env.ask(agent, env.site.request_options(), origin=origin)
        env.ended(ask)
        refused(ask, name, 65)
    must(env.prompts.count == prompts, "expected no question; found one")
    env.recorded(before, ("failed", "localhost", "b.test"), *[("refused", "unusable", "b.test")] * 3)


def permanent(env):
    """An answer for the future: no question follows, except for secrets and registrations."""
    agent = env.start_agent()
    env.needs_passkey()
    try:
        env.sign_in(agent, word="proceed-always")
        listed = env.remote("list").stdout
        must("localhost" in listed and "with secrets" not in listed, f"expected localhost without secrets; found {listed}")
        options = env.site.request_options()
        ask = env.ask(agent, options)
        prompt = env.prompts.next("scan", ask)
        must("use-phone" not in prompt.states, f"expected no question; found {prompt.states}")
        env.scanned(prompt, ask)
        env.site.verify_request(ask.response, options["challenge"])
        prompt, _ = env.sign_in(agent, extensions={"prf": {"eval": SALT}}, word="proceed-always")
        must(prompt.request.get("permanent") is True, f"expected the choice for the future; found {prompt.request}")
        must("with secrets" in env.remote("list").stdout, "expected the permission to have secrets; it has not")
        env.register(agent, account="grace@example.com")
        env.remote("forget", "b.test", "--site", "localhost")
        env.sign_in(agent)
    finally:
        env.forget("b.test", "--site", "localhost")


def permissions(env):
    """`hybrid-key remote` permits hosts by name and by fingerprint, lists and removes them."""
    env.forget("b.test")
    try:
        must("no host is permitted" in env.remote("list").stderr, "expected an empty list; found another")
        env.allow(env.b.fingerprint)
        env.allow("c.test", "--site", "shop.example", "--secret")
        listed = env.remote("list").stdout
        must(f"{env.b.fingerprint}" in listed and f"c.test  {env.c.fingerprint}\n    shop.example  with secrets" in listed,
             f"expected both hosts; found {listed}")
        env.needs_passkey()
        env.sign_in(env.start_agent())
        # By its name, although the fingerprint was permitted.
        env.remote("forget", "b.test")
        env.remote("forget", "c.test")
        unknown = env.remote("forget", "c.test", check=False)
        must(unknown.returncode == 66 and "has no such permission" in unknown.stderr, f"expected status 66; found {unknown}")
        never = env.remote("allow", "nowhere.test", check=False)
        must(never.returncode != 0 and len(never.stderr.splitlines()) == 1, f"expected one line; found {never}")
        return never.stderr.strip()
    finally:
        env.allow("b.test")


def refused(ask, name, status):
    """Checks the one line and the status of `hybrid-remote ask` after a failure."""
    line = ask.complaint()
    must(ask.status == status and name in line,
         f"expected status {status} and {name}; it {ask.ending}: {line}")


CEREMONIES = {
    "isolated": isolated, "register": register, "sign-in": sign_in, "discoverable": discoverable, "prf": prf,
    "excluded": excluded, "declined-here": declined_here, "cancelled-here": cancelled_here,
    "declined-on-phone": declined_on_phone, "unanswered": unanswered, "wrong-origin": wrong_origin,
    "permanent": permanent, "permissions": permissions,
}
