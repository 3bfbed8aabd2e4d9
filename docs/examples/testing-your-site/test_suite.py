# SPDX-License-Identifier: Apache-2.0
"""Tests without code for a phone, with one phone for all of them:
hybrid-lab run -- xvfb-run -a ./with-phone pytest test_suite.py
"""
import json
import os
from pathlib import Path

import pytest
import shop
from playwright.sync_api import expect

expect.set_options(timeout=30_000)


@pytest.fixture(scope="module")
def origin():
    server = shop.serve()
    yield server.shop.origin
    server.shutdown()


@pytest.fixture
def page(lab_page, origin):
    lab_page.goto(origin)
    return lab_page


def test_register(page):
    page.get_by_role("button", name="Create a passkey").click()
    expect(page.get_by_role("status")).to_have_text("Passkey saved for ada@example.com.")


def test_sign_in_again_and_again(page):
    for _ in range(3):
        page.reload()
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("status")).to_have_text("Welcome, ada@example.com.")


def test_what_the_phone_was_asked():
    events = [json.loads(line) for line in Path(os.environ["PHONE_REPORT"]).read_text().splitlines()]
    requests = [event for event in events if event["event"] == "request"]
    assert [request["command"] for request in requests] == ["makeCredential"] + ["getAssertion"] * 3
    assert {request["rp_id"] for request in requests} == {"localhost"}
