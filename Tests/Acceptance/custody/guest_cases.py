# SPDX-License-Identifier: Apache-2.0
"""The cases in a guest: those of the TPM in software, and those that need a kernel's device, for each boot of the guest."""
import os
from contextlib import contextmanager

import tpm_format
import tpm_story
from guest_environment import CHIP, GROUP, MANAGED, USER
from harness.waiting import must
from tpm_environment import PASSPHRASE, PIN
from tpm_story import FORGOTTEN, NOT_PERMITTED, TEMPORARY

OUTSIDER = ("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups")


def permission(environment):
    """Users outside the group tss get a sentence, and count no attempt."""
    found = MANAGED.stat()
    must(MANAGED.group() == GROUP and found.st_mode & 0o777 == 0o660, f"mode {found.st_mode:o}, group {MANAGED.group()}")
    device = environment.device_with_tpm()
    device.account = OUTSIDER
    line = device.does_not_open(NOT_PERMITTED, "join the group tss")
    must(FORGOTTEN in line, f"no remedy: {line}")
    plain = environment.device_with_vault()
    plain.account = OUTSIDER
    plain.fails(NOT_PERMITTED, "join the group tss", "tpm", "enable", secrets=[PIN])
    plain.opens()
    device.account = environment.account
    device.opens()
    return line.partition(": ")[2]


@contextmanager
def _chip():
    """Gives the user the device without the resource manager, which has one user at a time."""
    owner = CHIP.stat().st_uid
    os.chown(CHIP, os.stat(f"/home/{USER}").st_uid, -1)
    try:
        yield f"device:{CHIP}"
    finally:
        os.chown(CHIP, owner, -1)


def busy(environment):
    """Another program has the TPM to itself: a sentence."""
    device = environment.device_with_tpm()
    with _chip() as address:
        other = os.open(CHIP, os.O_RDWR)
        try:
            line = device.does_not_open(TEMPORARY, "the TPM is busy", tpm=address)
        finally:
            os.close(other)
        must(FORGOTTEN in line, f"no remedy: {line}")
        device.opens(tpm=address)
    return line.partition(": ")[2]


def handles(environment):
    """No command leaves a handle in the chip when no resource manager flushes it."""
    tpm, device = environment.tpm, environment.device_with_vault()
    new_pin = "another horse"
    commands = ((("vault", "tpm", "enable"), [PIN]), (("vault", "tpm", "status"), []),
                (("vault", "change-pin"), [PIN, new_pin]), (("passkeys", "list"), ["wrong", new_pin]),
                (("vault", "tpm", "disable"), [new_pin]))
    with _chip() as address:
        for (program, *command), secrets in commands:
            device.succeeds(*command, secrets=secrets, tpm=address, program=program)
            must(not (left := tpm.leftovers()), f"{program} {' '.join(command)} left {left}")


def killed(environment):
    """SIGKILL at commands to the device: the kernel flushes, and the PIN opens the vault."""
    points, original = 0, environment.device_with_vault()
    for number in range(1, 30) if environment.is_thorough else (2, 8):
        device = original.copy()
        # As root, because other users cannot see which file a descriptor of our program is.
        device.account = ("strace", "-f", "-qq", "-o", "/dev/null", "-P", str(MANAGED), "-e", "trace=write", "-e",
                          f"inject=write:signal=SIGKILL:when={number}", *environment.account)
        if device.run("tpm", "enable", secrets=[PIN]).returncode == 0:
            break
        device.account = environment.account
        points += 1
        must(not environment.tpm.leftovers(), f"killed at command {number}: left {environment.tpm.leftovers()}")
        device.opens()
    must(points, "the command was never killed")
    return f"{points} points"


def cleared(environment):
    """A cleared TPM: a sentence; the passphrase opens the vault, and the TPM can protect a new PIN."""
    environment.tpm.clear()
    return _forgotten(environment.saved(), "was cleared")


def _forgotten(device, text):
    line = device.does_not_open(NOT_PERMITTED, text)
    must(FORGOTTEN in line, f"no remedy: {line}")
    said = device.succeeds("change-pin", "--forgotten", secrets=[PASSPHRASE, "new horse"])
    must("does not protect the new PIN" in said, f"the lost protection is not reported: {said}")
    must(device.slots == ["pin"], f"slots {device.slots}")
    device.succeeds("tpm", "enable", secrets=["new horse"])
    device.opens("new horse")
    return line.partition(": ")[2]


def kept(environment):
    """Files for the next boots, and a wrong PIN that the TPM remembers."""
    device = environment.device_with_tpm()
    device.succeeds("list", secrets=["wrong", PIN], program="passkeys")
    must(environment.tpm.wrong == 1, f"the TPM counted {environment.tpm.wrong} wrong PINs instead of 1")
    environment.save(device)


def other_tpm(environment):
    """The same disk with another TPM."""
    return _forgotten(environment.saved(), "a different TPM sealed")


def rebooted(environment):
    """The same disk and TPM after the power was cut: the counter is kept, and the PIN opens the vault."""
    wrong, device = environment.tpm.wrong, environment.saved()
    must(wrong >= 1, "the TPM has forgotten the wrong PIN")
    device.opens()
    device.succeeds("tpm", "disable", secrets=[PIN])
    must(device.slots == ["pin"], f"slots {device.slots}")
    device.opens(tpm="device:/dev/there-is-no-tpm")
    return f"{wrong} wrong PINs counted"


STORY = {name: case for name, case in {**tpm_story.CASES, **tpm_format.CASES}.items()
         # These need TPMs in software.
         if name not in ("tpm-lost", "tpm-unusable")}
# `tpm-kept` is the last one before the next boot.
BOOTS = {
    "first": {**STORY, "tpm-permission": permission, "tpm-busy": busy, "tpm-handles": handles, "tpm-killed": killed,
              "tpm-kept": kept},
    "other": {"tpm-other": other_tpm},
    "again": {"tpm-rebooted": rebooted, "tpm-cleared": cleared},
}
