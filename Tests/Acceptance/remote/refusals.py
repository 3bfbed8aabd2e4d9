# SPDX-License-Identifier: Apache-2.0
"""Requests that the agent refuses: nothing in its answer tells the other host why."""
import os

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from environment import website
from harness.phone import Person
from harness.programs import Program
from harness.ssh_agent import EXTENSION_FAILURE, FAILURE, IDENTITIES, SUCCESS, AgentClient, login, string
from harness.waiting import must
from hosts import RAW_COMMAND, raw_answers, raw_input


def refusal(env):
    """Returns the bytes that a host without a permission gets."""
    agent = env.start_agent()
    env.forget("b.test")
    try:
        (answer, _), = env.raw(agent, website("get", env.site.request_options(allow="any")))
    finally:
        env.allow("b.test")
    must(b'"refused"' in answer and b'"NotAllowedError"' in answer, f"expected a refusal; found {answer}")
    return answer


def same_bytes(env):
    """A host without a permission gets the bytes of every other refusal, and the journal has the reasons."""
    env.needs_passkey()
    before, prompts = len(env.journal()), env.prompts.count
    missing = refusal(env)
    must(env.prompts.count == prompts, "expected no question of a host without a permission; found one")
    env.recorded(before, ("refused", "has no permission", "b.test"))
    found = {}
    agent = env.start_agent()
    message = website("get", env.site.request_options())
    declined = env.start_raw(agent, message)
    prompt = env.question(declined)
    (found["busy"], _), = env.raw(agent, message)
    prompt.answer("cancel")
    env.ended(declined)
    (found["declined"], _), = raw_answers(declined.said())
    for name in ("cancelled", "declined on the phone"):
        run = env.start_raw(agent, message)
        prompt = env.question(run)
        prompt.answer("proceed")
        env.code(prompt, run)
        if name == "cancelled":
            prompt.answer("cancel")
        else:
            env.ended(env.scan(prompt, Person(answer="no")))
        env.ended(run)
        (found[name], _), = raw_answers(run.said())
    prompts = env.prompts.count
    (found["a fourth window in a minute"], _), = env.raw(agent, message)
    must(env.prompts.count == prompts, "expected no fourth window; found one")
    # Its own reason would tell a host without a permission that its request was read.
    for name, answer in found.items():
        must(answer == missing, f"expected the bytes of a missing permission for {name}:\n{missing}\nfound\n{answer}")
    must(len(env.journal()) >= before + 5, f"expected the reasons in the journal; found {env.journal()[before:]}")
    return ", ".join(found)


def unread(env):
    """A host without a permission does not learn whether its request was usable: all get the same bytes."""
    missing = refusal(env)
    agent = env.start_agent()
    env.forget("b.test")
    try:
        evil = website("get", env.site.request_options(allow="any"), origin="https://evil.example")
        answers = env.raw(agent, evil, website("steal", {}), b"\x1b" + string(b"webauthn@hybrid.invalid") + string(b"\xff"))
        must([answer for answer, _ in answers] == [missing] * 3, f"expected three refusals; found {answers}")
    finally:
        env.allow("b.test")


class HostKey:
    """The key of a host, with which this test proves sessions."""

    def __init__(self, file=None):
        self._key = serialization.load_ssh_private_key(file.read_bytes(), None) if file else Ed25519PrivateKey.generate()
        public = self._key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
        self.blob = string(b"ssh-ed25519") + string(public)

    def bind(self, forwarded, signer=None, session=None):
        """Returns the message that binds a connection to a session."""
        session = session or os.urandom(32)
        signature = string(b"ssh-ed25519") + string((signer or self)._key.sign(session))
        return (b"\x1b" + string(b"session-bind@openssh.com") + string(self.blob) + string(session) + string(signature)
                + bytes([forwarded]))


