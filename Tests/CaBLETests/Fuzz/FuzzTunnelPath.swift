// SPDX-License-Identifier: Apache-2.0

import TestSupport

@testable import HybridCaBLE

/// Tests that exactly the paths of tunnels and contacts are accepted, with IDs of hexadecimal digits or in base64url.
func fuzzTunnelPath(_ input: [UInt8]) throws -> Bool {
    let text = String(decoding: input, as: UTF8.self)
    // The conversion to a string replaced invalid UTF-8.
    let bytes = Array(text.utf8)
    try invariant((RoutingID(hex: text) != nil) == isHex(bytes[...], 6), "a routing ID has 6 digits")
    try invariant((TunnelID(hex: text) != nil) == isHex(bytes[...], 32), "a tunnel ID has 32 digits")
    try numbers(input)
    let path: TunnelPath
    do throws(TunnelPath.ParseError) {
        path = try TunnelPath(parsing: text)
    } catch {
        try invariant(!isTunnelPath(bytes), "tunnel paths are accepted")
        try invariant(error == .malformedID || !isContact(bytes), "a contact path has a malformed ID at most")
        return false
    }
    try invariant(isTunnelPath(bytes), "only tunnel paths are accepted")
    try invariant(try TunnelPath(parsing: path.text) == path, "a path survives the round trip")
    switch path {
    case .new, .connect: try invariant(path.text == text.lowercased(), "digits are written in lower case")
    case .contact(let contact), .listen(let contact):
        try invariant(path.text == text, "a contact ID has one spelling")
        try invariant((1...1024).contains(contact.bytes.count), "a contact ID has a limited length")
    }
    return true
}

private func isTunnelPath(_ bytes: [UInt8]) -> Bool {
    if let rest = bytes[...].without(prefix: "/cable/new/") { return isHex(rest, 32) }
    if isContact(bytes) { return isContactID(bytes[(bytes.lastIndex(of: UInt8(ascii: "/")) ?? 0)...].dropFirst()) }
    guard let rest = bytes[...].without(prefix: "/cable/connect/") else { return false }
    return rest.count == 39 && isHex(rest.prefix(6), 6) && rest.dropFirst(6).first == UInt8(ascii: "/")
        && isHex(rest.suffix(32), 32)
}

private func isContact(_ bytes: [UInt8]) -> Bool {
    let id = bytes[...].without(prefix: "/cable/contact/") ?? bytes[...].without(prefix: "/cable/listen/")
    return id.map { !$0.contains(UInt8(ascii: "/")) } ?? false
}

/// Returns true for base64url of 1 to 1,024 bytes: no impossible length, and zeros in the unused bits of the last digit.
private func isContactID(_ text: ArraySlice<UInt8>) -> Bool {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    let digits = text.compactMap { alphabet.firstIndex(of: $0) }
    guard (2...1366).contains(text.count), digits.count == text.count, let last = digits.last else { return false }
    return [0, -1, last % 16, last % 4][text.count % 4] == 0
}

private func isHex(_ text: ArraySlice<UInt8>, _ digits: Int) -> Bool {
    text.count == digits && text.allSatisfy { "0123456789abcdefABCDEF".utf8.contains($0) }
}

extension ArraySlice<UInt8> {
    fileprivate func without(prefix: String) -> ArraySlice<UInt8>? {
        starts(with: prefix.utf8) ? dropFirst(prefix.utf8.count) : nil
    }
}

/// Tests tunnel domains by their numbers.
private func numbers(_ input: [UInt8]) throws {
    guard input.count >= 2 else { return }
    let id = UInt16(input[0]) | UInt16(input[1]) << 8
    guard let domain = TunnelDomain(id: id) else {
        try invariant((2..<256).contains(id), "every hashed number has a relay")
        return
    }
    try invariant(domain.id == id && TunnelDomain(argument: "\(id)") == domain, "a number identifies one relay")
    try invariant(domain.isAssigned == (id < 256), "numbers below 256 are assigned")
    let labels = domain.host.split(separator: ".", omittingEmptySubsequences: false)
    try invariant(labels.count == 3 && labels[0] == "cable", "a host has three labels, the first being cable")
    try invariant(["com", "org", "net", "info"].contains(labels[2]), "a host has one of four top-level domains")
    let letters = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)
    try invariant(domain.isAssigned || (1...13).contains(labels[1].utf8.count), "a hash has up to 13 letters")
    try invariant(domain.isAssigned || labels[1].utf8.allSatisfy { letters.contains($0) }, "a hash is in base 32")
}
