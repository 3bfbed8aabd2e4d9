# SPDX-License-Identifier: Apache-2.0
"""Cases of fingerprints, one function each. They raise Failed with what was expected and found."""
import json

from vault_agent import KEY, MISS, RETRY, WAITING
from finger_environment import FINGER
from harness.waiting import must
from jeepney import DBusAddress, new_signal
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import open_dbus_connection

OWN, OTHER = "SCAN own", "SCAN other"
INVITATION = "Touch the fingerprint sensor, or type the PIN."


def _prompts(dialogues):
    return [any(question.startswith("GETPIN") for question in talk.questions) for talk in dialogues].count(True)


def _touch(env, *commands):
    """Asks the agent for a key, and gives the sensor one command after the other."""
    request = env.agent.release(env.vault_id)
    env.sensor.commands(*commands)
    return request


def sign_in(env):
    """One finger for each of two sign-ins; the PIN is offered at the same time."""
    env.ready()
    for _ in range(2):
        said, talks = env.sign_in("yes", lambda: env.sensor.commands(OWN))
        must(INVITATION in talks[0].description and _prompts(talks) == 1, f"expected one prompt; found {talks}")
    must("> D" not in env.folder.path("pinentry.log").read_text().rpartition(INVITATION)[2], "expected no PIN")
    must(env.sensor.is_free(), "expected the device to be released")


def typed(env):
    """The PIN wins, and the sensor is released."""
    env.ready()
    _, talks = env.sign_in("no")
    must(INVITATION in talks[0].description, f"expected the invitation; found {talks[0]}")
    env.waiting.until("the device to be released", env.sensor.is_free, 60)


def match(env):
    """Each match releases the same key once; the next request needs another match."""
    env.ready()
    keys = set()
    for _ in range(2):
        key, progress = _touch(env, OWN).key()
        must(progress == [WAITING], f"expected one attempt; found {progress}")
        keys.add(key)
    must(len(keys) == 1, "expected the same key")
    request = _touch(env).waits()
    request.close()
    env.waiting.until("the device to be released", env.sensor.is_free, 60)


def give(env):
    """A finger opens the vault whose passkeys are given away; without one, its PIN does."""
    env.ready()
    result, talks = env.give(lambda: env.sensor.commands(OWN))
    invited = [talk for talk in talks if INVITATION in talk.description]
    must(result["given"] == 1 and len(invited) == _prompts(talks) == 1, f"expected one prompt; found {result}, {talks}")
    must(env.sensor.is_free(), "expected the device to be released")
    env.agent.start()
    result, talks = env.give(lambda: None)
    must(result["given"] == 1 and _prompts(talks) == 1, f"expected the PIN; found {result}, {talks}")
    must(not [talk for talk in talks if INVITATION in talk.description], "expected no invitation without a key")


def misses(env):
    """Three fingers that do not match: the PIN is needed; a match before the third resets the count."""
    env.ready()
    _, progress = _touch(env, OTHER, OTHER, OWN).key()
    must(progress.count(MISS) == 2, f"expected two misses; found {progress}")
    must(_touch(env, OTHER, OTHER, OTHER).failure() == "misses", "expected the third miss to end the request")
    must(env.agent.refused(env.vault_id) == "misses" and env.agent.status()[0] == [], "expected no key")
    env.sign_in("no")
    env.waiting.until("the PIN to restore the key", lambda: env.agent.status() == ([env.vault_id], 0), 60)
    said, talks = env.sign_in("yes", lambda: env.sensor.commands(OTHER, OTHER, OTHER))
    must("did not match 3 times" in said and _prompts(talks) == 2, f"expected a second prompt; found {said}")


def misses_add_up(env):
    """Misses of several requests count together."""
    env.ready()
    request = _touch(env, OTHER).waits()
    env.waiting.until("a miss", lambda: env.agent.status()[1] == 1, 60)
    request.close()
    env.waiting.until("the device to be released", env.sensor.is_free, 60)
    must(_touch(env, OTHER, OTHER).failure() == "misses", "expected the third miss to end the request")


