# SPDX-License-Identifier: Apache-2.0
"""One function for each feature. By hybrid: the phone answers. Otherwise Chromium's virtual authenticator does."""
from demo import demo
from harness.programs import brief
from harness.waiting import must

HOME = "/"
PASSWORD = "tell no one"

# A passkey provider that creates passkeys without a question, as an extension of a password manager does. Chromium
# itself does it only with an account of Google.
PROVIDER = """
const create = navigator.credentials.create.bind(navigator.credentials);
navigator.credentials.create = ({mediation, ...options}) => {
    window.mediation = mediation;
    return create(options);
};
"""


# By hybrid

def create(env):
    """An account with a passkey."""
    page = env.page
    page.fill("#new-name", "ada@example.com")
    page.fill("#new-display-name", "Ada")
    env.picture("start")
    page.click("#create-form button[value=passkey]")
    asked = env.scan("create")
    must(any(talk.description.startswith("shiny.example\n") for talk in asked), f"the phone asked {asked}")
    state = page.until_says("your passkey is saved")
    must(state["passkeys"] == ["Phone"], f"expected one passkey, Phone; found {state['passkeys']}")
    must(state["focus"] == "greeting", f"expected the focus on the greeting; found {state['focus']}")
    env.picture("create-done")
    return "by hybrid"


def declined(env):
    """The user of the phone declines: a sentence, and the page goes on."""
    _signed_out(env)
    env.page.click("#passkey-sign-in")
    env.scan("declined", answer="no")
    env.page.until_says("did not go on", "alert")
    env.picture("declined")
    return "by hybrid"


def modal(env):
    """The button for a sign-in with a passkey."""
    _signed_out(env)
    env.page.click("#passkey-sign-in")
    env.scan("modal")
    _signed_in(env, "You signed in with a passkey.", "credentials.get({})")
    env.picture("modal-done")
    return "by hybrid"


def autofill(env):
    """The field for the name offers a passkey from another device."""
    _signed_out(env)
    env.page.click("#name")
    env.choose_autofill("autofill-list")
    env.scan("autofill")
    _signed_in(env, "from autofill", 'credentials.get({mediation: "conditional"})')
    return "by hybrid"


def known(env):
    """A browser that knows the account: the allow list has its passkeys only."""
    _signed_in_by_phone(env)
    env.page.sign_out()
    env.picture("known")
    env.page.click("#continue")
    env.scan("known")
    _signed_in(env, "one of your passkeys", "credentials.get({allowCredentials: […]})")
    return "by hybrid"


def fallback(env):
    """Immediate mediation without a passkey on this device: the form, at once."""
    _signed_out(env)
    env.page.click("#quick-sign-in")
    state = env.page.until_says("This device has no passkey at hand")
    must('credentials.get({uiMode: "immediate"}) → NotAllowedError' in state["log"], f"the calls are {state['log']}")
    must(state["focus"] == "name", f"expected the focus in the field for the name; found {state['focus']}")
    env.picture("fallback")
    return "hybrid is never asked"


def related(env):
    """A second site on another domain, with the same passkeys."""
    env.page.open(env.related_origin + HOME)
    env.page.click("#passkey-sign-in")
    env.scan("related")
    _signed_in(env, "You signed in with a passkey.", "credentials.get({})")
    host = env.page.value("location.host")
    must(host == env.related_origin.removeprefix("https://"), f"the page is on {host}")
    env.picture("related-done")
    env.page.forget()
    env.page.open(env.origin + HOME)
    return f"by hybrid, on {host}"


def revoked(env):
    """A passkey that the site has deleted: refused, and signaled, although no signal reaches a phone."""
    _signed_in_by_phone(env)
    # An account keeps one way in, so the phone's passkey is deleted after another one was added.
    env.page.add_device()
    env.page.click("#add")
    env.page.until_says("The passkey was added.")
    env.page.drop_device()
    _delete(env, "Phone")
    env.page.forget()
    env.page.open(env.origin + HOME)
    env.page.click("#passkey-sign-in")
    env.scan("revoked")
    state = env.page.until_says("does not know the passkey", "alert")
    must("signalUnknownCredential → done" in state["log"], f"the calls are {state['log']}")
    env.picture("revoked")
    return "by hybrid"


def endpoints(env):
    """The phone's program finds the site's page for passkeys."""
    command = [env.programs.auth, "passkeys", "show", "shiny.example", "--manage", "--vault",
               env.folder.phone / "vault", "--pinentry", env.pinentry, "--cacert", env.authority]
    for override in env.connect_to:
        command += ["--connect-to", override]
    said = brief([str(word) for word in command], environment=env.person_environment()).stdout
    manage = env.origin + "/account"
    must(manage in said, f"expected {manage}, found {said!r}")
    env.page.open(manage)
    return manage


# With the virtual authenticator

def device(env):
    """A passkey on this device: autofill and immediate mediation answer without a dialog."""
    env.page.forget()
    env.page.open(env.origin + HOME)
    env.page.add_device()
    _create_here(env, "bea")
    env.page.click("#sign-out")
    # Autofill starts, and the virtual user agrees at once.
    _signed_in(env, "from autofill", 'credentials.get({mediation: "conditional"})')
    env.picture("device-autofill")
    _without_autofill(env)
    env.page.click("#quick-sign-in")
    _signed_in(env, "a passkey of this device", 'credentials.get({uiMode: "immediate"})')
    env.picture("device-immediate")
    env.page.click("#add")
    env.page.until_says("has a passkey for your account already", "alert")
    return "virtual authenticator; hybrid has no passkeys on this device"


