# SPDX-License-Identifier: Apache-2.0
"""The site's page in a tab: mouse, keyboard, what it shows, and Chromium's virtual authenticator."""
import json

from harness.waiting import Failed

DEVICE = {"protocol": "ctap2", "ctap2Version": "ctap2_1", "transport": "internal", "hasResidentKey": True,
          "hasUserVerification": True, "isUserVerified": True, "automaticPresenceSimulation": True,
          "defaultBackupEligibility": True, "defaultBackupState": True}


class Page:
    def __init__(self, tab, waiting):
        self._tab, self._waiting = tab, waiting
        self._device = None
        tab.call("Log.enable")
        tab.call("Page.enable")

    def open(self, address):
        """Opens an address of the site and returns when its script is ready."""
        # Until the new document is there, scripts run in the old one.
        self.value("window.isOld = true")
        self._tab.go(address)
        self._tab.show()
        self.until(f"the script of {address} to start", "!window.isOld && 'ready' in document.documentElement.dataset")

    def value(self, expression):
        return self._tab.evaluate(expression)

    def until(self, what, expression, seconds=60):
        return self._waiting.until(what, lambda: self.value(expression), seconds)

    def state(self):
        """Returns what the page shows, for failures and comparisons."""
        return json.loads(self.value("""JSON.stringify({
            status: document.getElementById("status").textContent, alert: document.getElementById("alert").textContent,
            title: document.title, focus: document.activeElement?.id,
            passkeys: [...document.querySelectorAll("#passkeys strong")].map(item => item.textContent),
            log: [...document.querySelectorAll("#log li")].map(item => item.textContent)})"""))

    def until_says(self, text, element="status"):
        """Waits for a text in the status, or in the alert; the other one shows that the page went another way."""
        other = "alert" if element == "status" else "status"

        def says():
            state = self.state()
            if text in state[element]:
                return state
            if state[other] and not state[element]:
                raise Failed(f"expected {text!r} in the {element}, found in the {other}: {state[other]!r}; "
                             f"{state['log']}")
            return None

        return self._waiting.until(f"the page to say {text!r}", says, 60)

    def click(self, selector):
        """Clicks an element with the mouse."""
        place = json.loads(self.value(f"""(() => {{
            const found = document.querySelector({json.dumps(selector)});
            found.scrollIntoView({{block: "center"}});
            const box = found.getBoundingClientRect();
            return JSON.stringify({{x: box.x + box.width / 2, y: box.y + box.height / 2}});
        }})()"""))
        for kind in ("mousePressed", "mouseReleased"):
            self._tab.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **place)

    def fill(self, selector, text):
        """Replaces the text of a field."""
        self.value(f"document.querySelector({json.dumps(selector)}).focus()")
        self.value(f"document.querySelector({json.dumps(selector)}).select()")
        self._tab.call("Input.insertText", text=text)

    def sign_out(self):
        self.click("#sign-out")
        self.until_says("You are signed out.")

    def forget(self):
        """Signs out, if needed, and makes the browser forget the account."""
        self.value("""(async () => {
            for (const path of ["/api/sign-out", "/api/forget"]) {
                await fetch(path, {method: "POST", headers: {"Content-Type": "application/json"}, body: "{}"});
            }
        })()""")

    def revoke_all(self):
        """Deletes every passkey that can be deleted without telling the browser, as another browser would."""
        self.value("""(async () => {
            const post = (path, body) => fetch(path, {
                method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body)});
            const {account} = await (await post("/api/session", {})).json();
            for (const {id} of account.passkeys) await post("/api/passkeys/delete", {id});
        })()""")

    # Chromium's virtual authenticator, in place of a device that hybrid cannot be

    def add_device(self):
        self._tab.call("WebAuthn.enable", enableUI=False)
        self._device = self._tab.call("WebAuthn.addVirtualAuthenticator", options=DEVICE)["authenticatorId"]

    def drop_device(self):
        if self._device:
            self._tab.call("WebAuthn.disable")
            self._device = None

    def credentials(self):
        """Returns the passkeys on the virtual authenticator."""
        return self._tab.call("WebAuthn.getCredentials", authenticatorId=self._device)["credentials"]

    def until_credentials(self, what, look):
        return self._waiting.until(what, lambda: look(self.credentials()), 30)

    # Other

    def dark(self, on):
        self._tab.call("Emulation.setEmulatedMedia",
                       features=[{"name": "prefers-color-scheme", "value": "dark" if on else "light"}])

    def new_document_script(self, text):
        """Runs a script in every new document before those of the page; returns how to end that."""
        number = self._tab.call("Page.addScriptToEvaluateOnNewDocument", source=text)["identifier"]
        return lambda: self._tab.call("Page.removeScriptToEvaluateOnNewDocument", identifier=number)

    def accessible_nodes(self):
        """Returns role and name of what a screen reader finds."""
        nodes = self._tab.call("Accessibility.getFullAXTree")["nodes"]
        return [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes
                if not node.get("ignored") and "role" in node]

    def complaints(self):
        """Returns new complaints of Chromium about the page, such as violations of its policy."""
        entries = [event["entry"] for event in self._tab.events("Log.entryAdded")]
        # A refusal of the server is an entry, too; the page has a sentence for it.
        return [entry["text"] for entry in entries
                if entry["level"] in ("error", "warning") and entry["source"] != "network"]
