// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import HybridCTAP
import HybridWebAuthn

/// An origin and, on a second line, the relying party ID that it claims: who may speak for whom.
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
        try invariant(claimed != nil && claimed != origin.host.text, "a host may speak for itself")
        return false
    }
    try invariant(id.text == claimed ?? origin.host.text, "what is allowed is what was claimed")
    try invariant(id == origin.host || origin.host.text.hasSuffix("." + id.text), "no site speaks for another")
    try invariant(id == origin.host || !suffixes.contains(id.text), "nobody speaks for a public suffix")
    return claimed != nil
}

/// Some domains under which strangers register theirs.
private let suffixes: Set = ["com", "org", "net", "uk", "co.uk", "jp", "co.jp", "github.io", "dev"]

/// Names that are taken are plain ones that nobody reads as an address.
private func relyingPartyID(_ text: String) throws {
    guard let id = RelyingPartyID(text) else { return }
    try invariant(id.text.utf8.elementsEqual(text.utf8), "a name is kept as it is")
    try invariant(text.utf8.count <= 253 && RelyingPartyID(text + ".") == nil, "a name is bounded and ends")
    let isPlain = text.utf8.allSatisfy { "abcdefghijklmnopqrstuvwxyz0123456789-.".utf8.contains($0) }
    try invariant(isPlain, "a name is lower-case ASCII")
    try invariant(inet_addr(text) == INADDR_NONE, "no name is an IPv4 address")
    let isIPv6 = withUnsafeTemporaryAllocation(byteCount: 16, alignment: 8) {
        inet_pton(AF_INET6, text, $0.baseAddress) == 1
    }
    try invariant(!isIPv6, "no name is an IPv6 address")
}

/// A parser of URLs finds the same host and port.
private func secondOpinion(_ origin: Origin, _ text: String) throws {
    let url = try present(URL(string: text), "an origin is a URL")
    let port = url.port.map { $0 == (origin.text.hasPrefix("https") ? 443 : 80) ? "" : ":\($0)" } ?? ""
    let serialized = "\(url.scheme?.lowercased() ?? "")://\(url.host()?.lowercased() ?? "")\(port)"
    try invariant(serialized == origin.text, "another parser finds \(serialized) instead of \(origin.text)")
    try invariant(url.path().isEmpty && url.query() == nil && url.fragment() == nil, "nothing follows an origin")
    try invariant(url.user() == nil && url.password() == nil, "nobody logs in to an origin")
}
