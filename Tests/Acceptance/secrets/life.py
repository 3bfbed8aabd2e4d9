# SPDX-License-Identifier: Apache-2.0
"""Cases of keys: made, shown, opened, given to a second phone, removed. They raise Failed with what was expected."""
import json
import os
import re
import stat

import age
import ctap
import sealed
from environment import COPY_QUESTION, KEY, QUESTION, failed, succeeded
from harness.phone import Person
from harness.waiting import must
from python_phone import PythonPhone

RP_ID = re.compile(r"secret-[a-z2-7]{16}\.invalid")
USAGE = 64
QUICK = "quick"
PURPOSE = "restic:laptop"


def create(env):
    """Makes a key on hybrid-auth: two approvals, and the copy on the terminal, not on standard output."""
    prompts, terminal = env.create(KEY, phones=[Person(), Person()])
    request, copy = prompts[0].request, env.copy()
    must(request["operation"] == "secret-create" and request["key"] == KEY and RP_ID.fullmatch(request["rp_id"]),
         f"expected a prompt for the key {KEY}; found {request}")
    must(terminal.printed() == age.recipient_of(age.point_of(age.private_key(copy))) + "\n",
         f"expected the recipient alone on standard output; found {terminal.printed()!r}")
    mode = stat.S_IMODE(env.file(KEY).stat().st_mode)
    must(mode == 0o600, f"expected a file of mode 600; found {mode:o}")
    lines = env.file(KEY).read_text().splitlines()
    for comment in (f"# public key: {terminal.printed().strip()}", f"# passkey: {request['rp_id']}"):
        must(comment in lines, f"expected {comment!r}; found {lines}")
    key = env.identity(KEY)
    must((key.name, key.rp_id, len(key.phones)) == (KEY, request["rp_id"], 1), f"expected one phone's key; found {key}")
    asked = [talk.description for talk in env.phone.dialogues()]
    for words in ("Create this encryption key?", "Give the other device this key?"):
        must(any(words in text and f'"{KEY}"' in text and "Encryption key\n" in text for text in asked),
             f"expected the phone to ask {words!r} with the key's name; found {asked}")
    entries = env.key_command("log").strip().split("\n")[-2:]
    must([entry.split("  ")[1] for entry in entries] == ["answered"] * 2 and all(KEY in one for one in entries),
         f"expected both approvals in the journal; found {entries}")


def judged(env):
    """Makes a key on the phone in Python, for another recipient, too: its requests, and what is sealed."""
    other = age.new_identity()
    env.other_file = env.folder.scratch / "other.txt"
    env.other_file.write_text(other + "\n")
    recipient = age.recipient_of(age.point_of(age.private_key(other)))
    create = env.on_terminal(env.key, "secret", "create", QUICK, "--open", "--no-copy", "--also-to", recipient)
    sessions = [env.answer(env.prompts.next(program=create), env.quick) for _ in range(2)]
    env.waiting.until("the question", lambda: QUESTION in create.said(), 30)
    create.write("yes\n")
    env.ended(create)
    succeeded(create)
    must("AGE-SECRET-KEY-1" not in create.said(), "expected no copy on the terminal; found one")
    key, (made, used) = env.identity(QUICK), [session.requests for session in sessions]
    must(len(made) == len(used) == 1, f"expected one command a scan; found {made}, {used}")
    _check_creation(made[0], key)
    command, parameters = used[0]
    must(command == ctap.GET_ASSERTION and parameters[1] == key.rp_id and parameters[2] == bytes(32)
         and [one["id"] for one in parameters[3]] == [key.phones[0].credential_id] and parameters[4] == made[0][1][6],
         f"expected a sign-in with the same salts; found {parameters}")
    identifier = key.phones[0].credential_id
    opened = key.open(env.quick.results(identifier, key.nonce), identifier)
    must(key.key_in(age.decrypt(key.file, other)) == opened, "expected the other recipient to find the same key")
    must(create.printed().strip() == key.recipient, f"expected {key.recipient}; found {create.printed()}")
    env.copies[QUICK] = opened


def _check_creation(request, key):
    command, parameters = request
    user, extensions = parameters[3], parameters[6]
    must(command == ctap.MAKE_CREDENTIAL and parameters[1] == bytes(32) and parameters[7] == {"rk": True, "uv": True}
         and parameters[2] == {"id": key.rp_id, "name": key.rp_id} and len(user["id"]) == 16 and 5 not in parameters,
         f"expected a discoverable passkey of {key.rp_id}; found {parameters}")
    must((user["name"], user["displayName"]) == (
        f"{key.name} (encryption key)", f"Encryption key “{key.name}”. Deleting it loses files."),
        f"expected the key's name in the account; found {user}")
    must(set(extensions) == {"prf"} and set(extensions["prf"]) == {"eval"}
         and set(extensions["prf"]["eval"]) == {"first", "second"}, f"expected two inputs of prf; found {extensions}")


