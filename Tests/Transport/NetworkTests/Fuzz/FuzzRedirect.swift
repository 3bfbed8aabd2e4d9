// SPDX-License-Identifier: Apache-2.0

import HybridPrimitives
import TestSupport

@testable import HybridNetwork

/// Checks that a redirection leads to a name with TLS on port 443, or is rejected.
func fuzzRedirect(_ input: [UInt8]) throws -> Bool {
    let current = (host: "cable.example", path: "/cable/connect/010203/00112233445566778899AABBCCDDEEFF?a=b")
    let text = String(decoding: input, as: UTF8.self)
    let redirect: Redirect
    do throws(RedirectError) {
        redirect = try Redirect(text, from: current)
    } catch {
        return false
    }
    try invariant(HostName.isValid(redirect.host), "the host is a name")
    try invariant(IPAddress(redirect.host) == nil, "and no address")
    try invariant(redirect.host.utf8.elementsEqual(redirect.host.lowercased().utf8), "in lower case")
    try invariant(redirect.path.utf8.first == UInt8(ascii: "/"), "the path begins at the root")
    try invariant(redirect.path.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "it is one line of a request")
    try invariant(!redirect.path.utf8.contains(UInt8(ascii: "#")), "fragments are not sent")
    let whole = "https://\(redirect.host)\(redirect.path)"
    if whole.utf8.count <= Redirect.maximumBytes {
        try invariant(try Redirect(whole, from: current) == redirect, "the absolute URL is equivalent")
    }
    return true
}
