// SPDX-License-Identifier: Apache-2.0
// The window of the icon: whether a phone can be reached, which websites wait, and how the last request ended.

import { onRecords, readRecords } from "./records.js";
import { explanationOf, headlineOf, outcomeOf, siteOf, waitingOf } from "./texts.js";

const element = (id) => document.getElementById(id);

function item(request) {
    const [line, text, button] = ["li", "span", "button"].map((name) => document.createElement(name));
    text.textContent = waitingOf(request);
    button.type = "button";
    button.dataset.request = request.id;
    button.textContent = "Cancel";
    button.setAttribute("aria-label", `Cancel the request of ${siteOf(request.origin)}`);
    button.addEventListener("click", () => chrome.runtime.sendMessage({ type: "cancel", id: request.id }));
    line.append(text, button);
    return line;
}

// A live region reads a text again whenever it is written.
function write(id, text) {
    if (element(id).textContent !== text) {
        element(id).textContent = text;
    }
}

async function show() {
    const { requests, state, outcome } = await readRecords();
    write("headline", headlineOf(state));
    write("explanation", explanationOf(state));
    write("outcome", requests.length > 0 ? "" : outcomeOf(outcome));
    element("check").hidden = state?.attached !== false;
    const focused = document.activeElement?.dataset?.request;
    element("requests").replaceChildren(...requests.map(item));
    element("waiting").hidden = requests.length === 0;
    element("requests").querySelector(`[data-request="${focused}"]`)?.focus();
    return requests.length;
}

element("check").addEventListener("click", () => chrome.runtime.sendMessage({ type: "refresh" }));
onRecords(show);
// What the icon shows may be old. Requests that wait prove that it is not.
if (await show() === 0) {
    chrome.runtime.sendMessage({ type: "refresh" });
}
