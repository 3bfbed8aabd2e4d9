// SPDX-License-Identifier: Apache-2.0
// The requests of pages that wait, and what happens to them. Pure: each method returns actions, which background.js
// performs in this order. Each request is completed exactly once, unless its page has withdrawn it.

import { failure, readAnswer, readDetails, requestMessage } from "./messages.js";
import { findDocuments, remaining } from "./documents.js";

/**
 * Actions, with the ID of a request:
 *
 * - `remember`, `forget`: the record of a request, for the next service worker and for the popup
 * - `locate`: find the frames of all tabs, then call `located`
 * - `open`: start a host and send it `message`; `close`: close its port, which is the cancel
 * - `complete`: give the page a `result`; `kind` is that of the request, `tab` the only one from which it can come
 * - `outcome`: the code that the popup explains
 * - `detach`: stop taking requests
 */
export class Requests {
    #waiting = new Map();
    #detachesWhenIdle = false;

    get ids() {
        return [...this.#waiting.keys()];
    }

    /** Tabs in which a document may be that has a request. */
    get tabs() {
        return new Set([...this.#waiting.values()].flatMap((request) => request.documents.map((d) => d.tabId)));
    }

    /** Milliseconds that a request may take. */
    limit(id) {
        return this.#waiting.get(id)?.details.limit;
    }

    begin(id, kind, requestDetailsJson) {
        const details = readDetails(requestDetailsJson);
        if (!details) {
            return [{ do: "complete", id, kind, result: failure("NotReadableError", "unusable") }];
        }
        this.#waiting.set(id, { kind, details, documents: [], isAsked: false });
        return [{ do: "remember", id, record: { kind, origin: details.origin } }, { do: "locate", id }];
    }

    located(id, frames) {
        const request = this.#waiting.get(id);
        if (!request) {
            return [];
        }
        const { documents, topOrigin } = findDocuments(frames, request.details);
        if (documents.length === 0) {
            return this.#end(id, failure("NotAllowedError", "left"));
        }
        const message = requestMessage(request.kind, request.details, topOrigin);
        if (!message) {
            return this.#end(id, failure("NotAllowedError", "unusable"));
        }
        request.documents = documents;
        request.isAsked = true;
        return [{ do: "open", id, message }];
    }

    answered(id, answer) {
        const request = this.#waiting.get(id);
        if (!request) {
            return [];
        }
        const result = readAnswer(request.kind, answer);
        this.#detachesWhenIdle ||= result.code === "no-agent";
        return this.#end(id, result);
    }

    /** The host ended without an answer, or never started. */
    disconnected(id) {
        return this.#end(id, failure("NotReadableError", "no-answer"));
    }

    timedOut(id) {
        return this.#end(id, failure("NotAllowedError", "timed-out"));
    }

    /** The user cancelled in the popup. */
    canceled(id) {
        return this.#end(id, failure("NotAllowedError", "canceled"));
    }

    /** The page cancelled, and can't be answered any more. */
    withdrawn(id) {
        return this.#end(id, null);
    }

    /** A tab has these frames now; none if it was closed. */
    tabChanged(tabId, frames) {
        return this.ids.flatMap((id) => {
            const request = this.#waiting.get(id);
            if (!request.isAsked) {
                return [];
            }
            request.documents = remaining(request.documents, tabId, frames);
            return request.documents.length > 0 ? [] : this.#end(id, failure("NotAllowedError", "left"));
        });
    }

    /** Pages of a proxy that detaches get an error from Chromium, but their hosts would go on: all requests end first. */
    detaching() {
        this.#detachesWhenIdle = false;
        return this.ids.flatMap((id) => this.#end(id, failure("NotAllowedError", "no-agent")));
    }

    /** A phone can be reached, again. */
    attaching() {
        this.#detachesWhenIdle = false;
    }

    #end(id, result) {
        const request = this.#waiting.get(id);
        if (!request) {
            return [];
        }
        this.#waiting.delete(id);
        const actions = [];
        const { origin } = request.details;
        if (result && result.code !== "left") {
            actions.push({ do: "outcome", origin, code: result.code ?? "done" });
        }
        if (result) {
            const tabs = new Set(request.documents.map((document) => document.tabId));
            const tab = tabs.size === 1 ? [...tabs][0] : undefined;
            actions.push({ do: "complete", id, kind: request.kind, origin, result, tab });
        }
        if (request.isAsked) {
            actions.push({ do: "close", id });
        }
        actions.push({ do: "forget", id });
        if (this.#detachesWhenIdle && this.#waiting.size === 0) {
            this.#detachesWhenIdle = false;
            actions.push({ do: "detach", reason: "no-agent" });
        }
        return actions;
    }
}
