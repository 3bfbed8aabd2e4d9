# SPDX-License-Identifier: Apache-2.0
"""Cases of the security key, one function each. They raise Failed with what was expected and found."""
import base64
import hashlib
import os
import signal
import statistics
import threading

from device import ERROR
from fido2 import cbor
from fido2.cose import ES256
from fido2.ctap import CtapError
from fido2.hid import CAPABILITY
from fido2.webauthn import AuthenticatorData
from harness.hybrid_key import LIMIT
from harness.phone import Person
from harness.programs import Program
from harness.waiting import must, poll
from libfido2 import FALSE

SITE = "example.com"
HASH = hashlib.sha256(b"client data").digest()
# The hash in requests of which no client uses the signature.
PROBE = hashlib.sha256(b"").digest()
ES256_ONLY = [{"type": "public-key", "alg": ES256.ALGORITHM}]
PING, CBOR, CANCEL = 0x81, 0x90, 0x91
GET_INFO = b"\x04"
BUSY = 6
STATUS = CtapError.ERR


def create(ctap, relying_party=SITE, exclude=None, **options):
    user = {"id": os.urandom(16), "name": "ada"}
    return ctap.make_credential(HASH, {"id": relying_party}, user, ES256_ONLY, exclude, **options)


def descriptors(*ids):
    return [{"type": "public-key", "id": one, "transports": ["usb"]} for one in ids]


def register(env):
    """python-fido2 reads the key's description and registers; the other cases use the credential."""
    key = env.start_key()
    ctap, seen = key.fido2(), []
    must(ctap.device.capabilities == CAPABILITY.CBOR | CAPABILITY.NMSG,
         f"expected CBOR without MSG; found {ctap.device.capabilities}")
    info = ctap.info
    must(info.versions == ["FIDO_2_0", "FIDO_2_1"] and not info.extensions
         and info.options == {"rk": True, "up": True, "uv": True, "plat": False}
         and (info.max_msg_size, info.max_creds_in_list, info.max_cred_id_length) == (7609, 64, 1023),
         f"expected the description of docs; found {info}")
    for length in (0, 57, 58, 7609):
        message = os.urandom(length)
        must(ctap.device.ping(message) == message, f"expected a ping of {length} bytes to return; found another message")
    call = key.call(create, ctap, options={"rk": True}, on_keepalive=seen.append)
    prompt = env.confirmed(call, key=key)
    created = call.result()
    must((prompt.request["operation"], prompt.request["rp_id"]) == ("create", SITE),
         f"expected a prompt for a new passkey of {SITE}; found {prompt.request}")
    flags = AuthenticatorData.FLAG.UP | AuthenticatorData.FLAG.UV | AuthenticatorData.FLAG.AT
    must(created.auth_data.flags & flags == flags
         and created.auth_data.rp_id_hash == hashlib.sha256(SITE.encode()).digest(),
         f"expected a credential of a verified user; found {created}")
    must(seen == [2], f"expected keepalives that ask for the user; found {seen}")
    credential = created.auth_data.credential_data
    env.credential = credential.credential_id, credential.public_key
    env.logged("created")


def sign_in(env):
    """python-fido2 signs in with a list of credentials, and without one."""
    key, (credential, public_key) = env.start_key(), env.credential
    ctap = key.fido2()
    for allowed in (descriptors(b"unknown", credential), None):
        call = key.call(ctap.get_assertion, SITE, HASH, allowed)
        prompt = env.confirmed(call, key=key)
        assertion = call.result()
        must(prompt.request["operation"] == "sign-in", f"expected a prompt for a sign-in; found {prompt.request}")
        assertion.verify(HASH, public_key)
        must(assertion.auth_data.is_user_verified(), "expected a verified user; found none")
        must(assertion.number_of_credentials is None, f"expected one credential; found {assertion}")
        if allowed:
            must(assertion.credential["id"] == credential and not assertion.user_selected,
                 f"expected the credential of the list; found {assertion}")
        env.logged("signed")


def excluded(env):
    """The phone has a credential of the exclude list: the client learns it after the user."""
    key = env.start_key()
    call = key.call(create, key.fido2(), exclude=descriptors(b"unknown", env.credential[0]))
    prompt = env.confirmed(call, key=key)
    call.fails(STATUS.CREDENTIAL_EXCLUDED)
    key.leaves_nothing(prompt)
    env.logged("failed: already registered")


