# SPDX-License-Identifier: Apache-2.0
"""Cases of programs that take a password from `hybrid-key secret derive`: gocryptfs, restic, borg and cryptsetup."""
import os
import shlex
import shutil

from environment import failed, succeeded
from harness.waiting import must
from life import QUICK
from python_phone import PythonPhone

TEXT = "the text of a file\n"


def _denying(env):
    return PythonPhone(env, "--status", "0x27")


def _derive(purpose):
    return ["hybrid-key", "secret", "derive", QUICK, purpose]


def gocryptfs(env):
    """A folder is encrypted and mounted with two approvals; a declined request makes none."""
    cipher, plain = (env.folder.sockets / name for name in ("cipher", "plain"))
    options = [part for word in _derive("gocryptfs:home") for part in ("-extpass", word)]
    for folder in (cipher, plain):
        folder.mkdir()
    program = env.run("gocryptfs", "-init", *options, cipher)
    env.approved(program, _denying(env))
    failed(program)
    must(not list(cipher.iterdir()), f"expected an empty folder; found {list(cipher.iterdir())}")
    program = env.run("gocryptfs", "-init", "-scryptn", "10", *options, cipher)
    env.approved(program, env.quick)
    succeeded(program)
    if not os.access("/dev/fuse", os.W_OK) or not shutil.which("fusermount"):
        # Changing the password needs it, too.
        program = env.run("gocryptfs", "-passwd", *options, cipher)
        env.approved(program, env.quick, env.quick)
        succeeded(program)
        return "without a mount, because there is no FUSE"
    program = env.run("gocryptfs", "-fg", *options, cipher, plain)
    # gocryptfs opens a file of its own after the mount, for the time of a system call, and says when it is done.
    env.approved(program, env.quick, until=lambda: program.status is not None or "mounted and ready" in program.said())
    must(os.path.ismount(plain), f"expected a mounted folder; gocryptfs {program.ending}: {program.said()}")
    (plain / "file").write_text(TEXT)
    env.brief("fusermount", "-u", plain)
    env.ended(program)
    must(not list(plain.iterdir()) and len(list(cipher.iterdir())) > 2, "expected an encrypted file; found none")


def restic(env):
    """A backup with restic, one approval a command; a declined one makes no repository."""
    repository, source = env.folder.scratch / "restic", env.folder.scratch / "to-back-up"
    source.mkdir()
    (source / "file").write_text(TEXT)
    words = ["restic", "--no-cache", "-r", repository, "--password-command", shlex.join(_derive("restic:laptop"))]
    program = env.run(*words, "init")
    env.approved(program, _denying(env))
    failed(program)
    must(not (repository / "config").exists(), "expected no repository; found one")
    for command, text in ((["init"], "created restic repository"), (["backup", str(source)], "snapshot"),
                          (["dump", "latest", str(source / "file")], TEXT)):
        program = env.run(*words, *command)
        env.approved(program, env.quick)
        succeeded(program, text)


def borg(env):
    """A repository of borg, one approval a command; a declined one does not become one with an empty password."""
    repository, other = (env.folder.scratch / name for name in ("borg", "borg-declined"))
    environment = {**env.environment, "BORG_PASSCOMMAND": shlex.join(_derive("borg:laptop")),
                   "BORG_BASE_DIR": str(env.folder.scratch / "borg-base")}
    program = env.run("borg", "init", "-e", "repokey", other, environment=environment)
    env.approved(program, _denying(env))
    failed(program)
    # borg leaves a folder behind.
    must("\nkey =" not in (other / "config").read_text(), "expected no key of a repository; found one")
    program = env.run("borg", "init", "-e", "repokey", repository, environment=environment)
    env.approved(program, env.quick)
    succeeded(program)
    program = env.run("borg", "create", f"{repository}::first", env.file(QUICK), environment=environment)
    env.approved(program, env.quick)
    succeeded(program)


def cryptsetup(env):
    """A file is formatted as LUKS and tested with two approvals; a declined request formats nothing."""
    file = env.folder.scratch / "luks.img"
    with open(file, "wb") as image:
        image.truncate(32 << 20)
    derive = 'hybrid-key secret derive "$1" luks:data --raw | '
    # The key has 256 bits, so that a fast derivation is enough.
    luks_format = (derive + "cryptsetup luksFormat --batch-mode --type luks2 --pbkdf pbkdf2 "
                   '--pbkdf-force-iterations 1000 --key-file=- "$2"')
    program = env.shell(luks_format, QUICK, file)
    env.approved(program, _denying(env))
    failed(program)
    with open(file, "rb") as image:
        must(not any(image.read(1 << 20)), "expected a file that is not formatted; found a header")
    program = env.shell(luks_format, QUICK, file)
    env.approved(program, env.quick)
    succeeded(program)
    program = env.shell(derive + 'cryptsetup open --test-passphrase --key-file=- "$2"', QUICK, file)
    env.approved(program, env.quick)
    succeeded(program)


CASES = {"gocryptfs": gocryptfs, "restic": restic, "borg": borg, "cryptsetup": cryptsetup}
