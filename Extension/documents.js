// SPDX-License-Identifier: Apache-2.0
// The documents from which a request can come. Chromium reports an origin, but no tab and no frame, and no event when
// the page is left. Pure: nothing here calls the browser.

/**
 * Returns `{documents, topOrigin}`: the documents with the origin of a request, in tabs that are in front if there are any,
 * and the origin of the top frame if the request comes from a frame of another origin and all possible ones have the same.
 *
 * `frames` are all frames of all tabs, as `webNavigation.getAllFrames` returns them, each with its tab.
 */
export function findDocuments(frames, { origin, crossOrigin }) {
    const active = frames.filter((frame) => frame.documentLifecycle === "active");
    const byPlace = new Map(active.map((frame) => [`${frame.tabId} ${frame.frameId}`, frame]));
    const isTop = (frame) => frame.parentFrameId === -1;
    const parent = (frame) => byPlace.get(`${frame.tabId} ${frame.parentFrameId}`);

    // about:blank and srcdoc have the origin of the document that contains them.
    function originOf(frame) {
        const isInherited = frame.url.startsWith("about:") && !isTop(frame) && parent(frame);
        return isInherited ? originOf(parent(frame)) : URL.canParse(frame.url) ? new URL(frame.url).origin : undefined;
    }

    // A frame with this origin can be inside one of another origin, and vice versa.
    const found = active.filter((frame) => originOf(frame) === origin && !(crossOrigin && isTop(frame)));
    const tops = new Set(found.map((frame) => originOf(byPlace.get(`${frame.tabId} 0`) ?? frame)));
    const inFront = found.filter((frame) => frame.tabIsActive);
    return {
        documents: (inFront.length > 0 ? inFront : found).map(({ tabId, documentId }) => ({ tabId, documentId })),
        topOrigin: crossOrigin && tops.size === 1 ? [...tops][0] : undefined,
    };
}

/** Returns the documents that are still there, given the frames of one tab. */
export function remaining(documents, tabId, frames) {
    const present = new Set(frames.filter((frame) => frame.documentLifecycle === "active").map((f) => f.documentId));
    return documents.filter((document) => document.tabId !== tabId || present.has(document.documentId));
}