def probes(env):
    """Silent requests and refusals, all without a prompt: several credentials at once, AppIDs, foreign commands."""
    key, before = env.start_key(), env.prompts.count
    ctap = key.fido2()

    def refused(status, what, function, *arguments, **options):
        try:
            function(*arguments, **options)
        except CtapError as error:
            must(error.code == status, f"expected {what} to fail with {status:#x}; found {error}")
        else:
            must(False, f"expected {what} to fail; it succeeded")

    silent = {"up": False}
    ids = [b"\1", b"\2", env.credential[0]]
    assertions = ctap.get_assertions(SITE, PROBE, descriptors(*ids), options=silent)
    found = [assertion.credential["id"] for assertion in assertions]
    must(found == ids, f"expected every credential of the list; found {found}")
    must(not any(assertion.auth_data.is_user_present() for assertion in assertions), "expected no user; found one")
    refused(STATUS.NOT_ALLOWED, "a further assertion", ctap.get_next_assertion)
    listed = descriptors(b"\1")
    for app_id in ("https://example.com", "https://example.com/u2f/appid.json"):
        refused(STATUS.NO_CREDENTIALS, "a silent AppID", ctap.get_assertion, app_id, PROBE, listed, options=silent)
        refused(STATUS.NO_CREDENTIALS, "an AppID", ctap.get_assertion, app_id, HASH, listed)
    refused(STATUS.NO_CREDENTIALS, "an empty silent list", ctap.get_assertion, SITE, PROBE, options=silent)
    refused(STATUS.UNSUPPORTED_OPTION, "a signature without a touch", ctap.get_assertion, SITE, HASH, listed,
            options=silent)
    refused(STATUS.INVALID_COMMAND, "clientPIN", ctap.client_pin, 2, 2)
    refused(STATUS.INVALID_COMMAND, "reset", ctap.reset)
    must(env.prompts.count == before, "expected no prompt; found one")


def selection(env):
    """A client asks which key the user wants: selected, cancelled by the client, cancelled by the user."""
    key = env.start_key()
    ctap = key.fido2()
    call = key.call(ctap.selection)
    prompt = env.prompts.next("use-phone", key.program)
    must(prompt.request["operation"] == "select", f"expected a prompt for a selection; found {prompt.request}")
    prompt.answer("proceed")
    call.result()
    key.leaves_nothing(prompt)
    cancel = threading.Event()
    call = key.call(ctap.selection, event=cancel)
    prompt = env.prompts.next("use-phone", key.program)
    cancel.set()
    call.fails(STATUS.KEEPALIVE_CANCEL)
    key.leaves_nothing(prompt)
    call = key.call(ctap.selection)
    prompt = env.prompts.next("use-phone", key.program)
    prompt.answer("cancel")
    call.fails(STATUS.KEEPALIVE_CANCEL)
    key.leaves_nothing(prompt)


def dummies(env):
    """Browsers' requests for a touch: a dummy of Chromium, one of Firefox, and an empty PIN."""
    key = env.start_key()
    ctap = key.fido2()
    empty = {"pin_uv_param": b""}
    for relying_party, options in ((".dummy", {}), ("make.me.blink", empty), (SITE, empty)):
        call = key.call(create, ctap, relying_party, **options)
        prompt = env.prompts.next("use-phone", key.program)
        prompt.answer("proceed")
        call.fails(STATUS.PIN_NOT_SET)
        key.leaves_nothing(prompt)


def declined(env):
    """The phone's user declines: the client gets a status after which it does not ask again."""
    key = env.start_key()
    call = key.call(key.fido2().get_assertion, SITE, HASH, descriptors(env.credential[0]))
    prompt = env.confirmed(call, Person(answer="no"), key)
    call.fails(STATUS.USER_ACTION_TIMEOUT)
    key.leaves_nothing(prompt)
    env.logged("declined")


