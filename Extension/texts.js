// SPDX-License-Identifier: Apache-2.0
// The sentences that users read. Pure: nothing here calls the browser.

const REASONS = {
    "no-agent": "No ssh session forwards an agent that knows a phone. Connect to this computer with “ssh -A” from the " +
        "laptop next to your phone.",
    "no-host": "The program hybrid-remote does not answer. Install the package hybrid-remote, then restart the browser.",
    "slot": "Another extension answers passkey requests, for example Chrome Remote Desktop or a password manager. " +
        "Turn that off in the other extension, then check again.",
};

const OUTCOMES = {
    "canceled": "You cancelled the request.",
    "refused": "Not confirmed on your laptop.",
    "timed-out": "Not confirmed on your laptop in time.",
    "unusable": "The website’s request could not be used.",
    "failed": "The request failed. Your laptop shows the reason.",
    "unreadable": "The answer could not be read. Try again.",
    "no-answer": "The program hybrid-remote ended without an answer. Try again.",
    "no-agent": "The connection to your laptop has ended. Connect with “ssh -A”, then try again.",
    "interrupted": "The extension was restarted. Try again.",
};

/** The title of the icon, which screen readers read. */
export function titleOf(state, waiting) {
    if (waiting > 0) {
        return `Passkeys: ${waiting === 1 ? "a website waits" : `${waiting} websites wait`} for ${placeOf(state)}`;
    }
    return state?.attached ? `Passkeys: on ${placeOf(state)}’s screen` : "Passkeys from your phone: off";
}

export function headlineOf(state) {
    if (!state) {
        return "Checking…";
    }
    return state.attached ? "On" : "Off: websites get the browser’s own dialog";
}

export function explanationOf(state) {
    if (!state) {
        return "";
    }
    if (!state.attached) {
        return REASONS[state.reason] ?? sentenceOf(state.reason || REASONS["no-agent"]);
    }
    return `When a website requests a passkey, ${placeOf(state)} asks you. Confirm there, then on your phone.`;
}

/** The end of the last request, or an empty text if there is nothing to explain. */
export function outcomeOf(outcome) {
    const sentence = OUTCOMES[outcome?.code];
    return sentence ? `${siteOf(outcome.origin)}: ${sentence}` : "";
}

export function waitingOf({ kind, origin }) {
    return `${siteOf(origin)} ${kind === "create" ? "wants to create a passkey" : "wants you to sign in"}.`;
}

/** The part of an origin that users know. */
export function siteOf(origin) {
    return URL.canParse(origin) ? new URL(origin).host || origin : origin;
}

/** Programs report reasons as parts of a sentence. */
function sentenceOf(text) {
    return text[0].toUpperCase() + text.slice(1) + (/[.?!]$/.test(text) ? "" : ".");
}

function placeOf(state) {
    return state?.via === "local" ? "this computer" : "your laptop";
}
