# SPDX-License-Identifier: Apache-2.0
"""Cases in which no secret may come out: the phone declines, is absent, is another one, or answers deficiently."""
import json
import os

import age
import cbor
import ctap
import fido2prf
import sealed
from desktop import Desktop
from environment import KEY, failed, succeeded
from files import TEXT, decrypts, encrypted
from harness.phone import Person
from harness.waiting import must
from life import QUICK
from python_phone import PythonPhone
from radio import Radio

# The AAGUID of iPhones' passkeys.
IPHONE = "f24a8e70d0d3f82c293732523cc4de5a"
CREATE = ("create", "broken", "--no-copy", "--also-to")


def creates_nothing(env, *phones, texts=()):
    """Checks that a creation fails and leaves no file; returns the sessions of phones in Python."""
    recipient = age.recipient_of(age.point_of(age.private_key(age.new_identity())))
    count, sessions = env.prompts.count, []
    program = env.secret(*CREATE, recipient)
    for phone in phones:
        prompt = env.prompts.next(program=program)
        sessions.append(env.answer(prompt, person=phone) if isinstance(phone, Person) else env.answer(prompt, phone))
    env.ended(program)
    failed(program, *texts)
    must(env.prompts.count == count + len(phones), f"expected {len(phones)} prompts; found {env.prompts.count - count}")
    must(not env.file("broken").exists(), "expected no file of the key; found one")
    return sessions


def gives_nothing(env, *phones, key=QUICK, options=(), texts=()):
    """Checks that `derive` fails and prints nothing; returns its messages."""
    output = env.folder.path(f"{env.number()}-derived")
    program = env.shell('file=$1; shift; exec "$@" >"$file"', output, env.key, "secret", "derive", *options, key, "x")
    env.approved(program, *phones)
    must(output.read_bytes() == b"", f"expected nothing on standard output; found {output.read_bytes()}")
    return failed(program, *texts)


def declined(env):
    """The phone's user declines: nothing is created, derived or decrypted."""
    creates_nothing(env, Person(answer="no"))
    gives_nothing(env, Person(answer="no"), key=KEY)
    program = env.run("age", "-d", "-i", env.file(KEY), encrypted(env, env.identity(KEY).recipient))
    env.approved(program, Person(answer="no"))
    must(TEXT not in failed(program), "expected no text; found it")


def declined_second(env):
    """The user agrees to the passkey and declines to use it: no key, and the message names the passkey to delete."""
    creates_nothing(env, Person(), Person(answer="no"), texts=("secret-",))


def cancelled(env):
    """The user closes the window: age and `derive` end, and the ceremony, too."""
    file = encrypted(env, env.identity(QUICK).recipient)
    for words in ([env.key, "secret", "derive", QUICK, "x"], ["age", "-d", "-i", env.file(QUICK), file]):
        program = env.run(*words)
        prompt = env.prompts.next(program=program)
        prompt.answer("cancel")
        env.ended(program)
        failed(program)
        env.waiting.until("the prompt to close", lambda: prompt.is_gone, 30)


def no_phone(env):
    """No phone comes in time."""
    program = env.secret("check", QUICK, "--timeout", "2")
    prompt = env.prompts.next(program=program)
    env.ended(program)
    failed(program)
    env.waiting.until("the prompt to close", lambda: prompt.is_gone, 30)
    codes = [event.get("code") for event in prompt.events if event["event"] == "error"]
    must(codes == ["phone-not-nearby"], f"expected the prompt to be told that no phone was nearby; found {codes}")


def no_answer(env):
    """The phone's user does not answer in time."""
    # The phone must come within this time, too.
    program = env.secret("check", KEY, "--timeout", "8")
    prompt = env.prompts.next(program=program)
    phone = env.scan(prompt, Person(answer="never"))
    env.ended(program)
    failed(program)
    must("confirm" in prompt.states, f"expected the phone to ask; the prompt was told {prompt.states}")
    env.ended(phone)
    env.waiting.until("the prompt to close", lambda: prompt.is_gone, 30)