def refused(env):
    """Commands that no phone needs to hear of: no copy, no terminal, wrong names, recipients, purposes and domains."""
    create = [env.key, "secret", "create"]
    for words, file in (([*create, "new", "--no-copy"], "new"), ([*create, "new"], "new"),
                        ([*create, KEY, "--no-copy", "--also-to", _recipient()], None),
                        ([*create, "new", "--no-copy", "--also-to", "age1wrong"], "new"),
                        ([*create, "a" * 65, "--no-copy", "--also-to", _recipient()], "a" * 65),
                        ([*create, "../new", "--no-copy", "--also-to", _recipient()], "../new"),
                        ([*create, "new", "--no-copy", "--also-to", _recipient(), "--rp", "co.uk"], "new"),
                        ([env.key, "secret", "derive", QUICK, "two\nlines"], None),
                        ([env.key, "secret", "derive", QUICK, os.fsdecode(b"\xff")], None),
                        ([env.key, "secret", "run", QUICK, "--", "/nonexistent/program"], None),
                        ([env.key, "secret", "derive", "none", "x"], "none"),
                        ([env.key, "secret", "recipient", "none"], "none")):
        done = env.brief(*words, check=False, seconds=20)
        must(done.returncode not in (0, -6) and done.stderr and not done.stdout,
             f"expected {words[2:]} to fail with a sentence; it ended with {done.returncode}: {done.stdout}")
        must(file is None or not env.file(file).exists(), f"expected no file of {file}; found one")
    status = env.brief(*create, "new", "--no-copy", check=False).returncode
    must(status == USAGE, f"expected status {USAGE} of --no-copy alone; found {status}")


def _recipient():
    return age.recipient_of(age.point_of(age.private_key(age.new_identity())))


def shown(env):
    """`list`, `recipient`, `identity` and `sealed` ask no phone."""
    key = env.identity(QUICK)
    said = {word: env.brief(env.key, "secret", word, QUICK).stdout for word in ("recipient", "identity")}
    must(said == {"recipient": f"{key.recipient}\n", "identity": f"{key.encoded}\n"},
         f"expected recipient and identity; found {said}")
    file = env.folder.scratch / "sealed.age"
    env.brief("sh", "-c", 'exec "$1" secret sealed "$2" >"$3"', "sh", env.key, QUICK, file)
    must(file.read_bytes() == key.file, "expected `sealed` to print the age file of the identity; it did not")
    listed = env.brief(env.key, "secret", "list").stdout
    must(QUICK in listed and KEY in listed, f"expected both keys; found {listed}")
    entries = [json.loads(line) for line in env.brief(env.key, "secret", "list", "--json").stdout.splitlines()]
    flat = json.dumps(entries)
    must(key.recipient in flat and key.rp_id in flat, f"expected recipient and relying party in JSON; found {flat}")


def check(env):
    """`check` opens the key with one approval, whose prompt names it."""
    run = env.secret("check", KEY)
    prompt, = env.approved(run, Person())
    succeeded(run)
    found = {name: prompt.request.get(name) for name in ("operation", "key", "rp_id")}
    must(found == {"operation": "secret-open", "key": KEY, "rp_id": env.identity(KEY).rp_id},
         f"expected a prompt for the key; found {found}")
    asked = env.phone.dialogues()[-1].description
    must(f'"{KEY}"' in asked, f"expected the phone's question to name the key; found {asked}")


def derive(env):
    """`derive` prints 43 characters, or 32 bytes; the judge finds the same, and the prompt names the purpose."""
    wanted = sealed.named_secret(env.copy(), PURPOSE)
    text, raw = (env.folder.path(f"derived-{name}") for name in ("text", "raw"))
    for file, options, phone, key in ((text, [], Person(), KEY), (raw, ["--raw"], env.quick, QUICK)):
        script = 'file=$1; shift; exec "$@" >"$file"'
        run = env.shell(script, file, env.key, "secret", "derive", key, PURPOSE, *options)
        prompt, = env.approved(run, phone)
        succeeded(run)
        must(prompt.request.get("purpose") == PURPOSE, f"expected the purpose in the prompt; found {prompt.request}")
    must(text.read_bytes() == f"{sealed.as_text(wanted)}\n".encode(), f"expected {sealed.as_text(wanted)}; found "
                                                                     f"{text.read_bytes()}")
    full = env.shell('exec "$@" >/dev/full', env.key, "secret", "derive", QUICK, PURPOSE)
    env.approved(full, env.quick)
    failed(full)
    must(raw.read_bytes() == sealed.named_secret(env.copy(QUICK), PURPOSE), "expected 32 other bytes; found "
                                                                            f"{raw.read_bytes().hex()}")


