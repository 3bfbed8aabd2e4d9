// SPDX-License-Identifier: Apache-2.0
// The service worker: passes events to the requests and performs their actions. It decides nothing itself.

import { failure } from "./messages.js";
import { Requests } from "./requests.js";
import * as host from "./host.js";
import * as icon from "./icon.js";
import * as proxy from "./proxy.js";
import * as records from "./records.js";

const requests = new Requests();
const timers = new Map();
const ALARM = "requests";
let state;

// ---- Actions ---------------------------------------------------------------------------------------------------------

const actions = {
    async remember({ id, record }) {
        timers.set(id, setTimeout(() => perform(requests.timedOut(id)), requests.limit(id)));
        watch(true);
        await records.rememberRequest(id, record);
        await showState();
    },
    async locate({ id }) {
        const tabs = await chrome.tabs.query({});
        const lists = await Promise.all(tabs.map((tab) => framesOf(tab.id, tab.active)));
        await perform(requests.located(id, lists.flat()));
    },
    async open({ id, message }) {
        host.open(id, message, {
            answered: (id, answer) => perform(requests.answered(id, answer)),
            // The host may be missing, so that no request can succeed.
            disconnected: (id) => perform(requests.disconnected(id)).then(refresh),
        });
        // The page may have been left since its frames were listed, and that event is over.
        await Promise.all([...requests.tabs].map((tabId) => tabChanged(tabId)));
    },
    close({ id }) {
        host.close(id);
    },
    async complete({ id, kind, origin, result, tab }) {
        if (kind === "create" && result.responseJson && tab !== undefined) {
            // Chromium refuses a passkey, which the phone has stored by now, if its tab is hidden.
            await chrome.tabs.update(tab, { active: true }).catch(() => {});
        }
        if (!await proxy.complete(id, kind, result) && result.responseJson) {
            await records.writeOutcome({ origin, code: "unreadable" });
        }
    },
    async forget({ id }) {
        clearTimeout(timers.get(id));
        timers.delete(id);
        watch(requests.ids.length > 0);
        await records.forgetRequest(id);
        await showState();
    },
    outcome({ origin, code }) {
        return records.writeOutcome({ origin, code });
    },
    detach({ reason }) {
        return detach(reason);
    },
};

async function perform(list) {
    for (const action of list) {
        await actions[action.do](action);
    }
}

// ---- Reachability ----------------------------------------------------------------------------------------------------

let refreshing, isStale;

/** Asks the host whether a phone can be reached, then attaches or detaches. A call in the meantime repeats that. */
function refresh() {
    isStale = true;
    refreshing ??= (async () => {
        while (isStale) {
            isStale = false;
            const answer = await host.askAvailable();
            await (answer.available ? attach(answer.via) : detach(answer.reason));
        }
    })().finally(() => refreshing = undefined);
    return refreshing;
}

async function attach(via) {
    requests.attaching();
    await setState(await proxy.attach() ? { attached: true, via } : { attached: false, reason: "slot" });
}

async function detach(reason) {
    await perform(requests.detaching());
    await proxy.detach();
    // A request that came in the meantime got an error from Chromium, without an event.
    await perform(requests.detaching());
    await setState({ attached: false, reason });
}

async function setState(next) {
    state = next;
    await records.writeState(state);
    await showState();
}

function showState() {
    return icon.show(state, requests.ids.length);
}

// ---- Pages -----------------------------------------------------------------------------------------------------------

async function framesOf(tabId, tabIsActive) {
    // A tab that was closed has none.
    const frames = await chrome.webNavigation.getAllFrames({ tabId }).catch(() => null);
    return (frames ?? []).map((frame) => ({ ...frame, tabId, tabIsActive }));
}

async function tabChanged(tabId) {
    if (requests.tabs.has(tabId)) {
        await perform(requests.tabChanged(tabId, await framesOf(tabId)));
    }
}

const onCommitted = ({ tabId }) => tabChanged(tabId);
const onRemoved = (tabId) => perform(requests.tabChanged(tabId, []));

/** Watches navigations only while a page waits, because they start the worker. */
function watch(isWaiting) {
    if (isWaiting) {
        chrome.webNavigation.onCommitted.addListener(onCommitted);
        chrome.tabs.onRemoved.addListener(onRemoved);
        // Starts the next worker if this one is killed, and finds frames that were removed, which has no event.
        chrome.alarms.create(ALARM, { periodInMinutes: 0.5 });
    } else {
        chrome.webNavigation.onCommitted.removeListener(onCommitted);
        chrome.tabs.onRemoved.removeListener(onRemoved);
        chrome.alarms.clear(ALARM);
    }
}

// ---- Events ----------------------------------------------------------------------------------------------------------

const begin = (kind) => ({ requestId, requestDetailsJson }) =>
    perform(requests.begin(requestId, kind, requestDetailsJson));
chrome.webAuthenticationProxy.onCreateRequest.addListener(begin("create"));
chrome.webAuthenticationProxy.onGetRequest.addListener(begin("get"));
chrome.webAuthenticationProxy.onIsUvpaaRequest.addListener(proxy.denyPlatformAuthenticator);
chrome.webAuthenticationProxy.onRequestCanceled.addListener((id) => perform(requests.withdrawn(id)));
// The file that `hybrid-remote announce` writes.
chrome.webAuthenticationProxy.onRemoteSessionStateChange.addListener(refresh);
// An extension that is loaded by a switch gets only the second.
chrome.runtime.onStartup.addListener(refresh);
chrome.runtime.onInstalled.addListener(refresh);
chrome.runtime.onMessage.addListener((message) => {
    if (message.type === "cancel") {
        perform(requests.canceled(message.id));
    } else if (message.type === "refresh") {
        refresh();
    }
});
chrome.alarms.onAlarm.addListener(() => requests.tabs.forEach((tabId) => tabChanged(tabId)));

/** Ends the requests of a worker that was killed: their pages wait, and their ports are closed. */
async function restore() {
    const found = await records.readRecords();
    state ??= found.state;
    for (const { id, kind, origin } of found.requests.filter(({ id }) => !requests.ids.includes(id))) {
        await proxy.complete(id, kind, failure("NotReadableError", "interrupted"));
        await records.forgetRequest(id);
        await records.writeOutcome({ origin, code: "interrupted" });
    }
    watch(requests.ids.length > 0);
    await showState();
    // Neither of the two events above follows when the user enables the extension again.
    if (!state && !refreshing) {
        await refresh();
    }
}

watch(true);
restore();