def no_passkey(env):
    """A phone without the passkey: a message, no text, and no error, because another identity may match."""
    empty, recipient = PythonPhone(env), env.identity(QUICK).recipient
    gives_nothing(env, empty)
    file_key, nonce = os.urandom(age.FILE_KEY), os.urandom(fido2prf.NONCE)
    stanzas = [fido2prf.wrap(file_key, nonce, fido2prf.results(bytes(32), nonce)),
               age.wrap_x25519(file_key, age.public_key(recipient))]
    file, identities = env.folder.scratch / "mixed.age", env.folder.scratch / "both.txt"
    file.write_bytes(age.seal(file_key, stanzas, TEXT.encode()).encoded)
    identities.write_text(f"{fido2prf.Identity(b'unknown', 'example.com').encoded}\n{env.identity(QUICK).encoded}\n")
    decrypts(env, file, identities, empty, env.quick)
    program = env.run("age", "-d", "-i", env.file(QUICK), encrypted(env, recipient))
    env.approved(program, empty)
    must(TEXT not in failed(program), "expected no text; found it")


def without_prf(env):
    """A phone that does not list `prf` is refused before it is asked for a passkey."""
    session, = creates_nothing(env, PythonPhone(env, "--lacks", "prf"))
    must(not session.requests, f"expected no request; found {session.requests}")
    text = gives_nothing(env, _like(env.quick, env, "--lacks", "prf"))
    must("secret" in text or "prf" in text, f"expected the reason; found {text}")


def useless_passkey(env):
    """A phone whose password app has no `prf`: the message says which passkey to delete."""
    session, = creates_nothing(env, PythonPhone(env, "--prf-refused"), texts=("delete",))
    relying_party = session.requests[0][1][2]["id"]
    said = _last_said(env)
    must(relying_party in said or "broken (encryption key)" in said,
         f"expected the passkey of {relying_party} to be named; found {said}")


def useless_second(env):
    """The second phone of `create --add-phone` has no `prf`: the message names the passkeys on both phones."""
    program = env.secret("create", "broken", "--no-copy", "--add-phone")
    env.approved(program, *[env.quick] * 3, PythonPhone(env, "--prf-refused"))
    failed(program, "on the first phone", "delete")
    must(not env.file("broken").exists(), "expected no file of the key; found one")


def _last_said(env):
    logs = sorted(env.folder.root.glob("*-hybrid-key.log"), key=lambda path: int(path.name.split("-")[0]))
    return logs[-1].read_text()


def first_only(env):
    """A phone that answers only the first input has given no secret, at creation and at sign-in."""
    creates_nothing(env, *[PythonPhone(env, "--prf-first-only")] * 2)
    gives_nothing(env, _like(env.quick, env, "--prf-first-only"))


def later(env):
    """A phone with results at sign-ins only: two approvals make a key, which opens."""
    phone = PythonPhone(env, "--prf-later")
    env.create("later", phones=[phone, phone])
    check = env.secret("check", "later")
    env.approved(check, phone)
    succeeded(check)


def older_iphone(env):
    """An iPhone whose iOS could be older than 18.4 gets a warning, because an update would change its results."""
    for features, is_warned in (("ctap",), True), (("ctap", "dc"), False):
        phone = PythonPhone(env, "--aaguid", IPHONE, "--features", json.dumps(features))
        prompts, terminal = env.create(f"iphone-{len(features)}", phones=[phone, phone])
        shown = terminal.said() + "".join(prompt.path.read_text() for prompt in prompts)
        must(("iOS 18.4" in shown) is is_warned,
             f"expected iOS 18.4 to be named {'for this phone' if is_warned else 'for other phones'}; found {shown}")


def unverified(env):
    """A phone that did not verify its user: its results differ from then on, so they do not count."""
    creates_nothing(env, PythonPhone(env, "--unverified"))
    gives_nothing(env, _like(env.quick, env, "--unverified"))


def _like(phone, env, *options):
    """Returns a phone with the same passkeys that behaves otherwise."""
    other = PythonPhone(env, *options)
    other.passkeys = phone.passkeys
    return other


def _stranger(env, *identifiers):
    """Returns a phone that claims passkeys with keys and secrets of its own."""
    stranger = PythonPhone(env)
    for rp_id, identifier in identifiers:
        stranger.add(rp_id, identifier, bytes([7]) * 32)
    return stranger


def another_phone(env):
    """A stranger's phone scans the code: its results open nothing, and a key that is being made is not kept."""
    key = env.identity(QUICK)
    stranger = _stranger(env, *((key.rp_id, phone.credential_id) for phone in key.phones))
    gives_nothing(env, stranger)
    file = encrypted(env, key.recipient)
    program = env.run("age", "-d", "-i", env.file(QUICK), file)
    env.approved(program, stranger)
    must(TEXT not in failed(program), "expected no text; found it")
    # The second approval of a creation.
    recipient = age.recipient_of(age.point_of(age.private_key(age.new_identity())))
    program = env.secret(*CREATE, recipient)
    creation = env.answer(env.prompts.next(program=program), env.quick).requests[0][1]
    identifier = bytes.fromhex(list(env.quick.passkeys)[-1])
    env.answer(env.prompts.next(program=program), _stranger(env, (creation[2]["id"], identifier)))
    env.ended(program)
    failed(program)
    must(not env.file("broken").exists(), "expected no file of the key; found one")


