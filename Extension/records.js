// SPDX-License-Identifier: Apache-2.0
// What the next service worker and the popup must know, in the memory of the browser until it ends. Each request has a
// key of its own, so that no write replaces another.

const REQUEST = "request:";
const store = chrome.storage.session;

export const rememberRequest = (id, record) => store.set({ [REQUEST + id]: record });
export const forgetRequest = (id) => store.remove(REQUEST + id);

/** `{attached: true, via}` or `{attached: false, reason}`. */
export const writeState = (state) => store.set({ state });

/** `{origin, code}` of the request that ended last. */
export const writeOutcome = (outcome) => store.set({ outcome });

/** Returns `{requests: [{id, kind, origin}], state, outcome}`; the last two can be undefined. */
export async function readRecords() {
    const { state, outcome, ...others } = await store.get(null);
    const requests = Object.entries(others).filter(([key]) => key.startsWith(REQUEST))
        .map(([key, record]) => ({ id: Number(key.slice(REQUEST.length)), ...record }));
    return { requests, state, outcome };
}

export const onRecords = (changed) => store.onChanged.addListener(changed);
