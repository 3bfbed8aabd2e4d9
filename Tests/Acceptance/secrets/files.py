# SPDX-License-Identifier: Apache-2.0
"""Cases of files: stock age, pyrage, and the judge, in both directions."""
import re
import sys

import age
import fido2prf
from environment import KEY, failed, succeeded
from harness.phone import Person
from harness.waiting import must
from life import QUICK
from python_phone import PythonPhone

TEXT = "the text of a file\n"
# pyrage starts plug-ins from PATH, so that it needs a process of its own.
PYRAGE = """import sys
import pyrage
def silent(*words): return None
def no(*words): return False
callbacks = type("Callbacks", (), {"display_message": silent, "confirm": silent, "request_public_string": silent,
                                   "request_passphrase": silent})()
mode, file, *names = sys.argv[1:]
data = open(file, "rb").read()
if mode == "encrypt":
    sys.stdout.buffer.write(pyrage.encrypt(data, [pyrage.x25519.Recipient.from_str(names[0])]))
else:
    identities = [pyrage.plugin.Identity.from_str(name) for name in names]
    sys.stdout.buffer.write(pyrage.decrypt(data, [pyrage.plugin.IdentityPluginV1(
        identities[0].plugin(), identities, callbacks)]))
"""


def encrypted(env, recipient, text=TEXT):
    """Returns a file that stock age encrypted to a recipient, without a phone."""
    file = env.folder.scratch / f"{env.number()}.age"
    env.brief("age", "-r", recipient, "-o", file, text=text)
    return file


def decrypts(env, file, identity, *phones, text=TEXT):
    """Checks that stock age decrypts a file; returns the prompts."""
    program = env.run("age", "-d", "-i", identity, file)
    prompts = env.approved(program, *phones)
    succeeded(program, text)
    return prompts


def stock_age(env):
    """age encrypts to the recipient without a phone; the plug-in and hybrid-auth decrypt, with one approval."""
    file = encrypted(env, env.identity(KEY).recipient)
    prompt, = decrypts(env, file, env.file(KEY), Person())
    found = {name: prompt.request.get(name) for name in ("operation", "key")}
    must(found == {"operation": "secret-open", "key": KEY}, f"expected a prompt for the key; found {found}")


def many_files(env):
    """One approval decrypts many files in one `run`."""
    files = [encrypted(env, env.identity(QUICK).recipient, f"file {number}\n") for number in range(5)]
    script = 'for file in "$@"; do age -d -i "$AGE_IDENTITY" "$file" || exit 1; done'
    program = env.secret("run", QUICK, "--", "sh", "-c", script, "sh", *map(str, files))
    env.approved(program, env.quick)
    said = succeeded(program)
    must(all(f"file {number}\n" in said for number in range(5)), f"expected five texts; found {said}")


def to_identity(env):
    """age encrypts with the identity file: to the key, without a phone; plain age opens it with the copy."""
    file, copy = env.folder.scratch / "to-identity.age", env.folder.scratch / "copy.txt"
    env.brief("age", "-e", "-i", env.file(QUICK), "-o", file, text=TEXT)
    copy.write_text(env.copy(QUICK) + "\n")
    opened = env.brief("age", "-d", "-i", copy, file).stdout
    must(opened == TEXT, f"expected the text; found {opened}")
    must(age.decrypt(file.read_bytes(), env.copy(QUICK)) == TEXT.encode(), "expected the judge to read it, too")


def phone_lost(env):
    """The phone and this program are gone: the copy on paper decrypts with plain age."""
    file, copy = encrypted(env, env.identity(KEY).recipient), env.folder.scratch / "paper.txt"
    copy.write_text(env.copy(KEY) + "\n")
    environment = {**env.environment, "PATH": env.path, "XDG_CONFIG_HOME": "/nonexistent"}
    program = env.run("age", "-d", "-i", copy, file, environment=environment)
    env.ended(program)
    succeeded(program, TEXT)


def envelope(env):
    """Stock age opens the sealed key with the other recipient's key, and what it finds decrypts files."""
    opened = env.brief("sh", "-c", '"$1" secret sealed "$2" | age -d -i "$3"', "sh", env.key, QUICK,
                       env.other_file).stdout
    must(env.copy(QUICK) in opened.split("\n"), f"expected the age key inside; found {opened}")


def judge_seals(env):
    """The product opens a key that the judge sealed: two phones, another recipient, comments in the payload."""
    secret, identifier = bytes(range(32)), b"a passkey of the judge"
    made = env.judge_key(identifier, secret)
    file = env.folder.scratch / "judge.txt"
    file.write_text(f"# made by hand\n{made.encoded}\n")
    env.quick.add(made.rp_id, identifier, secret)
    decrypts(env, encrypted(env, made.recipient), file, env.quick)


def pyrage(env):
    """pyrage encrypts to the recipient, and decrypts by the plug-in what age encrypted, also as the second of two."""
    recipient, source = env.identity(QUICK).recipient, env.folder.scratch / "source"
    source.write_text(TEXT)
    file = env.folder.scratch / "pyrage.age"
    script = 'file=$1; shift; exec "$@" >"$file"'
    env.brief("sh", "-c", script, "sh", file, sys.executable, "-c", PYRAGE, "encrypt", source, recipient)
    decrypts(env, file, env.file(QUICK), env.quick)
    file = encrypted(env, recipient)
    _pyrage_decrypts(env, file, [env.identity(QUICK)], env.environment, env.quick)
    # Both identities are in one process of the plug-in, and this phone has no passkey of the first.
    _pyrage_decrypts(env, file, [env.identity(KEY), env.identity(QUICK)], env.environment, PythonPhone(env), env.quick)