def cancelled(env):
    """The client cancels while the code is shown and while the phone asks its user; the user cancels at the prompt."""
    key = env.start_key()
    ctap = key.fido2()
    for stage in ("scan", "confirm", "prompt"):
        cancel, phone = threading.Event(), None
        call = key.call(create, ctap, event=cancel)
        prompt = env.prompts.next(program=key.program)
        if stage == "confirm":
            phone = env.scan(prompt, Person(answer="never"))
            env.waiting.until("the state confirm", lambda: "confirm" in prompt.states, 60)
        if stage == "prompt":
            prompt.answer("cancel")
        else:
            cancel.set()
        call.fails(STATUS.KEEPALIVE_CANCEL)
        key.leaves_nothing(prompt)
        if phone:
            env.ended(phone)
        env.logged("cancelled")
        must(ctap.device.ping(b"still there") == b"still there", "expected a usable channel afterwards; found none")


def keepalives(env):
    """While a client waits: keepalives at least ten times a second, and other clients are served."""
    key = env.start_key()
    waiting, other = key.device.open(), key.device.open()
    waiting.init()
    other.init()
    before = env.prompts.count
    request = bytes([1]) + encoded_creation()
    waiting.send(CBOR, request)
    prompt = env.prompts.next(program=key.program)
    for _ in range(20):
        waiting.receive()
        must(other.exchange(PING, b"hello") == b"hello", "expected a ping to return; found another message")
    must(other.exchange(CBOR, GET_INFO)[:1] == b"\0", "expected the description on another channel; found an error")
    third = key.device.open()
    third.init()
    third.send(CBOR, request)
    found = third.receive()
    must(found == (ERROR, bytes([BUSY])), f"expected the key to be busy for a second request; found {found}")
    must(env.prompts.count == before + 1, "expected one prompt; found two")
    waiting.send(CANCEL)
    command, reply = waiting.receive()
    while command != CBOR:
        command, reply = waiting.receive()
    must(reply == bytes([STATUS.KEEPALIVE_CANCEL]), f"expected the end of the request; found {reply.hex()}")
    key.leaves_nothing(prompt)
    times = waiting.keepalives
    pauses = [late - early for early, late in zip(times, times[1:])]
    usual, longest = statistics.median(pauses), max(pauses)
    # A busy machine delays some of them, but none may be early, and clients give up after some seconds.
    must(usual > 0.09, f"expected keepalives every 100 ms; found {usual * 1000:.0f} ms")
    must(longest < 2, f"expected no gap of two seconds; found {longest:.1f} s")
    return f"every {usual * 1000:.0f} ms, at most {longest * 1000:.0f} ms"


def encoded_creation():
    """Returns the map of a registration in canonical CBOR."""
    return cbor.encode({1: HASH, 2: {"id": SITE}, 3: {"id": os.urandom(16), "name": "ada"}, 4: ES256_ONLY})


def window_limit(env):
    """Three windows open in a minute; a further request fails without one."""
    key = env.start_key()
    ctap = key.fido2()
    for _ in range(3):
        cancel = threading.Event()
        call = key.call(ctap.selection, event=cancel)
        prompt = env.prompts.next("use-phone", key.program)
        cancel.set()
        call.fails(STATUS.KEEPALIVE_CANCEL)
        key.leaves_nothing(prompt)
    before = env.prompts.count
    key.call(create, ctap).fails(STATUS.USER_ACTION_TIMEOUT)
    must(env.prompts.count == before, "expected no fourth prompt; found one")


def libfido2(env):
    """libfido2 registers and signs in; several silent assertions, a touch, and a cancellation."""
    key = env.start_key()
    library = key.libfido2()
    call = key.call(library.create, SITE, HASH, os.urandom(16))
    env.confirmed(call, key=key)
    status, credential, public_key = call.result()
    must(status == 0, f"expected a credential; found {status:#x}")
    call = key.call(library.sign, SITE, [b"unknown", credential], HASH)
    env.confirmed(call, key=key)
    status, assertion = call.result()
    must(status == 0, f"expected an assertion; found {status:#x}")
    library.verify(assertion, public_key)
    listed = [b"\1", b"\2", credential]
    status, assertion = library.sign(SITE, listed, PROBE, FALSE)
    found = status == 0 and library.ids(assertion)
    must(found == listed, f"expected every credential of the list; found {status:#x} {found}")
    call = key.call(library.touch)
    prompt = env.prompts.next("use-phone", key.program)
    prompt.answer("proceed")
    call.result()
    key.leaves_nothing(prompt)


