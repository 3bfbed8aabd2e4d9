# SPDX-License-Identifier: Apache-2.0
"""The TPM slot from its creation to the loss of the TPM."""
import json
import os
import shutil
import time

from tpm_environment import PASSPHRASE, PIN
from harness.waiting import must
from software_tpm import TPMRelay

NOT_PERMITTED, UNAVAILABLE, TEMPORARY = 77, 69, 75
FORGOTTEN = "vault change-pin --forgotten"


def enabling(environment):
    """Enabling needs another slot, replaces the PIN slot, and can be undone."""
    device = environment.new_device()
    device.succeeds("init", secrets=[PIN])
    device.fails(NOT_PERMITTED, "neither passphrase nor recovery code", "tpm", "enable", secrets=[PIN])
    must(device.slots == ["pin"], f"a refused enable left {device.slots}")
    device.succeeds("add-passphrase", secrets=[PIN, PASSPHRASE])
    said = device.succeeds("tpm", "enable", secrets=[PIN])
    must("vault rekey" in said and "not a stolen computer" in said, f"enable does not tell the limits: {said}")
    must(device.slots == ["tpm"], f"enable left {device.slots}")
    must((device.state / "tpm").stat().st_mode & 0o777 == 0o600, "the slot is readable by others")
    status = json.loads(device.run("tpm", "status", "--json").stdout)
    must(status["protection"] == "tpm" and status["tpm"]["manufacturer"] == "IBM" and status["error"] is None, f"{status}")
    must("protected by the TPM" in device.run("status").stdout, "vault status does not mention the TPM")
    device.opens()
    must("nothing to do" in device.succeeds("tpm", "enable"), "a second enable asks")
    device.succeeds("change-pin", secrets=[PIN, "another horse"])
    device.does_not_open(NOT_PERMITTED, "PIN was wrong", [PIN] * 3)
    device.opens("another horse")
    device.succeeds("rekey", secrets=["another horse", "saddle fathom remnant oboe civic lunar"])
    must(device.slots == ["tpm"], f"rekey left {device.slots}")
    device.opens("another horse")
    device.succeeds("tpm", "disable", secrets=["another horse"])
    must(device.slots == ["pin"], f"disable left {device.slots}")
    device.opens("another horse", tpm="device:/dev/there-is-no-tpm")


def guessing(environment):
    """Five wrong PINs are counted by both; who resets our counter meets the TPM's, and the passphrase still works."""
    tpm = environment.new_tpm(tries=8)
    device = environment.device_with_tpm(tpm)
    attempts = (device.state / "attempts").read_bytes()
    device.does_not_open(NOT_PERMITTED, "the PIN was wrong", ["wrong"] * 3)
    device.does_not_open(NOT_PERMITTED, "wrong too often", ["wrong"] * 3)
    must(tpm.wrong == 5, f"the TPM counted {tpm.wrong} wrong PINs instead of 5")
    device.does_not_open(NOT_PERMITTED, "try again in", [PIN])
    # The attacker replaces the file, as docs/vault.md says.
    (device.state / "attempts").write_bytes(attempts)
    device.opens()
    must(tpm.wrong == 5, "a right PIN changed the TPM's counter")
    device.does_not_open(TEMPORARY, "accepts no PIN for", ["wrong"] * 3)
    must(tpm.wrong == 7, f"the TPM counted {tpm.wrong} wrong PINs instead of 7: one try must be left for others")
    line = device.does_not_open(TEMPORARY, "for 10 minutes")
    must(FORGOTTEN in line, f"no remedy: {line}")
    must(tpm.wrong == 7, "a refused try was counted")
    must(json.loads(device.run("tpm", "status", "--json").stdout)["tpm"]["waitMinutes"] == 10, "status has another time")
    # A real lockout, caused by another program, and its recovery.
    (device.state / "attempts").write_bytes(attempts)
    tpm.tool("tpm2_dictionarylockout", "--setup-parameters", "--max-tries=7")
    line = device.does_not_open(TEMPORARY, "for 20 minutes")
    copy = device.copy()
    copy.succeeds("change-pin", "--forgotten", secrets=[PASSPHRASE, "new horse"])
    copy.opens("new horse")
    tpm.tool("tpm2_dictionarylockout", "--clear-lockout")
    device.opens()
    must(not tpm.leftovers(), f"handles left: {tpm.leftovers()}")
    return line.partition(": ")[2]


def recovery_by_time(environment):
    """After the interval, the TPM forgets a wrong PIN by itself."""
    tpm = environment.new_tpm(tries=3)
    device = environment.device_with_tpm(tpm)
    device.does_not_open(TEMPORARY, "for 10 minutes", ["wrong"] * 3)
    # Only now, because a slow machine takes longer than a second between two tries.
    tpm.limit(tries=3, interval=1)
    environment.waiting.until("the TPM to forget wrong PINs", lambda: tpm.wrong == 0, 20)
    device.opens()