def open_(env):
    """`open` prints the age key into a pipe, and refuses a terminal before the phone is asked."""
    run = env.shell('"$@" | cat', env.key, "secret", "open", QUICK)
    env.approved(run, env.quick)
    must(env.copy(QUICK) in succeeded(run).split("\n"), f"expected the age key; found {run.said()}")
    before = env.prompts.count
    terminal = env.on_terminal(env.key, "secret", "open", QUICK, with_output=True)
    env.ended(terminal)
    failed(terminal, "--force")
    must(env.prompts.count == before and "AGE-SECRET-KEY" not in terminal.said(), "expected no prompt and no key")
    terminal = env.on_terminal(env.key, "secret", "derive", QUICK, PURPOSE, "--raw", with_output=True)
    env.ended(terminal)
    failed(terminal)
    must(env.prompts.count == before, "expected no prompt for bytes that a terminal can't show; found one")
    terminal = env.on_terminal(env.key, "secret", "open", QUICK, "--force", "--open", with_output=True)
    env.approved(terminal, env.quick)
    succeeded(terminal, env.copy(QUICK))


def run(env):
    """`run` gives a command the key in a file in memory, which can be read twice; one approval, and its status."""
    script = 'cat "$AGE_IDENTITY"; cat "$AGE_IDENTITY"; readlink "/proc/self/fd/${AGE_IDENTITY##*/}"; exit 7'
    program = env.secret("run", QUICK, "--", "sh", "-c", script)
    env.approved(program, env.quick)
    must(program.status == 7, f"expected the status of the command, 7; it {program.ending}: {program.said()}")
    lines = program.said().split("\n")
    must(lines.count(env.copy(QUICK)) == 2, f"expected the key twice; found {program.said()}")
    must(any("memfd:" in line for line in lines), f"expected a file in memory; found {lines}")
    program = env.secret("run", QUICK, "--", "sh", "-c", "kill -TERM $$")
    env.approved(program, env.quick)
    must(program.status in (-15, 143), f"expected a command that SIGTERM ends; it {program.ending}")


def add_phone(env):
    """A second phone gets the key: it is opened, a passkey is made, and opened with; then either phone is enough."""
    old = env.identity(QUICK)
    env.second = PythonPhone(env)
    program = env.secret("add-phone", QUICK)
    prompts = [env.prompts.next(program=program)]
    env.answer(prompts[0], env.quick)
    sessions = []
    for _ in range(2):
        prompts.append(env.prompts.next(program=program))
        sessions.append(env.answer(prompts[-1], env.second))
    env.ended(program)
    succeeded(program)
    operations = [prompt.request["operation"] for prompt in prompts]
    must(operations[:2] == ["secret-open", "secret-add-phone"], f"expected both questions; found {operations}")
    creation = sessions[0].requests[0][1]
    must([one["id"] for one in creation.get(5, [])] == [old.phones[0].credential_id],
         f"expected the first phone's passkey to be excluded; found {creation.get(5)}")
    new = env.identity(QUICK)
    must(new.phones[:-1] == old.phones and len(new.phones) == 2 and new.nonce == old.nonce
         and (new.header.nonce, new.header.chunks) == (old.header.nonce, old.header.chunks)
         and new.stanzas[0] == old.stanzas[0] and new.header.stanzas[2:] == old.header.stanzas[1:],
         f"expected one phone and one stanza more, in place; found {new}")
    for phone, one in zip((env.quick, env.second), new.phones):
        opened = new.open(phone.results(one.credential_id, new.nonce), one.credential_id)
        must(opened == env.copy(QUICK), "expected both phones to open the same key")
    check = env.secret("check", QUICK)
    env.approved(check, env.second)
    succeeded(check)


def same_phone(env):
    """The phone of a key refuses to be added again, and the file stays."""
    before = env.file(QUICK).read_bytes()
    program = env.secret("add-phone", QUICK)
    env.approved(program, env.quick, env.quick)
    failed(program)
    must(env.file(QUICK).read_bytes() == before, "expected the same file; it changed")


