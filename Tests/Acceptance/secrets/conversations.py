# SPDX-License-Identifier: Apache-2.0
"""The conversations of `Tests/Vectors/secrets.json` with the plug-in and a phone in Python."""
import threading

import fido2prf
import plugin
import sealed
from harness.waiting import must
from python_phone import PythonPhone

DENIED = "0x27"


def performed(chosen):
    """Returns the case of some conversations."""
    def case(env):
        faults = []
        for one in chosen:
            faults += [f"{one.name}: {fault}" for fault in _faults(env, one)]
        must(not faults, "\n".join(faults))
        return f"{len(chosen)}, {sum(one.approvals for one in chosen)} approvals"

    case.__doc__ = "Conversations with the plug-in: commands and number of approvals."
    return case


def _faults(env, one):
    """Performs a conversation; returns what is wrong."""
    before, result = env.prompts.count, []

    def perform():
        with open(env.folder.path("plugin.log"), "ab") as log:
            result.extend(one.perform(env.plugin, env.environment, log))

    thread = threading.Thread(target=perform, daemon=True)
    thread.start()
    answered = 0
    while thread.is_alive():
        env.waiting.until("the plug-in", lambda: env.prompts.count > before + answered or not thread.is_alive(), 60)
        if thread.is_alive():
            answered += 1
            prompt = env.prompts.next()
            env.answer(prompt, _phone(env, one, prompt.request["rp_id"]))
            env.waiting.until("the next prompt", lambda: env.prompts.count > before + answered
                              or not thread.is_alive(), 60)
    if env.prompts.count - before != one.approvals:
        result.append(f"expected {one.approvals} approvals; found {env.prompts.count - before}")
    return result


def _phone(env, one, rp_id):
    """Returns the phone of a conversation, with passkeys of one relying party: others have the same IDs."""
    phone = PythonPhone(env, *(["--status", DENIED] if one.phone == "deny" else []))
    if one.phone.startswith("key:"):
        for identity in one.identities:
            for identifier in (found for site, found in _passkeys(identity) if site == rp_id):
                phone.add(rp_id, identifier, bytes.fromhex(one.phone.removeprefix("key:")))
    return phone


def _passkeys(identity):
    try:
        if identity.startswith("AGE-PLUGIN-PHONE-"):
            read = sealed.Sealed.read(identity)
            return [(read.rp_id, phone.credential_id) for phone in read.phones]
        read = fido2prf.Identity.read(identity)
        return [(read.rp_id, read.credential_id)]
    except ValueError:  # The conversation is about that.
        return []


def unknown_machine(env):
    """Another state machine, or none: status 64, and nothing on standard output."""
    for words in (["--age-plugin=identity-v2"], ["--age-plugin="], ["--age-plugin=recipient-v1x"]):
        done = env.brief(env.plugin, *words, check=False)
        must(done.returncode == 64 and not done.stdout, f"expected status 64 after {words}; found {done}")


_ALL = plugin.conversations()
CASES = {
    "unasked": performed([one for one in _ALL if not one.approvals]),
    "unwrap": performed([one for one in _ALL if one.approvals and one.machine == plugin.IDENTITY]),
    "wrap": performed([one for one in _ALL if one.approvals and one.machine == plugin.RECIPIENT]),
    "unknown-machine": unknown_machine,
}