def lost_tpms(environment):
    """A cleared TPM, another TPM, and a slot copied to another computer; the passphrase opens the vault each time."""
    tpm, other = environment.new_tpm(), environment.new_tpm()
    device = environment.device_with_tpm(tpm)
    sentences = [device.does_not_open(NOT_PERMITTED, "a different TPM sealed", tpm=other)]
    copied = device.copy(other)
    copied.does_not_open(NOT_PERMITTED, "a different TPM sealed")
    # The slot alone, beside the files of another device of the same vault.
    second = environment.new_device(other)
    shutil.copytree(device.vault, second.vault)
    second.succeeds("init", secrets=[PASSPHRASE, "second horse"])
    (second.state / "tpm").write_bytes((device.state / "tpm").read_bytes())
    (second.state / "pin").unlink()
    second.does_not_open(NOT_PERMITTED, "is from a different device")
    tpm.clear()
    sentences.append(device.does_not_open(NOT_PERMITTED, "was cleared"))
    must(all(FORGOTTEN in sentence for sentence in sentences), f"no remedy: {sentences}")
    for lost in (device, copied):
        said = lost.succeeds("change-pin", "--forgotten", secrets=[PASSPHRASE, "new horse"])
        must("does not protect the new PIN" in said, f"the lost protection is not reported: {said}")
        must(lost.slots == ["pin"], f"slots {lost.slots}")
        lost.opens("new horse")
        lost.succeeds("tpm", "enable", secrets=["new horse"])
        lost.opens("new horse")
    must(not tpm.leftovers() + other.leftovers(), "handles left")


def unusable(environment):
    """No TPM, no permission, no library, a busy TPM, a damaged slot: a sentence each, and no attempt is counted."""
    device = environment.device_with_tpm()
    node = device.home / "tpmrm0"
    node.touch(mode=0o000)
    prefix = ()
    if os.geteuid() == 0:
        # Root may open any file, so the capability is dropped.
        prefix = ("setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search")
    relay = environment.keep(TPMRelay(environment, environment.tpm))
    relay.busy = True
    cases = [
        (UNAVAILABLE, "there is no TPM at /dev/there-is-no-tpm", {"tpm": "device:/dev/there-is-no-tpm"}),
        (NOT_PERMITTED, "join the group tss", {"tpm": f"device:{node}", "prefix": prefix}),
        (UNAVAILABLE, "the TPM's library can't be loaded", {"tpm": "nothing:1"}),
        (TEMPORARY, "the TPM is busy", {"tpm": relay}),
    ]
    for status, text, options in cases:
        line = device.does_not_open(status, text, **options)
        must(FORGOTTEN in line, f"no remedy: {line}")
        line = device.run("tpm", "status", **options)
        must(line.returncode == 0 and text in line.stdout + line.stderr, f"status: {line}")
    plain = environment.device_with_vault()
    for status, text, options in cases:
        plain.fails(status, text, "tpm", "enable", secrets=[PIN], **options)
        plain.opens(**options)
    slot = bytearray((device.state / "tpm").read_bytes())
    slot[200] ^= 1
    (device.state / "tpm").write_bytes(slot)
    device.does_not_open(NOT_PERMITTED, "damaged")
    fails = device.fails(78, "HYBRID_TPM", "tpm", "status", tpm="./libevil.so:x")
    must("device:/dev/tpmrm0" in fails, f"no remedy: {fails}")


def doctor(environment):
    """The doctor reports the TPM and its lockout; without the TPM that seals the PIN, it fails."""
    tpm = environment.new_tpm(tries=8)
    device = environment.device_with_vault(tpm)

    def findings(**options):
        report = json.loads(device.run("--json", "--timeout", "20", program="doctor", **options).stdout)
        return [next((row["state"], row["found"]) for row in report["checks"] if row["check"] == check)
                for check in ("tpm", "tpm-lockout")]

    def expect(found, *expected):
        for (state, text), (wanted, words) in zip(found, expected):
            must(state == wanted and words in text, f"expected {wanted} with {words!r}; found {state}: {text}")

    absent = {"tpm": "device:/dev/there-is-no-tpm"}
    expect(findings(), ("ok", "is not used"), ("ok", "0 of 8 wrong attempts"))
    expect(findings(**absent), ("skipped", "there is no TPM"), ("skipped", "not checked"))
    device.succeeds("tpm", "enable", secrets=[PIN])
    device.does_not_open(NOT_PERMITTED, "the PIN was wrong", ["wrong"] * 3)
    expect(findings(), ("ok", "not a stolen machine"), ("ok", "3 of 8 wrong attempts"))
    expect(findings(**absent), ("failed", "there is no TPM"), ("skipped", "not checked"))
    tpm.tool("tpm2_dictionarylockout", "--setup-parameters", "--max-tries=4")
    expect(findings(), ("ok", "protects the PIN"), ("failed", "accepts no PIN for"))
    must(tpm.wrong == 3 and not tpm.leftovers(), "the doctor changed the TPM")


def speed(environment):
    """The time of an unlock with and without the TPM."""
    fastest, count = [], 20 if environment.is_thorough else 3
    for device in (environment.device_with_vault(), environment.device_with_tpm()):
        times = []
        for _ in range(count):
            began = time.monotonic()
            device.opens()
            times.append(time.monotonic() - began)
        fastest.append(min(times))
    must(fastest[1] < fastest[0] + environment.allowance, f"the TPM costs {fastest[1] - fastest[0]:.2f} s")
    return f"fastest of {count} unlocks {fastest[0] * 1000:.0f} ms without the TPM, {fastest[1] * 1000:.0f} ms with it"


CASES = {"tpm-enabling": enabling, "tpm-guessing": guessing, "tpm-recovery": recovery_by_time, "tpm-lost": lost_tpms,
         "tpm-unusable": unusable, "tpm-doctor": doctor, "tpm-speed": speed}