def retry(env):
    """A finger that is not read is no miss."""
    env.ready()
    _, progress = _touch(env, "RETRY 1", OWN).key()
    must(progress == [WAITING, RETRY], f"expected a retry; found {progress}")
    must(env.agent.status()[1] == 0, "expected no miss")


def unplugged(env):
    """The device disappears during a verification: a sentence, and the PIN."""
    env.ready()
    request = _touch(env).waits()
    env.sensor.commands("UNPLUG")
    failure = request.failure()
    must(failure in ("sensor failed", "disconnected"), f"expected a failure of the sensor; found {failure}")
    env.waiting.until("fprintd to have no device", env.sensor.is_gone, 60)
    must(env.agent.refused(env.vault_id) == "no device", "expected no device")
    said, talks = env.sign_in("yes")
    must("finds no fingerprint sensor" in said and _prompts(talks) >= 1, f"expected the PIN; found {said}")


def in_use(env):
    """Another program has the device."""
    env.ready()
    with env.sensor.user() as other:
        other.must("Claim", "s", ("",))
        must(env.agent.refused(env.vault_id) == "in use", "expected the device to be in use")
    env.waiting.until("the device to be released", env.sensor.is_free, 60)
    _touch(env, OWN).key()


def finger_added(env):
    """A finger is enrolled behind the user's back: the PIN is needed until the user enables fingerprints again."""
    env.ready()
    env.sensor.enroll("left-thumb", "thief")
    must(env.agent.refused(env.vault_id) == "fingers changed", "expected no finger to match")
    must(env.agent.status()[0] == [], "expected no key")
    said, _ = env.sign_in("no")
    must("the enrolled fingers have changed" in said and env.agent.status()[0] == [], f"expected a warning; found {said}")
    env.ready()
    # The virtual device compares with one finger only, which fprintd chooses by the order of files.
    request = _touch(env, "SCAN thief").waits()
    if request.next()[0] != KEY:
        env.sensor.commands(OWN)
        request.key()
    with env.sensor.user() as user:
        user.must("Claim", "s", ("",))
        user.must("DeleteEnrolledFinger", "s", ("left-thumb",))
    must(env.agent.refused(env.vault_id) == "fingers changed", "expected a removed finger to be noticed")


def record_forged(env):
    """The record of the fingers is sealed: without the PIN, it cannot be replaced."""
    env.ready()
    record = next(env.folder.phone.glob("state/hybrid/*/fingers"))
    record.write_bytes(record.read_bytes()[:-1] + b"\0")
    env.agent.start()
    said, _ = env.sign_in("no")
    must("no fingerprint next time" in said and env.agent.status()[0] == [], f"expected no key; found {said}")


def cancelled(env):
    """The client of the agent leaves, or the agent is stopped: the device is released."""
    env.ready()
    _touch(env).waits().close()
    env.waiting.until("the device to be released", env.sensor.is_free, 60)
    _touch(env).waits()
    must(env.agent.stop() == [] and env.sensor.is_free(), "expected the device to be released at the end")
    env.agent.start()


def busy(env):
    """One request waits for a finger at a time."""
    env.ready()
    first = _touch(env).waits()
    must(env.agent.refused(env.vault_id) == "busy", "expected a second request to be refused")
    first.close()


def restarted(env):
    """After a restart of the agent, the PIN is needed."""
    env.ready()
    env.agent.start()
    must(env.agent.refused(env.vault_id) == "PIN first", "expected no key")
    _, talks = env.sign_in("yes")
    must(INVITATION not in talks[0].description, "expected no invitation")
    _touch(env, OWN).key()


def without_agent(env):
    """hybrid-auth scan works without the agent."""
    env.ready()
    env.agent.stop()
    said, talks = env.sign_in("yes")
    must(_prompts(talks) == 1 and "agent is not running" in said, f"expected the PIN; found {said}")
    done = env.vault("finger", "enable", check=False)
    must(done.returncode == 69 and "systemctl" in done.stderr, f"expected a remedy; found {done}")
    env.agent.start()