def imported(env):
    """An existing key is sealed, keeps its recipient, and is removed again; removing asks no phone."""
    identity, file = age.new_identity(), env.folder.scratch / "existing.txt"
    file.write_text(f"# created: 2026-01-01T00:00:00Z\n{identity}\n")
    prompts, terminal = env.create("imported", "--import", str(file))
    must(env.copy("imported") == identity, "expected the imported key on the terminal")
    must(terminal.printed().strip() == age.recipient_of(age.point_of(age.private_key(identity))),
         f"expected the recipient of the imported key; found {terminal.printed()}")
    before = env.prompts.count
    remove = env.on_terminal(env.key, "secret", "remove", "imported")
    env.waiting.until("remove to ask", lambda: "imported" in remove.said(), 30)
    must(env.file("imported").exists(), "expected a question before the file is removed")
    remove.write("yes\n")
    env.ended(remove)
    must(not env.file("imported").exists(), f"expected no file after remove; it {remove.ending}: {remove.said()}")
    must(env.prompts.count == before, "expected no prompt of remove; found one")


def two_phones(env):
    """`create --add-phone` makes a key with two phones in one run, without a copy."""
    second = PythonPhone(env)
    program = env.secret("create", "two", "--no-copy", "--add-phone")
    prompts = env.approved(program, env.quick, env.quick, env.quick, second, second)
    succeeded(program)
    operations = [prompt.request["operation"] for prompt in prompts]
    must(operations[::3] == ["secret-create", "secret-add-phone"], f"expected both questions; found {operations}")
    check = env.secret("check", "two")
    env.approved(check, second)
    succeeded(check)


def own_domain(env):
    """`--rp` takes a domain of the user's instead of a random name."""
    domain = "secrets.example.org"
    prompts, _ = env.create("own", "--rp", domain)
    must({prompt.request["rp_id"] for prompt in prompts} == {env.identity("own").rp_id} == {domain},
         f"expected {domain} in both prompts; found {[prompt.request for prompt in prompts]}")


def at_once(env):
    """Two runs of add-phone, or of create for one name, overlap: the later one fails, and nothing is lost."""
    early, late = PythonPhone(env), PythonPhone(env)
    env.create("shared")
    for words, first, others, wanted in (
            (["add-phone", "shared"], [env.quick], [env.quick, early, early], "shared"),
            (["create", "once", "--no-copy", "--also-to", _recipient()], [], [early, early], "once")):
        slow = env.secret(*words)
        for phone in first:
            env.answer(env.prompts.next(program=slow), phone)
        waiting = env.prompts.next(program=slow)
        fast = env.secret(*words)
        for phone in others:
            env.answer(env.prompts.next(program=fast), phone)
        env.ended(fast)
        succeeded(fast)
        kept = env.file(wanted).read_bytes()
        env.answer(waiting, late)
        env.approved(slow, late)
        failed(slow)
        must(env.file(wanted).read_bytes() == kept, "expected the file of the run that ended first; it changed")


def unconfirmed(env):
    """The user says that the passkey is not on the phone, or does not confirm the copy: no file of the key."""
    for answers in (["no\n"], ["yes\n", "\x04"]):
        create = env.on_terminal(env.key, "secret", "create", "unconfirmed", "--open")
        env.approved(create, env.quick, env.quick, until=lambda: QUESTION in create.said())
        create.write(answers[0])
        if answers[1:]:
            env.shown_key(create)
            must(not env.file("unconfirmed").exists(), "expected no file before the copy is confirmed; found one")
            create.write(answers[1])
        env.ended(create)
        failed(create)
        must(not env.file("unconfirmed").exists() and not create.printed(),
             f"expected no key; it {create.ending}: {create.said()}")


def wrong_copy(env):
    """Wrong characters of the copy are not accepted; the right ones are, afterwards."""
    create = env.on_terminal(env.key, "secret", "create", "copied", "--open")
    env.approved(create, env.quick, env.quick, until=lambda: QUESTION in create.said())
    create.write("yes\n")
    key = env.shown_key(create)
    create.write("XXXXXX\n")
    env.waiting.until("the question again",
                      lambda: create.status is not None or create.said().count(COPY_QUESTION) == 2, 30)
    must(create.status is None, f"expected the question again; it {create.ending}: {create.said()}")
    create.write(f"{key[-6:]}\n")
    env.ended(create)
    succeeded(create)


CASES = {"create": create, "judged": judged, "refused": refused, "shown": shown, "check": check, "derive": derive,
         "open": open_, "run": run, "add-phone": add_phone, "same-phone": same_phone, "imported": imported,
         "two-phones": two_phones, "own-domain": own_domain, "at-once": at_once, "unconfirmed": unconfirmed,
         "wrong-copy": wrong_copy}