def stranger_encrypts(env):
    """`age -e` with a passkey that this computer created: a stranger's results are refused; its owner's count."""
    key = env.identity(QUICK)
    line, *_ = env.brief(env.key, "secret", "identity", QUICK, "--passkey").stdout.splitlines()
    identity = fido2prf.Identity.read(line)
    must((identity.credential_id, identity.rp_id) == (key.phones[0].credential_id, key.rp_id),
         f"expected the first phone's passkey; found {identity}")
    name, file = env.folder.scratch / "known.txt", env.folder.scratch / "known.age"
    name.write_text(f"{identity.encoded}\n")
    program = env.run("age", "-e", "-i", name, "-o", file, text=TEXT)
    env.approved(program, _stranger(env, (key.rp_id, identity.credential_id)))
    failed(program)
    must(not file.exists() or not file.read_bytes(), "expected no file for a stranger; found one")
    program = env.run("age", "-e", "-i", name, "-o", file, text=TEXT)
    env.approved(program, env.quick)
    said = succeeded(program)
    must("not created on this computer" not in said, f"expected no doubt about a known passkey; found {said}")
    opened, _ = fido2prf.open_file(file.read_bytes(), env.quick.secret(identity.credential_id))
    must(opened == TEXT.encode(), f"expected the text; found {opened}")


def client_without_prf(env):
    """hybrid-auth gives no signature of such a passkey to clients that ask for no secret, and asks no question."""
    key, asked = env.identity(KEY), len(env.phone.dialogues())
    allowed = [ctap.descriptor(key.phones[0].credential_id)]
    user = {"id": b"user", "name": "name", "displayName": "name"}
    site = {"id": key.rp_id, "name": ""}
    requests = [("mc", ctap.MAKE_CREDENTIAL, ctap.make_credential(bytes(32), site, user, [ctap.ES256]))]
    requests += [("ga", ctap.GET_ASSERTION, ctap.get_assertion(key.rp_id, bytes(32), allowed, extensions=extensions))
                 for extensions in (None, {"prf": {}})]
    os.environ["DBUS_SYSTEM_BUS_ADDRESS"] = env.radio.address
    for hint, command, parameters in requests:
        client = Desktop(f"127.0.0.1:{env.relay.port}", str(env.certificates.authority), hint)
        phone = env.keep(env.phone.scan(client.text, Person(), f"{env.number()}"))
        receiver = Radio()
        with receiver.scanning():
            client.hear(receiver)
        receiver.close()
        client.join()
        client.shake_hands()
        client.meet()
        status, _ = client.ask(bytes([command]) + cbor.canonical(parameters))
        client.tunnel.close()
        env.ended(phone)
        must(status != ctap.SUCCESS and phone.status not in (0, None),
             f"expected a refusal; found status {status:#x}, and hybrid-auth {phone.ending}")
    must(len(env.phone.dialogues()) == asked, "expected no question to the user; found one")


def other_key_inside(env):
    """A sealed file with another key than its recipient says is refused after the approval."""
    secret, identifier = bytes(range(32)), b"a passkey of a forger"
    made = env.judge_key(identifier, secret)
    forged = sealed.Sealed(made.name, made.rp_id, age.point_of(bytes(range(3, 35))), made.phones, made.file)
    file = env.folder.scratch / "forged.txt"
    file.write_text(f"{forged.encoded}\n")
    env.quick.add(made.rp_id, identifier, secret)
    program = env.run("age", "-d", "-i", file, encrypted(env, forged.recipient))
    env.approved(program, env.quick)
    failed(program)


CASES = {"declined": declined, "declined-second": declined_second, "cancelled": cancelled, "no-phone": no_phone,
         "no-answer": no_answer, "no-passkey": no_passkey, "without-prf": without_prf,
         "useless-passkey": useless_passkey, "useless-second": useless_second, "first-only": first_only, "later": later,
         "older-iphone": older_iphone, "unverified": unverified, "another-phone": another_phone,
         "stranger-encrypts": stranger_encrypts, "client-without-prf": client_without_prf,
         "other-key-inside": other_key_inside}
