# SPDX-License-Identifier: Apache-2.0
"""Sign-in with a phone, tested with Selenium."""
import os

import pytest
from selenium import webdriver
from selenium.common.exceptions import TimeoutException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait


@pytest.fixture(scope="session")
def chromium(lab):
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for switch in lab.chromium_switches:
        options.add_argument(switch)
    if os.geteuid() == 0:
        # Chromium's sandbox does not work for root. Keep it on for other users.
        options.add_argument("--no-sandbox")
    # Containers have little shared memory.
    options.add_argument("--disable-dev-shm-usage")
    driver = webdriver.Chrome(options, Service("/usr/bin/chromedriver"))
    yield driver
    driver.quit()


@pytest.fixture
def page(chromium, site):
    chromium.get(site)
    # A new Chromium shows no code if a passkey is requested before it has found the radio.
    WebDriverWait(chromium, 30).until(lambda page: page.execute_async_script(
        "PublicKeyCredential.getClientCapabilities().then(able => arguments[0](able.hybridTransport))"))
    return chromium


def wait_for_status(page, text):
    status = page.find_element(By.ID, "status")
    try:
        # Longer than a user would wait: a slow machine is not a broken site.
        WebDriverWait(page, 30).until(lambda _: status.text == text)
    except TimeoutException:
        raise AssertionError(f"expected the status {text!r}, found {status.text!r}") from None


def test_register_and_sign_in(page, phone):
    phone.approve()
    page.find_element(By.ID, "register").click()
    wait_for_status(page, "Passkey saved for ada@example.com.")
    asked = phone.requests[-1]
    assert asked["command"] == "makeCredential"
    assert asked["rp_id"] == "localhost"
    assert asked["user"]["name"] == "ada@example.com"
    assert asked["resident_key"] and asked["user_verification"]

    phone.approve()
    page.find_element(By.ID, "sign-in").click()
    wait_for_status(page, "Welcome, ada@example.com.")
    asked = phone.requests[-1]
    assert asked["command"] == "getAssertion"
    assert asked["rp_id"] == "localhost"
    assert asked["allow"] == [] and asked["extensions"] == []


def test_the_user_declines(page, phone):
    phone.deny()
    page.find_element(By.ID, "register").click()
    wait_for_status(page, "Your phone did not sign you in. Please try again.")
