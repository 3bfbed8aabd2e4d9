# SPDX-License-Identifier: Apache-2.0
"""Sign-in with a phone, tested with Playwright: hybrid-lab run -- xvfb-run -a pytest test_playwright.py"""
import pytest
import shop
from phone import RADIO_IS_FOUND, Phone, chromium_switches
from playwright.sync_api import expect, sync_playwright

# Longer than a user would wait: a slow machine is not a broken site.
expect.set_options(timeout=30_000)


@pytest.fixture(scope="session")
def chromium():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium",
            headless=False,  # Without a window there is no dialog and no code.
            args=chromium_switches("playwright.log"))
        yield browser
        browser.close()


@pytest.fixture
def page(chromium):
    site = shop.serve()
    context = chromium.new_context()
    page = context.new_page()
    page.goto(site.shop.origin)
    page.evaluate(RADIO_IS_FOUND)
    yield page
    context.close()
    site.shutdown()


@pytest.fixture
def passkeys(tmp_path):
    return tmp_path / "passkeys.json"


def press(page, button):
    page.get_by_role("button", name=button).click()


def expect_status(page, text):
    expect(page.get_by_role("status")).to_have_text(text)


def register(page, passkeys, name):
    page.get_by_label("Name").fill(name)
    with Phone("approve", passkeys=passkeys) as phone:
        press(page, "Create a passkey")
        expect_status(page, f"Passkey saved for {name}.")
    return phone.requests[0]


def test_register_and_sign_in(page, passkeys):
    asked = register(page, passkeys, "ada@example.com")
    assert asked["command"] == "makeCredential"
    assert asked["rp_id"] == "localhost"
    assert asked["user"]["name"] == "ada@example.com"
    assert asked["resident_key"] and asked["user_verification"]
    assert asked["exclude"] == [] and asked["extensions"] == ["credProtect"]

    with Phone("approve", passkeys=passkeys) as phone:
        press(page, "Sign in")
        expect_status(page, "Welcome, ada@example.com.")
    asked = phone.requests[0]
    assert asked["command"] == "getAssertion"
    assert asked["rp_id"] == "localhost"
    # The site names no account: the phone offers all that it has.
    assert asked["allow"] == []


def test_the_user_declines(page, passkeys):
    with Phone("deny", passkeys=passkeys):
        press(page, "Create a passkey")
        expect_status(page, "Your phone did not sign you in. Please try again.")


def test_an_account_has_one_passkey_on_a_phone(page, passkeys):
    register(page, passkeys, "ada@example.com")
    with Phone("approve", passkeys=passkeys) as phone:
        press(page, "Create a passkey")
        expect_status(page, "This phone has a passkey of this account already.")
    assert len(phone.requests[0]["exclude"]) == 1


def test_two_accounts(page, passkeys):
    register(page, passkeys, "ada@example.com")
    register(page, passkeys, "bob@example.com")
    # The phone offers the latest account first.
    for number, name in ((1, "bob@example.com"), (2, "ada@example.com")):
        with Phone(f"pick:{number}", passkeys=passkeys):
            press(page, "Sign in")
            expect_status(page, f"Welcome, {name}.")


def test_a_phone_without_passkeys(page, passkeys):
    with Phone("no-credentials", passkeys=passkeys):
        press(page, "Sign in")
        expect_status(page, "Your phone did not sign you in. Please try again.")


def test_a_phone_that_loses_its_network(page, passkeys):
    with Phone("drop:request", passkeys=passkeys):
        press(page, "Create a passkey")
        expect_status(page, "Your phone did not sign you in. Please try again.")
