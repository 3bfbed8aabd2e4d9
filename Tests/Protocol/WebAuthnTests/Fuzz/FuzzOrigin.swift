// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import HybridCTAP
import HybridWebAuthn
import TestSupport

/// Tests an origin and, on the second line, a relying party ID.
func fuzzOrigin(_ input: [UInt8]) throws -> Bool {
    let lines = input.split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
    let text = String(decoding: lines[0], as: UTF8.self)
    let claimed = lines.count == 2 ? String(decoding: lines[1], as: UTF8.self) : nil
    if let claimed { try relyingPartyID(claimed) }
    let origin: Origin
    do throws(OriginError) {
        origin = try Origin(text)
    } catch {
        try isOneLine(error.sentence)
        return false
    }
    try invariant(try Origin(origin.text) == origin, "an origin is its own serialization")
    try relyingPartyID(origin.host.text)
    try secondOpinion(origin, text)
    let id: RelyingPartyID
    do throws(RelyingPartyIDError) {
        id = try origin.relyingPartyID(claimed: claimed)
    } catch {
        try isOneLine(error.sentence)
        try invariant(claimed != nil && claimed != origin.host.text, "a host is a valid relying party ID of its origin")
        return false
    }
    try invariant(id.text == claimed ?? origin.host.text, "the result is the requested ID")
    try invariant(
        id == origin.host || origin.host.text.hasSuffix("." + id.text),
        "the ID is the host or a parent of it"
    )
    try invariant(id == origin.host || !suffixes.contains(id.text), "the ID is not a public suffix")
    return claimed != nil
}

/// Some public suffixes.
private let suffixes: Set = ["com", "org", "net", "uk", "co.uk", "jp", "co.jp", "github.io", "dev"]

/// Tests that accepted names are plain and are not parsed as addresses.
private func relyingPartyID(_ text: String) throws {
    guard let id = RelyingPartyID(text) else { return }
    try invariant(id.text.utf8.elementsEqual(text.utf8), "a name is preserved")
    try invariant(
        text.utf8.count <= 253 && RelyingPartyID(text + ".") == nil,
        "a name is bounded and has no trailing dot"
    )
    let isPlain = text.utf8.allSatisfy { "abcdefghijklmnopqrstuvwxyz0123456789-_.".utf8.contains($0) }
    try invariant(isPlain, "a name is lower-case ASCII")
    try invariant(inet_addr(text) == INADDR_NONE, "no name is an IPv4 address")
    let isIPv6 = withUnsafeTemporaryAllocation(byteCount: 16, alignment: 8) {
        inet_pton(AF_INET6, text, $0.baseAddress) == 1
    }
    try invariant(!isIPv6, "no name is an IPv6 address")
}

/// Compares the result with a URL parser.
private func secondOpinion(_ origin: Origin, _ text: String) throws {
    let url = try present(URL(string: text), "an origin is a URL")
    let port = url.port.map { $0 == (origin.text.hasPrefix("https") ? 443 : 80) ? "" : ":\($0)" } ?? ""
    let serialized = "\(url.scheme?.lowercased() ?? "")://\(url.host()?.lowercased() ?? "")\(port)"
    try invariant(serialized == origin.text, "another parser finds \(serialized) instead of \(origin.text)")
    try invariant(url.path().isEmpty && url.query() == nil && url.fragment() == nil, "nothing follows an origin")
    try invariant(url.user() == nil && url.password() == nil, "an origin has no credentials")
}
