# SPDX-License-Identifier: Apache-2.0
"""Takes a picture of the whole screen when a test fails; drivers' screenshots do not include browser dialogs."""
import subprocess

import pytest
from phone import EVIDENCE


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    if report.failed:
        # A program of ImageMagick.
        subprocess.run(["import", "-silent", "-window", "root", EVIDENCE / f"{item.name}-{report.when}.png"])
    return report
