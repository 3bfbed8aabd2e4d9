// SPDX-License-Identifier: Apache-2.0

import TestSupport

@testable import HybridNetwork

/// Checks that the links of a site are https, of visible ASCII, and bounded.
func fuzzPasskeyEndpoints(_ input: [UInt8]) throws -> Bool {
    let pages: PasskeyEndpoints
    do throws(WellKnownFileError) {
        pages = try PasskeyEndpoints(json: input)
    } catch {
        try invariant(!error.reason.utf8.contains { $0 < 0x20 }, "the reason is one line")
        return false
    }
    for page in [pages.enroll, pages.manage].compactMap(\.self) {
        try invariant(page.utf8.count <= 2048, "a link is bounded")
        try invariant(page.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "a terminal shows it as it is")
        try invariant(page.lowercased().hasPrefix("https://"), "a link is https")
        try invariant(!page.dropFirst(8).prefix { !"/?#".contains($0) }.contains("@"), "a link has no user")
    }
    return true
}
