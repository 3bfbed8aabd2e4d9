# SPDX-License-Identifier: Apache-2.0
"""Tests without code for a phone, with one phone for all of them:
hybrid-lab run -- xvfb-run -a ./with-phone pytest test_suite.py
"""
import os

import pytest
import shop
from phone import RADIO_IS_FOUND, chromium_switches, events
from playwright.sync_api import expect, sync_playwright

expect.set_options(timeout=30_000)


@pytest.fixture(scope="module")
def page():
    site = shop.serve()
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", headless=False, args=chromium_switches("suite.log"))
        page = chromium.new_page()
        page.goto(site.shop.origin)
        page.evaluate(RADIO_IS_FOUND)
        yield page
        chromium.close()
    site.shutdown()


def test_register(page):
    page.get_by_role("button", name="Create a passkey").click()
    expect(page.get_by_role("status")).to_have_text("Passkey saved for ada@example.com.")


def test_sign_in_again_and_again(page):
    for _ in range(3):
        page.reload()
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("status")).to_have_text("Welcome, ada@example.com.")


def test_what_the_phone_was_asked():
    requests = [event for event in events(os.environ["PHONE_REPORT"]) if event["event"] == "request"]
    assert [request["command"] for request in requests] == ["makeCredential"] + ["getAssertion"] * 3
    assert {request["rp_id"] for request in requests} == {"localhost"}
