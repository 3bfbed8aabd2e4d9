# SPDX-License-Identifier: Apache-2.0
"""Runs cases in the guest, as root: in_guest.py BOOT NAME,NAME… all|some

Its files are in memory; those that the suite keeps are copied to the results.
"""
import os
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

sys.path.append(str(Path(__file__).parents[1]))

from guest_cases import BOOTS
from guest_environment import GROUP, MANAGED, RESULTS, USER, GuestEnvironment
from harness.programs import brief
from harness.suite import run_suite


def main(boot, names, extent):
    environment = dict(os.environ)
    if not MANAGED.exists():
        sys.exit(f"the guest's kernel found no TPM: there is no {MANAGED}")
    # As systemd does for the devices of drivers that are part of the kernel.
    brief(["udevadm", "trigger", "--settle", str(MANAGED)], environment=environment)
    brief(["usermod", "--append", "--groups", GROUP, USER], environment=environment)
    folder = Path(tempfile.mkdtemp(prefix="custody-", dir="/run"))
    folder.chmod(0o711)
    tempfile.tempdir = str(folder)
    programs = SimpleNamespace(auth=Path("/mnt/programs/hybrid-auth"))
    status = run_suite(f"custody-{boot}", {name: BOOTS[boot][name] for name in names.split(",")},
                       lambda run, signals: GuestEnvironment(programs, run, signals, extent == "all", boot))
    brief(["cp", "-r", "--no-preserve=all", str(folder), str(RESULTS / boot)], environment=environment)
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
