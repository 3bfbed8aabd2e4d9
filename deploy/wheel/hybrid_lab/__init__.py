# SPDX-License-Identifier: Apache-2.0
"""Tests of sign-ins with a passkey on a phone, without a phone and without Bluetooth.

The wheel contains the program `hybrid-lab`, and a plug-in for pytest with the fixtures `lab`, `lab_page` and `phone`.
"""
import os
import shutil
from pathlib import Path

_FILES = Path(__file__).resolve().parent / "files"


def program():
    """Returns the path of the program: that of the wheel, or without it, that on the PATH."""
    own = _FILES / "hybrid-lab"
    if own.exists():
        return str(own)
    found = shutil.which("hybrid-lab")
    if found is None:
        raise FileNotFoundError("hybrid-lab is not installed: it is neither in this package nor on the PATH")
    return found


def environment():
    """Returns this process's environment with the wheel's dbus-daemon, which is used if the system has none."""
    variables = dict(os.environ)
    if (_FILES / "bin").exists():
        variables["PATH"] = os.pathsep.join([variables.get("PATH", os.defpath), str(_FILES / "bin")])
    return variables
