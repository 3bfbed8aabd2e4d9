# SPDX-License-Identifier: Apache-2.0
"""SIGKILL at each command to the TPM and at each change of a file; the PIN and the passphrase open the vault."""
import subprocess

from tpm_environment import PASSPHRASE, PIN, PINENTRY
from harness.waiting import must
from software_tpm import TPMRelay, kill

NEW_PIN = "another horse"
# System calls that make a change of a file visible or durable.
FILE_STEPS = ("fsync", "renameat", "unlinkat")


class Killed:
    """A command that is killed at one point, each time on a new copy of a device."""

    def __init__(self, environment, device, command, secrets, pins):
        self._environment, self._device = environment, device
        self._command, self._secrets, self._pins = command, secrets, pins
        self.points = 0

    def everywhere(self):
        """Kills the command at all points, or at a few of each kind; returns their number."""
        thorough = self._environment.is_thorough
        total = self._at_command(None)
        for number in range(1, total + 1) if thorough else (total // 2,):
            for moment in ("before", "after") if thorough else ("after",):
                self._at_command(number, moment)
        for call in FILE_STEPS:
            number = 1
            while self._at_file_step(call, number) and thorough:
                number += 1
        return self.points

    def _at_command(self, number, moment="after"):
        """Kills at a command to the TPM; without a number, counts them."""
        copy = self._device.copy()
        relay = TPMRelay(self._environment, self._device.tpm)
        process = None

        def strike(at):
            if at == number:
                kill(process.pid)
                process.wait()

        setattr(relay, moment, strike)
        (copy.home / "secrets").write_text("".join(f"{secret}\n" for secret in self._secrets))
        process = subprocess.Popen(self._argv(copy), env=copy.variables(relay), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        status = process.wait(60)
        relay.stop()
        if number is None:
            must(status == 0, f"{self._command} ended with status {status}")
            return relay.commands
        if status == 0 and relay.commands < number:
            return number  # This run needed fewer commands than the counted one.
        must(status == -9, f"{self._command} ended with status {status} before command {number}")
        self._check(copy, f"{moment} command {number}")
        return number

    def _at_file_step(self, call, number):
        """Kills at a system call; returns false if there is no such call any more."""
        copy = self._device.copy()
        prefix = ("strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e",
                  f"inject={call}:signal=SIGKILL:when={number}")
        done = copy.run(*self._command, secrets=self._secrets, prefix=prefix)
        if done.returncode == 0:
            return False
        self._check(copy, f"at {call} {number}")
        return True

    def _argv(self, copy):
        return [str(self._environment.programs.auth), "vault", *self._command, "--vault", str(copy.vault),
                "--pinentry", str(PINENTRY)]

    def _check(self, copy, where):
        self.points += 1
        copy.tpm.flush()
        # The TPM counts the PIN that is wrong at each point, which would soon lock it.
        copy.tpm.tool("tpm2_dictionarylockout", "--clear-lockout")
        opened = [pin for pin in self._pins if copy.run("list", secrets=[pin], program="passkeys").returncode == 0]
        must(len(opened) == 1, f"killed {where}, {self._command}: the PINs {opened} open the vault; slots {copy.slots}")
        # The passphrase is slow, and depends on nothing that the command changes.
        if self.points % 6 == 1:
            copy.succeeds("change-pin", "--forgotten", secrets=[PASSPHRASE, "third horse"])
            copy.opens("third horse", tpm="device:/dev/there-is-no-tpm")
            must(copy.slots == ["pin"], f"killed {where}: slots {copy.slots}")
        else:
            # The command can be repeated.
            copy.succeeds(*self._command, secrets=[opened[0], *self._secrets[1:]])
            copy.opens(self._pins[-1])
        copy.tpm.flush()


def enable(environment):
    killed = Killed(environment, environment.device_with_vault(), ("tpm", "enable"), [PIN], [PIN])
    return f"{killed.everywhere()} points"


def disable(environment):
    killed = Killed(environment, environment.device_with_tpm(), ("tpm", "disable"), [PIN], [PIN])
    return f"{killed.everywhere()} points"


def change_pin(environment):
    device = environment.device_with_tpm()
    killed = Killed(environment, device, ("change-pin",), [PIN, NEW_PIN], [PIN, NEW_PIN])
    return f"{killed.everywhere()} points"


CASES = {"kill-enable": enable, "kill-disable": disable, "kill-change-pin": change_pin}
