// SPDX-License-Identifier: Apache-2.0

import HybridPrimitives

/// Changes to client data, which both ceremonies share; each name is a row's name in the table of differences.
enum ClientDataMutations {
    typealias Mutation = (name: String, change: @Sendable (inout ClientDataText) -> Void)

    static func all(other: String) -> [Mutation] {
        members(other) + otherOrigins + malformedOrigins + frames + forms
    }

    private static func members(_ other: String) -> [Mutation] {
        [
            ("type of the other ceremony", { $0["type"] = "\"\(other)\"" }),
            ("type unknown", { $0["type"] = #""webauthn.test""# }),
            ("type in upper case", { $0["type"] = $0["type"]?.uppercased() }),
            ("type missing", { $0["type"] = nil }),
            ("type null", { $0["type"] = "null" }),
            ("type a number", { $0["type"] = "1" }),
            ("type in an array", { $0["type"] = "[\($0["type"] ?? "")]" }),
            ("challenge other", { $0["challenge"] = #""AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA""# }),
            ("challenge shortened", { $0["challenge"] = $0["challenge"].map { $0.dropLast(5) + "\"" } }),
            ("challenge extended", { $0["challenge"] = $0["challenge"].map { $0.dropLast() + "AAAA\"" } }),
            ("challenge empty", { $0["challenge"] = "\"\"" }),
            ("challenge padded", { $0["challenge"] = $0["challenge"].map { $0.dropLast() + "=\"" } }),
            ("challenge with unused bits", { $0["challenge"] = $0["challenge"].map(Self.withUnusedBits) }),
            ("challenge with a line feed", { $0["challenge"] = $0["challenge"].map { $0.dropLast() + "\\n\"" } }),
            ("challenge missing", { $0["challenge"] = nil }),
            ("challenge null", { $0["challenge"] = "null" }),
        ]
    }

    /// Returns a base64url text of 32 bytes whose two unused bits are set.
    private static func withUnusedBits(_ quoted: String) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        let text = quoted.dropLast()
        guard let last = text.last, let index = alphabet.firstIndex(of: last) else { return quoted }
        return text.dropLast() + String(alphabet[index | 3]) + "\""
    }

    private static let otherOrigins = [
        "https://example.org", "http://example.com", "https://example.com:8443", "https://example.com:443",
        "https://example.com/", "https://example.com.", "https://EXAMPLE.com", "https://login.example.com",
        "https://example.com.evil.test", "https://evil@example.com", "example.com", "null", "", " https://example.com",
    ].map { origin -> Mutation in
        let change: @Sendable (inout ClientDataText) -> Void = { $0["origin"] = "\"\(origin)\"" }
        return ("origin \"\(origin)\"", change)
    }

    private static let malformedOrigins: [Mutation] = [
        ("origin missing", { $0["origin"] = nil }), ("origin null", { $0["origin"] = "null" }),
        ("origin in an array", { $0["origin"] = #"["https://example.com"]"# }),
    ]

    private static let frames: [Mutation] = [
        ("crossOrigin true", { $0["crossOrigin"] = "true" }),
        ("crossOrigin missing", { $0["crossOrigin"] = nil }),
        ("crossOrigin null", { $0["crossOrigin"] = "null" }),
        ("crossOrigin a text", { $0["crossOrigin"] = "\"false\"" }),
        (
            "crossOrigin true with topOrigin",
            {
                $0["crossOrigin"] = "true"
                $0["topOrigin"] = #""https://evil.test""#
            }
        ),
        ("topOrigin without crossOrigin", { $0["topOrigin"] = #""https://evil.test""# }),
        ("topOrigin of the website itself", { $0["topOrigin"] = #""https://example.com""# }),
        ("topOrigin null", { $0["topOrigin"] = "null" }),
        ("topOrigin a number", { $0["topOrigin"] = "1" }),
    ]

    private static let forms: [Mutation] = [
        ("unknown member", { $0["new"] = #"{"a":[1,2.5,null]}"# }),
        ("tokenBinding supported", { $0["tokenBinding"] = #"{"status":"supported"}"# }),
        ("tokenBinding unknown", { $0["tokenBinding"] = #"{"status":"other"}"# }),
        ("member NaN", { $0["new"] = "NaN" }),
        ("escaped letters", { $0["type"] = $0["type"].map { "\"\\u0077" + $0.dropFirst(2) } }),
        ("escaped slashes", { $0["origin"] = #""https:\/\/example.com""# }),
        ("repeated type, the wrong one last", { $0.members.append(("type", "\"other\"")) }),
        ("repeated type, the wrong one first", { $0.members.insert(("type", "\"other\""), at: 0) }),
        ("repeated origin, the wrong one last", { $0.members.append(("origin", #""https://evil.test""#)) }),
        ("repeated origin, the wrong one first", { $0.members.insert(("origin", #""https://evil.test""#), at: 0) }),
        ("byte order mark", { $0.change = { [0xEF, 0xBB, 0xBF] + $0 } }),
        ("white space around", { $0.change = { Array(" \n".utf8) + $0 + Array("\n ".utf8) } }),
        ("text after the object", { $0.change = { $0 + Array("x".utf8) } }),
        ("zero byte after the object", { $0.change = { $0 + [0] } }),
        ("second object after the object", { $0.change = { $0 + $0 } }),
        ("truncated", { $0.change = { $0.dropLast() } }),
        ("empty", { $0.change = { _ in [] } }),
        ("array", { $0.change = { Array("[".utf8) + $0 + Array("]".utf8) } }),
        ("comma before the end", { $0.change = { Array($0.dropLast()) + Array(",}".utf8) } }),
        ("comment", { $0.change = { Array("/* */".utf8) + $0 } }),
        ("UTF-16", { $0.change = { $0.flatMap { [$0, 0] } } }),
        ("invalid UTF-8", { $0.change = { withInvalidMember(Array($0.dropLast())) } }),
    ]
}

/// Returns the beginning of an object with a last member whose text is not UTF-8.
private func withInvalidMember(_ object: [UInt8]) -> [UInt8] {
    [object, Array(#","a":""#.utf8), [0xFF], Array(#""}"#.utf8)].flatMap(\.self)
}

/// Changes to the members of a response's JSON, which both ceremonies share.
enum TextMutations {
    typealias Mutation = (name: String, change: @Sendable (inout ResponseText) -> Void)

    private static let otherID = "\"AAAAAAAAAAAAAAAAAAAAAA\""

    static let all: [Mutation] = [
        ("id other", { $0.members["id"] = otherID }),
        ("rawId other", { $0.members["rawId"] = otherID }),
        (
            "id and rawId other",
            {
                $0.members["id"] = otherID
                $0.members["rawId"] = otherID
            }
        ),
        (
            "id and rawId padded",
            {
                let padded = ($0.members["id"] ?? "").dropLast() + "=\""
                $0.members["id"] = String(padded)
                $0.members["rawId"] = String(padded)
            }
        ),
        ("rawId padded", { $0.members["rawId"] = ($0.members["id"] ?? "").dropLast() + "=\"" }),
        ("id missing", { $0.members["id"] = nil }),
        ("rawId missing", { $0.members["rawId"] = nil }),
        (
            "id and rawId empty",
            {
                $0.members["id"] = "\"\""
                $0.members["rawId"] = "\"\""
            }
        ),
        ("credential type other", { $0.members["type"] = "\"password\"" }),
        ("credential type missing", { $0.members["type"] = nil }),
        ("response missing", { $0.members["response"] = "" }),
        ("response null", { $0.members["response"] = "null" }),
        ("clientExtensionResults missing", { $0.members["clientExtensionResults"] = nil }),
        ("unknown extension result", { $0.members["clientExtensionResults"] = #"{"new":{"a":1}}"# }),
        ("authenticatorAttachment unknown", { $0.members["authenticatorAttachment"] = "\"other\"" }),
        ("unknown members", { $0.members["new"] = "[]" }),
        ("clientDataJSON missing", { $0.response["clientDataJSON"] = nil }),
        ("clientDataJSON not base64url", { $0.response["clientDataJSON"] = "\"{}\"" }),
        ("clientDataJSON a number", { $0.response["clientDataJSON"] = "7" }),
    ]
}