def libfido2_cancelled(env):
    """libfido2 cancels while the code is shown, and is answered afterwards."""
    key = env.start_key()
    library = key.libfido2()
    call = key.call(library.create, SITE, HASH, os.urandom(16))
    prompt = env.prompts.next(program=key.program)
    library.cancel()
    status, _, _ = call.result()
    must(status == STATUS.KEEPALIVE_CANCEL, f"expected 0x2d; found {status:#x}")
    key.leaves_nothing(prompt)
    status, _ = library.sign(SITE, [b"\1"], PROBE, FALSE)
    must(status == 0, f"expected an answer afterwards; found {status:#x}")


def ssh(env):
    """libfido2 creates an SSH key and signs with it, as OpenSSH does; a signature without a touch is refused."""
    key = env.start_key()
    library = key.libfido2()
    call = key.call(library.create, "ssh:", HASH)
    env.confirmed(call, key=key)
    status, credential, public_key = call.result()
    must(status == 0, f"expected a credential; found {status:#x}")
    status, assertion = library.sign("ssh:", [credential], PROBE, FALSE)
    must(status == 0 and library.ids(assertion) == [credential], f"expected a known credential; found {status:#x}")
    status, _ = library.sign("ssh:", [credential], HASH, FALSE)
    must(status == STATUS.UNSUPPORTED_OPTION, f"expected no signature without a touch; found {status:#x}")
    call = key.call(library.sign, "ssh:", [credential], HASH)
    env.confirmed(call, key=key)
    status, assertion = call.result()
    must(status == 0, f"expected an assertion; found {status:#x}")
    library.verify(assertion, public_key)


def agent_key(env):
    """An SSH key of the agent, made while the security key runs: clients of the security key cannot use it."""
    key = env.start_key()
    ctap = key.fido2()
    program = env.keep(Program(
        "hybrid-key", [env.programs.key, "ssh-keygen", *env.route], log=env.folder.path("ssh-keygen.log"),
        environment=env.environment))
    prompt = env.prompts.next(program=program)
    env.ended(env.scan(prompt))
    env.ended(program)
    listed = env.key_command("ssh-keys", "list").split()
    must(program.status == 0 and len(listed) > 1, f"expected an SSH key; ssh-keygen {program.ending}: {program.said()}")
    # The relying party ID is the last string of the public key.
    relying_party = base64.b64decode(listed[1]).split(b"\x00\x00\x00")[-1][1:].decode()
    before = env.prompts.count
    for options in (None, {"up": False}):
        key.call(ctap.get_assertion, relying_party, PROBE, descriptors(b"\1"), options=options).fails(
            STATUS.NO_CREDENTIALS)
    must(env.prompts.count == before, "expected no prompt for a key of the agent; found one")


def unplugged(env):
    """The device disappears during a request: prompt and ceremony end, and the next device works."""
    key = env.start_key()
    call = key.call(create, key.fido2())
    prompt = env.prompts.next(program=key.program)
    key.device.unplug()
    call.wait()
    key.leaves_nothing(prompt)
    key.connected()
    must(key.fido2().info.versions, "expected a description of the next device; found none")


def killed(env):
    """SIGKILL of ceremony, prompt and hybrid-key: the client gets an answer, or its device disappears."""
    key = env.start_key()
    ctap = key.fido2()
    for part in ("ceremony", "prompt", "hybrid-key"):
        call = key.call(create, ctap)
        prompt = env.prompts.next(program=key.program)
        process = {"prompt": int(prompt.name), "hybrid-key": key.program.pid}.get(part) or key.ceremonies()[0]
        os.kill(process, signal.SIGKILL)
        if part == "hybrid-key":
            must(key.device.is_gone.wait(LIMIT), "expected the device to disappear; it did not")
            call.wait()
        else:
            call.fails(STATUS.USER_ACTION_TIMEOUT)
        key.leaves_nothing(prompt)
        must(poll(lambda: not env.radio.adverts(), LIMIT), "expected no advert afterwards; found one")


CASES = {
    "register": register, "sign-in": sign_in, "excluded": excluded, "probes": probes, "selection": selection,
    "dummies": dummies, "declined": declined, "cancelled": cancelled, "keepalives": keepalives,
    "window-limit": window_limit, "libfido2": libfido2, "libfido2-cancelled": libfido2_cancelled, "ssh": ssh,
    "agent-key": agent_key, "unplugged": unplugged, "killed": killed,
}
