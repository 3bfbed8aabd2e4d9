# SPDX-License-Identifier: Apache-2.0
"""A TPM as the tools of tpm2-tools see it."""
from harness.programs import brief


class TPM:
    """A TPM at the address `address`; `log` is swtpm's file of all that is on its bus."""

    def __init__(self, environment, address, log):
        self._environment, self.address, self._log = environment, address, log

    def tool(self, *command, check=True, address=None):
        """Runs one of the tpm2-tools; returns its output."""
        return brief([*command, f"--tcti={address or self.address}"], check=check, seconds=self._environment.seconds,
                     environment=self._environment.folder.environment()).stdout

    def limit(self, tries, interval):
        """Sets the number of wrong authorization values before a lockout, and the seconds after which one is forgotten."""
        self.tool("tpm2_dictionarylockout", "--setup-parameters", f"--max-tries={tries}", f"--recovery-time={interval}",
                  f"--lockout-recovery-time={interval}")

    def handles(self, *kinds, address=None):
        """Lists the handles of some kinds."""
        return "".join(self.tool("tpm2_getcap", f"handles-{kind}", address=address) for kind in kinds)

    @property
    def wrong(self):
        """The counter of wrong authorization values."""
        lines = self.tool("tpm2_getcap", "properties-variable").splitlines()
        return int(next(line.split(":")[1] for line in lines if "LOCKOUT_COUNTER" in line), 16)

    @property
    def traffic(self):
        """All bytes on the bus, in hexadecimal."""
        lines = self._log.read_text(errors="replace").splitlines()
        return "".join(line.replace(" ", "") for line in lines
                       if line.strip() and set(line) <= set("0123456789ABCDEF ")).lower()
