# SPDX-License-Identifier: Apache-2.0
"""When a test fails: a picture of the whole screen, as no driver's own picture shows the browser's dialogs."""
import subprocess

import pytest
from phone import EVIDENCE


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    if report.failed:
        # Of ImageMagick.
        subprocess.run(["import", "-silent", "-window", "root", EVIDENCE / f"{item.name}-{report.when}.png"])
    return report
