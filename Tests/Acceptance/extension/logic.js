// SPDX-License-Identifier: Apache-2.0
// Tests of the extension's pure modules. A page imports them, so that they need no program besides the browser.

import { LONGEST, LONGEST_WAIT, limitOf, readAnswer, readAvailable, readDetails, requestMessage } from "./messages.js";
import { findDocuments, remaining } from "./documents.js";
import { Requests } from "./requests.js";
import * as texts from "./texts.js";

const ORIGIN = "https://shop.example";
const details = (more = {}, stated = { origin: ORIGIN, sameOriginWithAncestors: true }) =>
    JSON.stringify({ challenge: "AA", timeout: 180000, extensions: { remoteDesktopClientOverride: stated }, ...more });
const frame = (tabId, frameId, url, more = {}) => ({ tabId, frameId, url, parentFrameId: frameId === 0 ? -1 : 0,
    documentId: `${tabId}-${frameId}`, documentLifecycle: "active", ...more });
const page = frame(1, 0, ORIGIN + "/login");
const response = { id: "AA", rawId: "AA", type: "public-key", clientExtensionResults: {},
    response: { clientDataJSON: "AA", authenticatorData: "AA", signature: "AA", attestationObject: "AA" } };
const summary = (actions) => actions.map(({ do: what, id, result, code, reason }) =>
    [what, id, result?.error?.name, code ?? reason].filter((part) => part !== undefined).join(" "));

function equal(found, expected) {
    if (JSON.stringify(found) !== JSON.stringify(expected)) {
        throw new Error(`expected ${JSON.stringify(expected)}, found ${JSON.stringify(found)}`);
    }
}

/** Returns requests of which some wait for their hosts. */
function asked(...ids) {
    const requests = new Requests();
    for (const id of ids) {
        requests.begin(id, "get", details());
        requests.located(id, [page]);
    }
    return requests;
}

