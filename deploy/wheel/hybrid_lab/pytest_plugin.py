# SPDX-License-Identifier: Apache-2.0
"""Fixtures for pytest: `lab`, `lab_page` and `phone`."""
from pathlib import Path

import pytest

from hybrid_lab.lab import Lab, LabError
from hybrid_lab.phone import Phone

_FAILED = pytest.StashKey()


def pytest_addoption(parser):
    group = parser.getgroup("hybrid-lab")
    group.addoption("--phone-evidence", metavar="DIR", help="keep Chromium's log, and a picture of the screen and the "
                    "phone's report of each failed test, in this folder")
    parser.addini("phone_seconds", "seconds that a phone waits for a code, and then for its end", default="60")


@pytest.fixture(scope="session")
def lab():
    """A virtual radio, a relay and a screen for all tests; browsers find them by environment variables."""
    try:
        lab = Lab()
    except (LabError, FileNotFoundError) as error:
        pytest.fail(str(error), pytrace=False)
    yield lab
    lab.close()


@pytest.fixture(scope="session")
def _lab_chromium(lab, request):
    api = pytest.importorskip("playwright.sync_api", reason="lab_page needs Playwright: pip install playwright")
    arguments = dict(lab.playwright)
    folder = _evidence(request.config)
    if folder is not None:
        arguments["args"] = [*arguments["args"], "--enable-logging", f"--log-file={folder / 'chromium.log'}",
                             "--vmodule=device_event_log*=2"]
    with api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(**arguments)
        yield chromium
        chromium.close()


@pytest.fixture
def lab_page(lab, _lab_chromium):
    """A page of Playwright in a Chromium that has found the lab's radio."""
    context = _lab_chromium.new_context()
    page = context.new_page()
    lab.wait_for_radio(page)
    yield page
    context.close()


@pytest.fixture
def phone(lab, tmp_path_factory, request):
    """A phone without passkeys. What it was told must be complete at the end of the test."""
    phone = Phone(tmp_path_factory.mktemp("phone"), int(request.config.getini("phone_seconds")))
    yield phone
    failed = request.node.stash.get(_FAILED, False)
    try:
        if not failed:
            phone.wait()
    finally:
        phone.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    if report.failed:
        item.stash[_FAILED] = True
        used = getattr(item, "funcargs", {})
        if "phone" in used:
            report.sections.append(("the phone's report", used["phone"].report))
        _keep_evidence(item, report.when)
    return report


def _evidence(config):
    """Returns the folder for files about failures, if there shall be one."""
    if config.getoption("phone_evidence") is None:
        return None
    folder = Path(config.getoption("phone_evidence")).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _keep_evidence(item, when):
    folder = _evidence(item.config)
    used = getattr(item, "funcargs", {})
    if folder is None or "lab" not in used:
        return
    name = f"{item.name}-{when}".replace("/", "_")
    used["lab"].take_picture(folder / f"{name}.png")
    if "phone" in used:
        (folder / f"{name}.jsonl").write_text(used["phone"].report + "\n")
