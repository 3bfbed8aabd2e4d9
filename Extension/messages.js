// SPDX-License-Identifier: Apache-2.0
// The messages between the extension and `hybrid-remote host`: requests as they are sent, answers as they are read.
// Pure: nothing here calls the browser.

export const VERSION = 1;
// Bytes of a message in either direction; the agent on the laptop accepts no more.
export const LONGEST = 256 * 1024;
// Milliseconds that a page waits at most, whatever it requests.
export const LONGEST_WAIT = 10 * 60 * 1000;

// Names that pages know from WebAuthn. The page's message is used if the host sends none.
const SENTENCES = {
    AbortError: "The request was cancelled.",
    ConstraintError: "The phone does not support what the website requires.",
    DataError: "The request is not valid.",
    EncodingError: "The request has data that is not base64url.",
    InvalidStateError: "The phone already has a passkey for this account.",
    NotAllowedError: "The request was not confirmed.",
    NotReadableError: "The answer could not be read.",
    NotSupportedError: "The phone does not support the request.",
    SecurityError: "The relying party ID does not belong to this website.",
    SyntaxError: "The request is not valid.",
    TypeError: "The request is not valid.",
    UnknownError: "The phone reported an error.",
};
const CODES = ["refused", "timed-out", "unusable", "failed", "no-agent"];

/** Returns the result of a request that failed: what the page gets, and the code that the popup explains. */
export function failure(name, code, message) {
    const text = typeof message === "string" && message !== "" ? message.slice(0, 300) : SENTENCES[name];
    return { error: { name, message: text }, code };
}

/** Returns the failure for an answer that the extension or Chromium does not accept. */
export const unreadable = () => failure("NotReadableError", "unreadable");

/**
 * Returns `{origin, crossOrigin, publicKey, limit}` of a request as Chromium reports it, or null if it is not readable.
 *
 * Chromium states the origin in a member of the options, which a page can't set; the host gets options without it.
 */
export function readDetails(requestDetailsJson) {
    const publicKey = parsed(requestDetailsJson);
    const stated = publicKey?.extensions?.remoteDesktopClientOverride;
    if (!isObject(publicKey) || !isObject(stated) || typeof stated.origin !== "string" || stated.origin === "") {
        return null;
    }
    delete publicKey.extensions.remoteDesktopClientOverride;
    return {
        origin: stated.origin,
        crossOrigin: stated.sameOriginWithAncestors !== true,
        publicKey,
        limit: limitOf(publicKey.timeout),
    };
}

/** Returns the milliseconds after which the request ends. Chromium does not end it while a proxy is attached. */
export function limitOf(timeout) {
    const isUsable = typeof timeout === "number" && Number.isFinite(timeout) && timeout > 0;
    return isUsable ? Math.min(timeout, LONGEST_WAIT) : LONGEST_WAIT;
}

/** Returns the message for the host, or null if it is too long. */
export function requestMessage(kind, { origin, crossOrigin, publicKey }, topOrigin) {
    const message = { version: VERSION, type: kind, origin, crossOrigin, publicKey };
    if (topOrigin) {
        message.topOrigin = topOrigin;
    }
    return byteCount(message) > LONGEST ? null : message;
}

export const availableMessage = { version: VERSION, type: "available" };

/** Returns `{responseJson}`, or the failure that the page gets. */
export function readAnswer(kind, answer) {
    if (!isObject(answer) || ("response" in answer) === ("error" in answer) || byteCount(answer) > LONGEST) {
        return unreadable();
    }
    if ("error" in answer) {
        const { name, code, message } = isObject(answer.error) ? answer.error : {};
        if (typeof name !== "string" || !Object.hasOwn(SENTENCES, name)) {
            return unreadable();
        }
        return failure(name, CODES.includes(code) ? code : "failed", message);
    }
    return isResponse(kind, answer.response) ? { responseJson: JSON.stringify(answer.response) } : unreadable();
}

/** Returns `{available, via}` or `{available: false, reason}` of any answer. */
export function readAvailable(answer) {
    if (isObject(answer) && answer.available === true) {
        return { available: true, via: answer.via === "local" ? "local" : "ssh" };
    }
    if (isObject(answer) && answer.available === false) {
        return { available: false, reason: typeof answer.reason === "string" ? answer.reason.slice(0, 200) : "" };
    }
    return { available: false, reason: "no-host" };
}

// Chromium checks the rest, and reports what it does not accept.
function isResponse(kind, response) {
    const members = kind === "create"
        ? ["clientDataJSON", "attestationObject"]
        : ["clientDataJSON", "authenticatorData", "signature"];
    return isObject(response) && response.type === "public-key" && typeof response.id === "string" &&
        response.rawId === response.id && isObject(response.response) && isObject(response.clientExtensionResults) &&
        members.every((name) => typeof response.response[name] === "string");
}

function byteCount(message) {
    return new TextEncoder().encode(JSON.stringify(message)).length;
}

function parsed(text) {
    try {
        return JSON.parse(text);
    } catch {
        return null;
    }
}

function isObject(value) {
    return typeof value === "object" && value !== null && !Array.isArray(value);
}
