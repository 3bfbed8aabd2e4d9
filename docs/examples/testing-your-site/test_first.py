# SPDX-License-Identifier: Apache-2.0
from playwright.sync_api import expect


def test_a_passkey_on_the_phone(lab_page, phone, site):
    status = lab_page.get_by_role("status")
    lab_page.goto(site)
    phone.approve()
    lab_page.get_by_role("button", name="Create a passkey").click()
    expect(status).to_have_text("Passkey saved for ada@example.com.", timeout=30_000)
    phone.deny()
    lab_page.get_by_role("button", name="Sign in").click()
    expect(status).to_have_text("Your phone did not sign you in. Please try again.", timeout=30_000)
    assert phone.requests[0]["rp_id"] == "localhost"
