# SPDX-License-Identifier: Apache-2.0
"""Sign-in with a phone, tested with Playwright."""
import pytest
from playwright.sync_api import expect

# Longer than a user would wait: a slow machine is not a broken site.
expect.set_options(timeout=30_000)


@pytest.fixture
def page(lab_page, site):
    lab_page.goto(site)
    return lab_page


def press(page, button):
    page.get_by_role("button", name=button).click()


def expect_status(page, text):
    expect(page.get_by_role("status")).to_have_text(text)


def register(page, phone, name):
    page.get_by_label("Name").fill(name)
    phone.approve()
    press(page, "Create a passkey")
    expect_status(page, f"Passkey saved for {name}.")
    return phone.requests[-1]


def test_register_and_sign_in(page, phone):
    asked = register(page, phone, "ada@example.com")
    assert asked["command"] == "makeCredential"
    assert asked["rp_id"] == "localhost"
    assert asked["user"]["name"] == "ada@example.com"
    assert asked["resident_key"] and asked["user_verification"]
    assert asked["exclude"] == [] and asked["extensions"] == ["credProtect"]

    phone.approve()
    press(page, "Sign in")
    expect_status(page, "Welcome, ada@example.com.")
    asked = phone.requests[-1]
    assert asked["command"] == "getAssertion"
    assert asked["rp_id"] == "localhost"
    # The site names no account: the phone offers all that it has.
    assert asked["allow"] == []


def test_the_user_declines(page, phone):
    phone.deny()
    press(page, "Create a passkey")
    expect_status(page, "Your phone did not sign you in. Please try again.")


def test_an_account_has_one_passkey_on_a_phone(page, phone):
    register(page, phone, "ada@example.com")
    phone.approve()
    press(page, "Create a passkey")
    expect_status(page, "This phone has a passkey of this account already.")
    assert len(phone.requests[-1]["exclude"]) == 1


def test_two_accounts(page, phone):
    register(page, phone, "ada@example.com")
    register(page, phone, "bob@example.com")
    # The phone offers the latest account first.
    for number, name in ((1, "bob@example.com"), (2, "ada@example.com")):
        phone.script(f"pick:{number}")
        press(page, "Sign in")
        expect_status(page, f"Welcome, {name}.")


def test_a_phone_without_passkeys(page, phone):
    phone.script("no-credentials")
    press(page, "Sign in")
    expect_status(page, "Your phone did not sign you in. Please try again.")


def test_a_phone_that_loses_its_network(page, phone):
    phone.script("drop:request")
    press(page, "Create a passkey")
    expect_status(page, "Your phone did not sign you in. Please try again.")