def _pyrage_decrypts(env, file, keys, environment, *phones):
    identities = [key.encoded for key in keys]
    program = env.run(sys.executable, "-c", PYRAGE, "decrypt", file, *identities, environment=environment)
    env.approved(program, *phones)
    succeeded(program, TEXT)


def links(env):
    """The plug-in's name on PATH is a link, or a link to a link: age starts the link, pyrage its target."""
    key, file = env.identity(QUICK), encrypted(env, env.identity(QUICK).recipient)
    for number, target in enumerate((env.key, "first")):
        folder = env.folder.scratch / f"links-{number}"
        folder.mkdir()
        (folder / "first").symlink_to(env.key)
        (folder / "age-plugin-phone").symlink_to(target)
        environment = {**env.environment, "PATH": f"{folder}:{env.path}"}
        program = env.run("age", "-d", "-i", env.file(QUICK), file, environment=environment)
        env.approved(program, env.quick)
        succeeded(program, TEXT)
        _pyrage_decrypts(env, file, [key], environment, env.quick)


def with_passkey(env):
    """fido2prf: one approval to encrypt and one to decrypt, through a link; the judge reads and writes the same."""
    identifier, secret = b"a passkey of a page", bytes(range(1, 33))
    identity = fido2prf.Identity(identifier, "example.com")
    env.quick.add(identity.rp_id, identifier, secret)
    name, file = env.folder.scratch / "passkey.txt", env.folder.scratch / "passkey.age"
    name.write_text(f"{identity.encoded}\n")
    program = env.run("age", "-e", "-i", name, "-o", file, text=TEXT)
    prompt, = env.approved(program, env.quick)
    succeeded(program, "not created on this computer")
    found = {name: prompt.request.get(name) for name in ("operation", "rp_id")}
    must(found == {"operation": "secret-encrypt", "rp_id": "example.com"},
         f"expected the passkey's name; found {found}")
    opened, approvals = fido2prf.open_file(file.read_bytes(), secret)
    must((opened, approvals) == (TEXT.encode(), 1), f"expected the judge to read it; found {opened}")
    prompt, = decrypts(env, file, name, env.quick)
    must(prompt.request["operation"] == "secret-decrypt", f"expected a prompt to decrypt; found {prompt.request}")
    file.write_bytes(fido2prf.seal_file(TEXT.encode(), bytes(32), secret))
    prompts = decrypts(env, file, name, env.quick, env.quick)
    attempts = [(prompt.request.get("attempt"), prompt.request.get("attempts")) for prompt in prompts]
    must(attempts == [(1, 2), (2, 2)], f"expected two numbered attempts; found {attempts}")


def without_data(env):
    """`age -j phone` uses the only key of the folder; with several keys, it fails without asking."""
    file = encrypted(env, env.identity(QUICK).recipient)
    before = env.prompts.count
    program = env.run("age", "-d", "-j", "phone", file)
    env.ended(program)
    failed(program)
    must(env.prompts.count == before, "expected no prompt while there are several keys; found one")
    config = env.folder.scratch / "only"
    folder = config / "hybrid" / "secrets"
    folder.mkdir(parents=True, mode=0o700)
    (folder / "only.txt").write_text(env.file(QUICK).read_text())
    (folder / "only.txt").chmod(0o600)
    program = env.run("age", "-d", "-j", "phone", file, environment={**env.environment, "XDG_CONFIG_HOME": str(config)})
    env.approved(program, env.quick)
    succeeded(program, TEXT)


def changed_file(env):
    """A file that was changed does not decrypt, whatever the phone says."""
    file = encrypted(env, env.identity(QUICK).recipient)
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    program = env.run("age", "-d", "-i", env.file(QUICK), file)
    env.approved(program, env.quick)
    must(TEXT not in failed(program), "expected no text; found it")


def code_as_message(env):
    """Without a program for prompts, age shows the code on standard error, where zbar reads it."""
    file = encrypted(env, env.identity(QUICK).recipient)
    environment = {name: value for name, value in env.environment.items() if name != "HYBRID_PROMPT"}
    program = env.run("age", "-d", "-i", env.file(QUICK), file, environment=environment)
    code = env.waiting.until("a code in age's messages", lambda: _code_in(env, program), 30)
    session = env.quick.scan(code)
    env.ended(program)
    must(not session.faults, f"expected requests by the rules; found {session.faults}")
    succeeded(program, TEXT)


def _code_in(env, program):
    """Returns the text of a code of half blocks in the output of a program."""
    must(program.status is None, f"expected a code; age {program.ending}: {program.said()}")
    lines = re.findall(r"^[ ▀▄█]{20,}$", program.said(), re.MULTILINE)
    scale, width = 4, max(map(len, lines), default=0)
    rows = [[character in bright for character in line.ljust(width)] for line in lines for bright in ("▀█", "▄█")]
    picture = env.folder.path("code.pgm")
    pixels = b"".join(b"".join(bytes([255 * bit]) * scale for bit in row) * scale for row in rows)
    picture.write_bytes(f"P5 {width * scale} {len(rows) * scale} 255\n".encode() + pixels)
    read = env.brief("zbarimg", "--quiet", "--raw", picture, check=False).stdout.strip()
    return read if read.startswith("FIDO:/") else None


CASES = {"age": stock_age, "many-files": many_files, "to-identity": to_identity, "phone-lost": phone_lost,
         "envelope": envelope, "judge-seals": judge_seals, "pyrage": pyrage, "links": links, "passkey": with_passkey,
         "without-data": without_data, "changed-file": changed_file, "code-as-message": code_as_message}
