# SPDX-License-Identifier: Apache-2.0
"""Compares the results of a ceremony with its scenario. Every difference is a sentence."""
import re

from scenarios import (AAGUID, ES256, NEW_VAULT, REPLACE, SAVE, SECRET, USE, VIRTUAL, Gone, Registered, Rejected, SignedIn,
                       use_first_of)
from webauthn.helpers import base64url_to_bytes as decode


def flags(value):
    names = [name for bit, name in enumerate(("UP", "bit1", "UV", "BE", "BS", "bit5", "AT", "ED")) if value >> bit & 1]
    return f"{value:#04x} ({' '.join(names)})"


class Verdict:
    """The differences, in `complaints`."""

    def __init__(self, scenario, outcome, site):
        self.complaints = []
        self._site = site
        expected = scenario.outcome
        if isinstance(expected, Gone):
            self._same("the page", "ready", outcome.page["event"])
        elif isinstance(expected, Rejected):
            self._rejected(expected, outcome)
        elif outcome.page["event"] != "fulfilled":
            self.complaints.append(f"the page's promise was rejected: {outcome.page['error']}: "
                                   f"{outcome.page['message']}")
        elif outcome.refused:
            self.complaints.append(outcome.refused)
        elif isinstance(expected, Registered):
            self._registered(expected, outcome)
        elif isinstance(expected, SignedIn):
            self._signed_in(expected, outcome)
        self._dialog(scenario, outcome)
        self._phone(scenario, outcome)
        self._vault(scenario, outcome)
        self._adverts(scenario, outcome)

    def _same(self, what, expected, found):
        if expected != found:
            self.complaints.append(f"{what}: expected {expected!r}, found {found!r}")

    def _rejected(self, expected, outcome):
        self._same("the page's promise", ("rejected", expected.error),
                   (outcome.page["event"], outcome.page.get("error")))

    def _registered(self, expected, outcome):
        response, facts = outcome.page["response"], outcome.facts
        self._same("attestation format", expected.format, facts["format"])
        self._same("attestation statement", {"alg": ES256, "sig": bytes} if expected.format == "packed" else {},
                   {name: bytes if name == "sig" and value else value for name, value in facts["statement"].items()})
        self._same("AAGUID", AAGUID, facts["aaguid"])
        self._same("algorithm", ES256, facts["algorithm"])
        self._same("algorithm reported by the browser", ES256, response["response"].get("publicKeyAlgorithm"))
        self._same("transports", ["hybrid", "internal"], sorted(outcome.page["transports"]))
        self._common(expected, outcome)

    def _signed_in(self, expected, outcome):
        credential, known = self._site.last
        self._same("credential ID", credential, outcome.facts["id"])
        self._same("userHandle", known.handle, outcome.facts["handle"])
        self._common(expected, outcome)

    def _common(self, expected, outcome):
        response, facts = outcome.page["response"], outcome.facts
        self._same("flags", flags(expected.flags), flags(facts["flags"]))
        self._same("signature count", 0, facts["count"])
        self._same("rawId", facts["id"], response["rawId"])
        self._same("authenticatorAttachment", "cross-platform", response.get("authenticatorAttachment"))
        self._same("clientExtensionResults", expected.extensions, self._known(response["clientExtensionResults"]))

    @staticmethod
    def _known(extensions):
        """Returns the extension results; secrets of the expected length are replaced by the placeholder."""
        results = extensions.get("prf", {}).get("results", {})
        known = {name: SECRET if len(decode(value)) == 32 else value for name, value in results.items()}
        return {**extensions, "prf": {**extensions["prf"], "results": known}} if results else extensions

    def _dialog(self, scenario, outcome):
        steps = " ".join(outcome.steps)
        if not re.fullmatch(scenario.steps, steps):
            self.complaints.append(f"Chromium's dialog: expected {scenario.steps}, found {steps}")

    def _phone(self, scenario, outcome):
        self._same("the phone's exit status", scenario.phone_status, outcome.phone_status)
        if scenario.phone_status is not None and not scenario.failure.script:
            self._same("hybrid-auth's first line", f"hybrid-auth: {VIRTUAL}", outcome.phone_said.split("\n")[0])
        last = outcome.phone_said.rstrip().rpartition("\n")[2]
        if scenario.phone_says not in last:
            self.complaints.append(f"the phone's last line: expected {scenario.phone_says!r} in it, found {last!r}")
        instead = {}
        if outcome.replaces:
            instead[SAVE] = REPLACE
        if outcome.accounts > 1:
            instead[USE] = use_first_of(outcome.accounts)
        expected = [instead.get(asked, asked) for asked in scenario.dialogues]
        if expected and not outcome.had_vault:
            expected.insert(0, NEW_VAULT)
        self._same("questions at the phone", [asked.questions for asked in expected],
                   [dialogue.questions for dialogue in outcome.dialogues])
        for asked, dialogue in zip(expected, outcome.dialogues):
            first, _, below = dialogue.description.partition("\n")
            self._same("first line of a dialogue", asked.first_line, first)
            self.complaints += [f"a dialogue: expected {text!r} in it, found {dialogue.description!r}"
                                for text in asked.texts if text not in below]

    def _vault(self, scenario, outcome):
        before, after = outcome.records_before, outcome.records_after
        new = 0
        if scenario.makes_passkey:
            # A replaced passkey leaves a tombstone.
            new = 2 if outcome.replaces else 1
        self._same("records in the vault", len(before) + new, len(after))
        self._same("records from before", before, {name: after.get(name) for name in before})

    def _adverts(self, scenario, outcome):
        sent = 0 if scenario.phone_status is None else scenario.adverts
        self._same("adverts registered", sent, outcome.adverts_begun)
        self._same("adverts unregistered", sent, outcome.adverts_ended)
        self._same("adverts afterwards", [], outcome.adverts_left)
