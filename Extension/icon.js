// SPDX-License-Identifier: Apache-2.0
// The icon in the toolbar. Chromium itself shows nothing while an extension answers requests. No request waits for it, and
// none fails with it: a package that was removed has no pictures for the browser that still runs.

import { titleOf } from "./texts.js";

export async function show(state, waiting) {
    const name = state?.attached ? "on" : "off";
    await Promise.allSettled([
        chrome.action.setIcon({ path: { 16: `icons/${name}-16.png`, 32: `icons/${name}-32.png` } }),
        chrome.action.setBadgeBackgroundColor({ color: "#1a4fa3" }),
        chrome.action.setBadgeTextColor({ color: "#ffffff" }),
        chrome.action.setBadgeText({ text: waiting > 0 ? String(waiting) : "" }),
        chrome.action.setTitle({ title: titleOf(state, waiting) }),
    ]);
}
