// SPDX-License-Identifier: Apache-2.0
// The native messaging host: one process for each request. Closing its port is the cancel, and an open port keeps the
// service worker running.

import { availableMessage, readAvailable } from "./messages.js";

const NAME = "hybrid.remote";
// Milliseconds until a host that does not say whether a phone can be reached counts as missing.
const LONGEST_SILENCE = 5000;
const ports = new Map();

/** Sends a request to a new host. Calls `answered(id, answer)` or `disconnected(id)`, unless the port is closed first. */
export function open(id, message, { answered, disconnected }) {
    const port = connect(message, (answer) => answered(id, answer), () => {
        ports.delete(id);
        disconnected(id);
    });
    ports.set(id, port);
}

/** Cancels a request whose host has not answered, and ends one that has. */
export function close(id) {
    ports.get(id)?.disconnect();
    ports.delete(id);
}

/** Returns whether a phone can be reached, as `readAvailable` does. */
export function askAvailable() {
    return new Promise((resolve) => {
        const end = (answer) => {
            clearTimeout(timer);
            port.disconnect();
            resolve(readAvailable(answer));
        };
        const timer = setTimeout(end, LONGEST_SILENCE);
        const port = connect(availableMessage, end, end);
    });
}

function connect(message, answered, disconnected) {
    const port = chrome.runtime.connectNative(NAME);
    port.onMessage.addListener((answer) => answered(answer));
    port.onDisconnect.addListener(() => {
        // Chromium reports an error that is not read.
        void chrome.runtime.lastError;
        disconnected();
    });
    port.postMessage(message);
    return port;
}