def bindings(env):
    """Without a binding, with a wrong one, and in a session that only logs in, nothing is asked; the agent says no more."""
    missing, agent, key = refusal(env), env.start_agent(), HostKey(env.b.folder / "host_key")
    message = website("get", env.site.request_options(allow="any"))
    before, prompts = len(env.journal()), env.prompts.count

    def answers(*first):
        # In a process of its own, because one that proves several hosts is refused for that.
        return env.raw_here(agent.socket, [*first, message])

    for name, found in (
            ("no binding", answers()), ("forwarded 0", answers(key.bind(False))),
            ("forwarded 0 behind forwarded 1", answers(key.bind(True), key.bind(False))),
            ("a stranger's host", answers(HostKey().bind(True))),
            ("a host behind a stranger's", answers(HostKey().bind(True), key.bind(True)))):
        must(found[-1] == missing and set(found[:-1]) <= {bytes([SUCCESS])},
             f"expected bindings and a refusal for {name}; found {found}")
    blob = string(b"ssh-ed25519") + string(bytes(32))
    sign = b"\x0d" + string(blob) + string(login(blob)) + bytes(4)
    for name, first in (("a wrong signature", key.bind(True, signer=HostKey())),
                        ("no signature", b"\x1b" + string(b"session-bind@openssh.com") + string(b"nothing"))):
        found = env.raw_here(agent.socket, [first, message, key.bind(True), message, sign])
        must(found[:2] + found[3:] == [bytes([EXTENSION_FAILURE])] * 3 + [bytes([FAILURE])],
             f"expected nothing on a connection with {name}; found {found}")
    found = env.raw_here(agent.socket, [key.bind(True), b"\x0b"], [key.bind(True), b"\x0b"], [key.bind(True), message])
    must(found[-1] == missing, f"expected a process with several sessions to be refused; found {found}")
    must(env.prompts.count == prompts, "expected no question; found one")
    env.needs_passkey()
    # The same binding with a right signature leads to a question.
    variables = {**env.environment, "SSH_AUTH_SOCK": str(agent.socket)}
    run = env.keep(Program("raw", RAW_COMMAND, log=env.folder.path("raw-here.log"), environment=variables,
                           text=raw_input([[key.bind(True), message]])))
    prompt = env.question(run)
    must(prompt.request["hosts"] == ["b.test"], f"expected the host of the binding; found {prompt.request}")
    prompt.answer("cancel")
    env.ended(run)
    must(raw_answers(run.said())[-1][0] == missing, f"expected the bytes of a refusal; found {run.said()}")
    return f"{len(env.journal()) - before} entries in the journal"


def hostile(env):
    """Requests that no program of ours sends: refused or closed, without a question; the agent serves others."""
    agent, prompts, options = env.start_agent(), env.prompts.count, env.site.request_options(allow="any")
    name = string(b"webauthn@hybrid.invalid")
    deep = b"[" * 100_000 + b"]" * 100_000
    unusable = {
        "broken UTF-8": b"\x1b" + name + string(b'{"version":1,"type":"get","origin":"\xff","publicKey":{}}'),
        "no JSON": b"\x1b" + name + string(b"get"), "nothing": b"\x1b" + name + string(b""),
        "deep": b"\x1b" + name + string(deep), "no member": website("get", {}),
        "another version": website("get", options, version=2), "an unknown member": website("get", options, more=1),
        "an unknown type": website("steal", options), "a frame without its page": website("get", options, crossOrigin=True),
        "a type that disagrees": website("create", options), "a wrong type": website("get", [options]),
        "ssh:": website("get", {**options, "rpId": "ssh:"}), "pam://": website("get", {**options, "rpId": "pam://b"}),
        "a number": website("get", {**options, "challenge": 7}),
    }
    for what, (answer, _) in zip(unusable, env.raw(agent, *unusable.values())):
        must(b'"unusable"' in answer, f"expected {what} to be unusable; found {answer}")
    trailing = website("get", options) + b"\0"
    (answer, _), = env.raw(agent, trailing)
    must(answer in (bytes([FAILURE]), bytes([EXTENSION_FAILURE])), f"expected trailing bytes to be refused; found {answer}")
    key = HostKey(env.b.folder / "host_key")
    for sent in (0, 256 * 1024 + 1):
        with AgentClient(agent.socket) as client:
            client.ask(key.bind(True))
            client.send(bytes(sent), length=256 * 1024 + 1)
            must(client.answer() is None, f"expected {sent} bytes of a message that is too long to end the connection")
    with AgentClient(agent.socket) as client:
        must(client.ask(b"\x0b")[0] == IDENTITIES, "expected the list of keys afterwards; found another answer")
    must(env.prompts.count == prompts, "expected no question; found one")
    return f"{len(unusable) + 1} messages"


REFUSALS = {"same-bytes": same_bytes, "unread": unread, "bindings": bindings, "hostile": hostile}