def signals(env):
    """The three signals after a rename, a list change and a revocation."""
    page = env.page
    _create_with_password(env, "cleo")
    page.add_device()
    page.click("#add")
    page.until_says("The passkey was added.")

    page.fill("#account-name", "cleo@example.com")
    page.fill("#account-display-name", "Cleo")
    page.click("#details-form button")
    page.until_says("Your details were saved")
    page.until_credentials("the device to have the new names", lambda found: found and (
        found[0].get("userName"), found[0].get("userDisplayName")) == ("cleo@example.com", "Cleo"))
    env.picture("signals-rename")

    _delete(env, "This device")
    page.until_credentials("the device to drop a passkey that is not accepted", lambda found: not found)
    env.picture("signals-list")

    page.click("#add")
    page.until_says("The passkey was added.")
    page.revoke_all()
    page.forget()
    page.open(env.origin + HOME)
    page.until_says("does not know the passkey", "alert")
    page.until_credentials("the device to drop an unknown passkey", lambda found: not found)
    env.picture("signals-unknown")
    return "virtual authenticator; Chromium sends no signals to phones"


def upgrade(env):
    """A passkey after a sign-in with a password, without a question; otherwise nothing is shown."""
    page = env.page
    _create_with_password(env, "fred")

    def with_password():
        page.forget()
        page.open(env.origin + HOME)
        page.fill("#name", "fred")
        page.fill("#password", PASSWORD)
        page.click("#sign-in-form button")
        return page.until("the outcome of the upgrade", """[...document.querySelectorAll("#log li")].find(
            item => /create.*→/.test(item.textContent))?.textContent""")

    outcome = with_password()
    must(outcome.endswith("→ NotAllowedError"), f"expected that Chromium refuses; found {outcome}")
    page.until_says("You signed in with your password.")
    env.picture("upgrade-nothing")

    page.add_device()
    end = page.new_document_script(PROVIDER)
    try:
        with_password()
        state = page.until_says("has saved a passkey for you")
    finally:
        end()
    must(page.value("window.mediation") == "conditional", "expected a request with conditional mediation")
    must(state["passkeys"] == ["This device"], f"expected one passkey; found {state['passkeys']}")
    env.picture("upgrade-done")
    return "shows nothing in Chromium without an account of Google; then with a stand-in for a passkey provider"


def list_of_passkeys(env):
    """Names and deletion, by keyboard; the last way in stays."""
    page = env.page
    page.forget()
    page.open(env.origin + HOME)
    page.add_device()
    _create_here(env, "dora")
    page.value("document.querySelector('#passkeys button').focus()")
    env.screen.press("Return")
    page.until("the dialog to open", "document.getElementById('rename-dialog').open")
    page.fill("#passkey-name", "Blue laptop")
    env.picture("list-rename")
    env.screen.press("Return")
    state = page.until_says("The passkey was renamed.")
    must(state["passkeys"] == ["Blue laptop"], f"found {state['passkeys']}")
    page.click("#passkeys li button:last-child")
    page.until("the dialog to open", "document.getElementById('delete-dialog').open")
    env.picture("list-delete")
    page.click("#delete-form button.danger")
    page.until_says("the only way into your account", "alert")
    env.picture("list-last")
    return "virtual authenticator"


def accessible(env):
    """Every control has a name, in both views; pictures in dark mode."""
    page = env.page
    page.dark(True)
    env.painted_picture("dark-account")
    _named(page)
    page.forget()
    page.open(env.origin + HOME)
    _named(page)
    env.painted_picture("dark-start")
    page.dark(False)


def _named(page):
    roles = ("button", "textbox", "link", "list", "region", "dialog", "heading", "navigation")
    unnamed = [role for role, name in page.accessible_nodes() if role in roles and not name and role != "list"]
    must(not unnamed, f"without a name for screen readers: {unnamed}")


# Steps

def _signed_out(env):
    env.page.forget()
    env.page.open(env.origin + HOME)


def _signed_in(env, text, call):
    state = env.page.until_says(text)
    must(f"{call} → done" in state["log"], f"expected the call {call}, found {state['log']}")


def _signed_in_by_phone(env):
    if env.page.value("document.title").startswith("Your account"):
        return
    _signed_out(env)
    env.page.click("#passkey-sign-in")
    env.scan("sign-in")
    _signed_in(env, "You signed in", "credentials.get({})")


def _create_here(env, name):
    env.page.fill("#new-name", name)
    env.page.click("#create-form button[value=passkey]")
    env.page.until_says("your passkey is saved")


def _create_with_password(env, name):
    _signed_out(env)
    env.page.fill("#new-name", name)
    env.page.click("#create-form summary")
    env.page.fill("#new-password", PASSWORD)
    env.page.click("#create-form button[value=password]")
    env.page.until_says("Add a passkey to sign in")


def _without_autofill(env):
    """Signs out in a page that has no autofill, which would answer before the button is clicked."""
    end = env.page.new_document_script("""
        const able = PublicKeyCredential.getClientCapabilities.bind(PublicKeyCredential);
        PublicKeyCredential.getClientCapabilities = async () => ({...await able(), conditionalGet: false});""")
    env.page.forget()
    env.page.open(env.origin + HOME)
    end()


def _delete(env, name):
    env.page.click(f'[aria-label="Delete {name}"]')
    env.page.until("the dialog to open", "document.getElementById('delete-dialog').open")
    env.page.click("#delete-form button.danger")
    state = env.page.until_says("The passkey was deleted.")
    must(name not in state["passkeys"], f"found {state['passkeys']}")


CASES = {
    "create": create, "declined": declined, "modal": modal, "autofill": autofill, "known": known,
    "fallback": fallback, "related": related, "revoked": revoked, "endpoints": endpoints, "device": device,
    "signals": signals, "upgrade": upgrade, "list": list_of_passkeys, "accessible": accessible, "demo": demo,
}