def suspended(env):
    """A suspend discards the key; a program that is not logind cannot cause that."""
    env.ready()
    login = DBusAddress("/org/freedesktop/login1", interface="org.freedesktop.login1.Manager")
    signal = new_signal(login, "PrepareForSleep", "b", (True,))
    with open_dbus_connection(bus=env.radio.address) as bus:
        bus.send(signal)
        bus.send_and_get_reply(message_bus.GetId())
        must(env.agent.status()[0] == [env.vault_id], "expected the key to stay")
        bus.send_and_get_reply(message_bus.RequestName("org.freedesktop.login1"))
        bus.send(signal)
        env.waiting.until("the key to be discarded", lambda: env.agent.status()[0] == [], 60)
    must(env.agent.refused(env.vault_id) == "suspended", "expected the PIN to be needed after a suspend")


def denied(env):
    """polkit allows nothing."""
    env.ready()
    env.sensor.deny.touch()
    must(env.agent.refused(env.vault_id) == "not permitted", "expected the refusal of polkit")


def forged(env):
    """A match that another program sends to the agent does not count."""
    env.ready()
    request = _touch(env).waits()
    with env.sensor.user() as thief:
        names = thief.bus.send_and_get_reply(message_bus.ListNames()).body[0]
        for name in names:
            if name.startswith(":"):
                thief.forge(name)
        thief.bus.send_and_get_reply(message_bus.GetId())
    env.sensor.commands(OTHER)
    kind, _ = request.next()
    must(kind != KEY, "expected the forged match to be ignored")
    request.close()


def disabled(env):
    """vault finger status and disable."""
    env.ready()
    status = json.loads(env.vault("finger", "status", "--json"))
    must(status["enabled"] and status["agent"] and status["fingers"] == [FINGER] and status["secondsLeft"] > 43000,
         f"expected fingerprints to be on; found {status}")
    env.vault("finger", "disable")
    status = json.loads(env.vault("finger", "status", "--json"))
    must(not status["enabled"] and status["secondsLeft"] is None, f"expected fingerprints to be off; found {status}")
    _, talks = env.sign_in("no")
    must(INVITATION not in talks[0].description and env.agent.status()[0] == [], "expected the PIN alone")


def doctor(env):
    """The doctor reports the sensor and the agent, without a claim of the sensor."""
    def expect(*expected):
        report = json.loads(env.doctor().stdout)
        for check, (wanted, words) in zip(("fingerprint", "fingerprint-service"), expected):
            state, text = next((row["state"], row["found"]) for row in report["checks"] if row["check"] == check)
            must(state == wanted and words in text, f"expected {check} {wanted} with {words!r}; found {state}: {text}")

    env.ready()
    with env.sensor.user() as other:
        other.must("Claim", "s", ("",))
        expect(("ok", "with 1 finger"), ("ok", "holds a key"))
        other.must("Release")
    env.agent.start()
    expect(("ok", "with 1 finger"), ("ok", "has no key yet"))
    env.agent.stop()
    expect(("ok", "with 1 finger"), ("warning", "agent is not running"))
    env.agent.start()
    env.vault("finger", "disable")
    expect(("ok", "not used"), ("skipped", "not checked"))


def malformed(env):
    """Requests that are not in the protocol."""
    for kind, body in ((0, b""), (9, b""), (2, b"short"), (3, b"more"), (1, bytes(50)), (1, bytes(49) + b"\1\xff")):
        must(env.agent.request(kind, body).failure() == "malformed", f"expected {kind} {body} to be refused")


CASES = {
    "finger-sign-in": sign_in, "finger-typed": typed, "finger-match": match, "finger-give": give, "finger-misses": misses,
    "finger-misses-add-up": misses_add_up, "finger-retry": retry, "finger-unplugged": unplugged, "finger-in-use": in_use,
    "finger-added": finger_added, "finger-record-forged": record_forged, "finger-cancelled": cancelled,
    "finger-busy": busy, "finger-restarted": restarted, "finger-without-agent": without_agent,
    "finger-suspended": suspended, "finger-denied": denied, "finger-forged": forged, "finger-disabled": disabled,
    "finger-doctor": doctor, "finger-malformed": malformed,
}