const tests = {
    "the browser's own member is removed, and states origin and frame"() {
        const read = readDetails(details());
        equal([read.origin, read.crossOrigin, read.publicKey.extensions], [ORIGIN, false, {}]);
        equal(readDetails(details({}, { origin: ORIGIN, sameOriginWithAncestors: false })).crossOrigin, true);
        equal(readDetails(details({}, { origin: ORIGIN })).crossOrigin, true);
        for (const text of ["", "null", "[]", "{}", details({ extensions: {} }), details({}, { origin: 1 })]) {
            equal(readDetails(text), null);
        }
    },

    "a time limit is the page's, and at most ten minutes"() {
        equal([180000, 72000000, undefined, null, "1", 0, -1, Infinity].map(limitOf),
            [180000, ...Array(7).fill(LONGEST_WAIT)]);
    },

    "a message has the members of the request, and a top origin only if it is known"() {
        const read = readDetails(details());
        equal(requestMessage("get", read), { version: 1, type: "get", origin: ORIGIN, crossOrigin: false,
            publicKey: { challenge: "AA", timeout: 180000, extensions: {} } });
        equal(requestMessage("get", read, "https://top.example").topOrigin, "https://top.example");
        equal(requestMessage("get", readDetails(details({ challenge: "A".repeat(LONGEST) }))), null);
    },

    "an error without a message gets one, and one without a known name is not readable"() {
        const read = (error) => readAnswer("get", { error }).error;
        equal(read({ name: "NotAllowedError", code: "refused", message: "no" }), { name: "NotAllowedError", message: "no" });
        for (const message of [undefined, "", 1, {}]) {
            const found = read({ name: "NotAllowedError", message });
            equal([found.name, found.message.length > 0], ["NotAllowedError", true]);
        }
        equal(read({ name: "NotAllowedError", message: "A".repeat(1000) }).message.length, 300);
        for (const error of [null, 1, {}, { name: "Error" }, { name: "toString" }, { name: ["NotAllowedError"] }]) {
            equal(read(error).name, "NotReadableError");
        }
        equal(readAnswer("get", { error: { name: "NotAllowedError", code: "other" } }).code, "failed");
    },

    "an answer that is no response is not readable"() {
        equal(readAnswer("get", { response }), { responseJson: JSON.stringify(response) });
        const strange = [null, 1, "", [], {}, { response: null }, { response: [] }, { response: {} },
            { response, error: { name: "NotAllowedError" } }, { response: { ...response, type: "password" } },
            { response: { ...response, rawId: "AB" } }, { response: { ...response, response: null } },
            { response: { ...response, response: { clientDataJSON: "AA" } } },
            { response: { ...response, clientExtensionResults: undefined } },
            { response: { ...response, more: "A".repeat(LONGEST) } }];
        for (const answer of strange) {
            equal(readAnswer("get", answer).error?.name, "NotReadableError");
        }
        const { attestationObject, ...others } = response.response;
        equal(readAnswer("create", { response: { ...response, response: others } }).error?.name, "NotReadableError");
        equal(readAnswer("get", { response: { ...response, response: others } }).error, undefined);
    },

    "a phone can be reached only if the host says so"() {
        equal(readAvailable({ available: true, via: "ssh" }), { available: true, via: "ssh" });
        equal(readAvailable({ available: false, reason: "no-agent" }), { available: false, reason: "no-agent" });
        for (const answer of [undefined, null, {}, [], { available: "yes" }, { available: 1 }, { response }]) {
            equal(readAvailable(answer), { available: false, reason: "no-host" });
        }
    },

    "a request comes from a document with its origin, in any tab"() {
        const find = (frames, crossOrigin = false) => {
            const { documents, topOrigin } = findDocuments(frames, { origin: ORIGIN, crossOrigin });
            return [documents.map((document) => document.documentId).join(), topOrigin];
        };
        const top = frame(2, 0, "https://news.example/");
        const inside = frame(2, 7, ORIGIN + "/frame");
        equal(find([page, frame(3, 0, "https://other.example/")]), ["1-0", undefined]);
        equal(find([page, frame(3, 0, ORIGIN + ":8443/")]), ["1-0", undefined]);
        equal(find([page, top, inside], true), ["2-7", "https://news.example"]);
        equal(find([page, top, inside, frame(4, 0, "https://blog.example/"), frame(4, 9, ORIGIN)], true),
            ["2-7,4-9", undefined]);
        equal(find([frame(1, 0, "about:blank"), frame(2, 0, ORIGIN), frame(2, 5, "about:srcdoc")]), ["2-0,2-5", undefined]);
        equal(find([page, frame(3, 0, ORIGIN, { tabIsActive: true })]), ["3-0", undefined]);
        equal(find([top, inside, frame(4, 0, "https://blog.example/"), frame(4, 9, ORIGIN, { tabIsActive: true })], true),
            ["4-9", undefined]);
        equal(find([{ ...page, documentLifecycle: "prerender" }]), ["", undefined]);
        equal(find([frame(1, 0, ""), frame(2, 0, "data:text/html,")]), ["", undefined]);
    },

    "a request ends with the last document from which it can come"() {
        const documents = [page, frame(2, 0, ORIGIN)].map(({ tabId, documentId }) => ({ tabId, documentId }));
        equal(remaining(documents, 3, []), documents);
        equal(remaining(documents, 1, []), documents.slice(1));
        equal(remaining(documents, 1, [page]), documents);
        equal(remaining(documents, 1, [{ ...page, documentLifecycle: "cached" }]), documents.slice(1));
    },

    "a request is answered once"() {
        const requests = new Requests();
        equal(summary(requests.begin(1, "get", details())), ["remember 1", "locate 1"]);
        equal(summary(requests.located(1, [page])), ["open 1"]);
        equal(summary(requests.answered(1, { response })), ["outcome done", "complete 1", "close 1", "forget 1"]);
        for (const again of [requests.answered(1, { response }), requests.timedOut(1), requests.disconnected(1),
            requests.canceled(1), requests.withdrawn(1), requests.tabChanged(1, []), requests.detaching()]) {
            equal(again, []);
        }
    },

    "every end completes the request and closes its port"() {
        const ends = {
            answered: [7, null], timedOut: [7], disconnected: [7], canceled: [7], tabChanged: [1, []], detaching: [],
        };
        for (const [name, values] of Object.entries(ends)) {
            const done = summary(asked(7)[name](...values));
            equal(done.filter((what) => !what.startsWith("outcome")).map((what) => what.split(" ")[0]),
                ["complete", "close", "forget"]);
        }
        equal(summary(asked(7).withdrawn(7)), ["close 7", "forget 7"]);
    },

    "a request whose page has left before its host starts opens no host"() {
        const requests = new Requests();
        requests.begin(1, "create", details());
        equal(summary(requests.located(1, [frame(1, 0, "https://other.example/")])),
            ["complete 1 NotAllowedError", "forget 1"]);
        requests.begin(2, "create", details());
        requests.withdrawn(2);
        equal(requests.located(2, [page]), []);
    },

    "without an agent, it detaches when no other request waits"() {
        const none = { error: { name: "NotAllowedError", code: "no-agent", message: "no agent" } };
        equal(summary(asked(1).answered(1, none)).at(-1), "detach no-agent");
        const requests = asked(1, 2);
        equal(summary(requests.answered(1, none)).includes("detach no-agent"), false);
        equal(summary(requests.answered(2, { response })).at(-1), "detach no-agent");
        const reached = asked(1, 2);
        reached.answered(1, none);
        reached.attaching();
        equal(summary(reached.answered(2, { response })).includes("detach no-agent"), false);
    },

    "details that are not readable end the request at once"() {
        equal(summary(new Requests().begin(1, "get", "{")), ["complete 1 NotReadableError"]);
    },

    "every state and every end has a sentence, and success has none"() {
        for (const reason of ["no-agent", "no-host", "slot", ""]) {
            equal(texts.explanationOf({ attached: false, reason }).length > 20, true);
        }
        equal(texts.explanationOf({ attached: false, reason: "said by the host" }), "Said by the host.");
        for (const code of ["canceled", "refused", "timed-out", "unusable", "failed", "unreadable", "no-answer", "no-agent",
            "interrupted"]) {
            equal(texts.outcomeOf({ origin: ORIGIN, code }).startsWith("shop.example: "), true);
        }
        equal([texts.outcomeOf({ origin: ORIGIN, code: "done" }), texts.outcomeOf(undefined)], ["", ""]);
        equal(texts.titleOf({ attached: true, via: "ssh" }, 0), "Passkeys: on your laptop’s screen");
        equal(texts.titleOf({ attached: true, via: "local" }, 2), "Passkeys: 2 websites wait for this computer");
    },
};

/** Returns the number of tests and the sentences of those that failed. */
export function run() {
    const failures = Object.entries(tests).flatMap(([name, test]) => {
        try {
            test();
            return [];
        } catch (error) {
            return [`${name}: ${error.message}`];
        }
    });
    return { count: Object.keys(tests).length, failures };
}
