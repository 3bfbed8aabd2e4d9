# SPDX-License-Identifier: Apache-2.0
"""What the lab's phone does, and the outcome with each client."""
import json

from harness.waiting import Failed

PROTOCOL = "openid4vp-v1-unsigned"
# The longest body of a message: a frame of 1 MiB without tag, padding and type.
LONGEST = (2**20 - 16) // 32 * 32 - 2


def present(env):
    expected = {"protocol": PROTOCOL, "data": {
        "lab": "not a real credential", "origin": env.origin, "operation": "credential.get"}}
    return _compare(env, "approve", expected, expected)


def longest(env):
    head, tail = '{"response":{"digital":{"data":{"protocol":"p","data":{"x":"', '"}}}}}'
    padding = "A" * (LONGEST - len(head) - len(tail))
    expected = {"protocol": "p", "data": {"x": padding}}
    return _compare(env, _reply(env, head + padding + tail), expected, expected)


def failing(script, ours, chromium):
    return lambda env: _compare(env, script, ours, chromium)


def replying(text, ours, chromium):
    return lambda env: _compare(env, _reply(env, text), ours, chromium)


def _reply(env, text):
    path = env.folder.scratch / "reply.json"
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    return f"reply:{path}"


def _compare(env, script, ours, chromium):
    words = []
    for who, outcome, expected in (("hybrid-client", env.ours(script), ours),
                                   ("Chromium", env.chromium(script), chromium)):
        found = outcome.failure or outcome.credential
        if found != expected:
            raise Failed(f"{who}: expected {str(expected)[:300]}, found {str(found)[:300]}")
        words.append(f"{who} {outcome.failure or 'has the credential'}")
    return ", ".join(words)


def _data(value):
    return json.dumps({"response": {"digital": {"data": value}}})


MISBEHAVED = "65 phone-misbehaved"
CASES = {
    "present": present,
    "deny": failing("deny", "77 declined", "NotAllowedError"),
    "no credential": failing("error:NO_CREDENTIAL", "66 no-digital-credential", "NotAllowedError"),
    "aborted by the phone": failing("error:DEVICE_ABORTED", "75 aborted-by-phone", "AbortError"),
    "another error": failing("error:TROUBLE", "69 wallet-failed", "NetworkError"),
    "the phone vanishes": failing("vanish:request", "75 phone-vanished", "NetworkError"),
    "the phone has no wallet": failing("no-wallet", "77 phone-lacks-digital-credentials", "NetworkError"),
    "a reply of 1 MiB": longest,
    # Chromium requires the protocol by now.
    "a reply of an older phone": replying(
        _data({"vp_token": "x"}), {"protocol": PROTOCOL, "data": {"vp_token": "x"}}, "NetworkError"),
    "no JSON": replying('{"response":', MISBEHAVED, "NetworkError"),
    "JSON with bytes that are no UTF-8": replying('{"response":{"digital":{"data":{"x":"\udcff"}}}}', MISBEHAVED, "NetworkError"),
    "JSON with a repeated name": replying('{"response":{"digital":{"data":{},"data":{}}}}', MISBEHAVED, "NetworkError"),
    "JSON that is nested deeply": replying(_data(0).replace("0", "[" * 5000 + "]" * 5000), MISBEHAVED, "NetworkError"),
    "an array": replying("[]", MISBEHAVED, "NetworkError"),
    "data and an error": replying('{"response":{"digital":{"data":{},"error":"X"}}}', MISBEHAVED, "NetworkError"),
}
