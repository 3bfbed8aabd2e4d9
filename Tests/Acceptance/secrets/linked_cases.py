# SPDX-License-Identifier: Apache-2.0
"""The case of a linked phone, which needs no code: the phone in Python, in processes of its own."""
import base64
import json
import re
import secrets
import sys

import algorithms
import authenticator
import ctap
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from environment import succeeded
from files import TEXT, encrypted
from harness.programs import brief
from harness.waiting import must
from life import QUICK

LIMIT = 60


def linked(env):
    """`check --phone`, age and `run` ask a linked phone without a code; with the phone away, the code follows."""
    keys, link = (env.folder.scratch / f"linked-{name}.json" for name in ("keys", "link"))
    name = _link(env, keys, link)
    file = encrypted(env, env.identity(QUICK).recipient)
    for words, text in (([env.key, "secret", "check", QUICK, "--phone", name], ""),
                        (["age", "-d", "-i", env.file(QUICK), file], TEXT),
                        ([env.key, "secret", "run", QUICK, "--", "cat"], "")):
        phone = _phone(env, keys, "--listen", link)
        env.waiting.until("the phone to listen", lambda: "listening" in phone.said(), LIMIT)
        program = env.run(*words)
        prompt = env.prompts.next("phone-notified")
        env.ended(program)
        succeeded(program, text)
        must("scan" not in prompt.states, f"expected no code; found {prompt.states}")
        env.ended(phone)
    program = env.secret("check", QUICK)
    prompt = env.prompts.next(program=program)
    must("contacting" in prompt.states, f"expected the linked phone to be asked first; found {prompt.states}")
    env.answer(prompt, env.quick)
    env.ended(program)
    succeeded(program)


def _link(env, keys, link):
    """Links the phone by an SSH key that it has; returns its name."""
    key, identifier, site = algorithms.new_key(ctap.ES256), secrets.token_bytes(20), "ssh-acceptance.invalid"
    passkey = {"rp": site, "user": "01", "key": algorithms.stored(key).hex()}
    keys.write_text(json.dumps({**env.quick.passkeys, identifier.hex(): passkey}))
    point = key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    fields = (b"sk-ecdsa-sha2-nistp256@openssh.com", b"nistp256", point, site.encode())
    blob = b"".join(len(field).to_bytes(4, "big") + field for field in fields)
    blob, identifier = (base64.urlsafe_b64encode(data).decode().rstrip("=") for data in (blob, identifier))
    brief([str(env.programs.key), "ssh-keys", "import", "-"], environment=env.environment,
          text=f"# hybrid-key ssh keys 1\n{blob} {identifier} - acceptance\n")
    run = env.run(env.programs.key, "link", "--json", *env.route, pipe_input=True)

    def found(pattern):
        must(run.status is None, f"expected {pattern}; hybrid-key {run.ending}: {run.said()}")
        return re.search(pattern, run.said())

    code = env.waiting.until("a code", lambda: found(r"FIDO:/\d+"), LIMIT)[0]
    phone = _phone(env, keys, "--link", link, text=code + "\n")
    offer = env.waiting.until("the offer of a link", lambda: found(r'\{[^\n]*"link-offer"[^\n]*\}'), LIMIT)[0]
    run.write("yes\n")
    env.ended(run)
    env.ended(phone)
    succeeded(run)
    return json.loads(offer)["phone"]


def _phone(env, keys, *options, text=None):
    return env.run(sys.executable, "-u", authenticator.__file__, "--relay", f"127.0.0.1:{env.relay.port}", "--ca",
                   env.certificates.authority, "--inspect", "--keys", keys, *options, text=text)


CASES = {"linked": linked}
