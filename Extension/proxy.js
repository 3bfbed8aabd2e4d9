// SPDX-License-Identifier: Apache-2.0
// Chromium's slot for one extension that answers WebAuthn requests in place of the browser.

import { unreadable } from "./messages.js";

const proxy = chrome.webAuthenticationProxy;

/** Takes the slot. Returns false if another extension has it; a second call is harmless. */
export async function attach() {
    try {
        return !await proxy.attach();
    } catch {
        return false;
    }
}

/** Leaves the slot. Pages that still wait get an AbortError from Chromium. */
export async function detach() {
    try {
        await proxy.detach();
    } catch {
        // It was not attached.
    }
}

/** Gives a page the result of its request. Returns false if Chromium does not accept it; the page gets an error then. */
export async function complete(id, kind, result) {
    const call = kind === "create" ? proxy.completeCreateRequest : proxy.completeGetRequest;
    const { responseJson, error } = result;
    try {
        await call({ requestId: id, ...(error ? { error } : { responseJson }) });
        return true;
    } catch {
        // A page whose response is malformed would wait for its next navigation. One that has gone has no request.
        await call({ requestId: id, error: unreadable().error }).catch(() => {});
        return false;
    }
}

/** A phone is not a platform authenticator, whatever this computer has. */
export function denyPlatformAuthenticator({ requestId }) {
    proxy.completeIsUvpaaRequest({ requestId, isUvpaa: false }).catch(() => {});
}
