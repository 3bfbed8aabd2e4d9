// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridPrimitives

/// Named tokens that may open tunnels.
///
/// Only their SHA-256 hashes are kept.
///
/// The token file has one line for each token: its name, blanks, and the SHA-256 of the token as 64 hexadecimal digits.
/// Empty lines and lines that begin with `#` are ignored.
///
///     # owner
///     anna       0f1e…
///     test-lab   77aa…
///
/// Names appear in metrics, but tokens never do. Other users may read the file, because a token has 256 random bits and
/// cannot be found from its hash. A user with write access to the file decides which tokens can open tunnels.
public struct TunnelTokens: Sendable, Equatable, SecretMaterial {
    /// Maximum number of tokens in a file, low enough to compare a token with all of them.
    public static let maximumCount = 10_000
    /// Maximum length of a file in bytes.
    public static let maximumFileLength = 1 << 20
    /// Maximum length of a name in characters.
    public static let maximumNameLength = 32

    /// Names, in the order of the file.
    public private(set) var names: [String] = []
    private var digests: [SIMD4<UInt64>] = []

    /// Parses the contents of a token file.
    public init(parsing file: [UInt8]) throws(ParseError) {
        guard file.count <= Self.maximumFileLength else { throw ParseError(reason: .fileTooLong, line: nil) }
        var knownNames: Set<String> = []
        var knownDigests: Set<SIMD4<UInt64>> = []
        let lines = file.withoutByteOrderMark.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (number, line) in zip(1..., lines) {
            guard let (name, digest) = try Self.entry(line, number: number) else { continue }
            guard knownNames.insert(name).inserted else { throw ParseError(reason: .repeatedName, line: number) }
            guard knownDigests.insert(digest).inserted else { throw ParseError(reason: .repeatedHash, line: number) }
            guard names.count < Self.maximumCount else { throw ParseError(reason: .tooMany, line: number) }
            names.append(name)
            digests.append(digest)
        }
    }

    /// Parses a line without its line feed, but maybe with a carriage return; `nil` for an empty line or a comment.
    private static func entry(
        _ line: ArraySlice<UInt8>,
        number: Int
    ) throws(ParseError) -> (name: String, digest: SIMD4<UInt64>)? {
        let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
        let words = line.split(whereSeparator: \.isBlank)
        guard let first = words.first, first.first != UInt8(ascii: "#") else { return nil }
        guard words.count == 2 else { throw ParseError(reason: .malformedLine, line: number) }
        guard let name = Self.name(first) else { throw ParseError(reason: .malformedName, line: number) }
        guard let digest = Hex.decode(words[1], length: 32) else {
            throw ParseError(reason: .malformedHash, line: number)
        }
        return (name, TunnelTokenHash.words(digest))
    }

    /// Returns the text as a string if it is a valid name.
    private static func name(_ text: some Collection<UInt8>) -> String? {
        guard (1...maximumNameLength).contains(text.count), text.allSatisfy(\.isInNames) else { return nil }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the name of a token; `nil` if the token is not in the file.
    ///
    /// Every entry is compared in full, so the time reveals neither a partial match nor which token matched.
    public func match(_ token: TunnelTokenHash) -> String? {
        var found = -1
        for index in digests.indices {
            let difference = digests[index] ^ token.digest
            let bits = difference[0] | difference[1] | difference[2] | difference[3]
            // All ones if equal, otherwise 0: unless a number is 0, it or its negation has the highest bit set.
            let mask = Int(truncatingIfNeeded: (bits | (0 &- bits)) >> 63) - 1
            found = found & ~mask | index & mask
        }
        return found < 0 ? nil : names[found]
    }
}

extension TunnelTokens {
    /// An error in a token file.
    ///
    /// No part of the file is shown, because it may contain a token by mistake.
    public struct ParseError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The violated rule.
        public let reason: Reason
        /// Line number from 1; `nil` if the error concerns the whole file.
        public let line: Int?

        /// One line with the line number and the reason.
        public var description: String { (line.map { "line \($0): " } ?? "") + reason.description }

        /// A rule for token files.
        public struct Reason: Hashable, Sendable, CustomStringConvertible {
            /// The rule, in words.
            public let description: String

            private init(_ description: String) { self.description = description }

            /// The file is longer than ``TunnelTokens/maximumFileLength``.
            public static let fileTooLong = Reason("the file is longer than \(TunnelTokens.maximumFileLength) bytes")
            /// There are more tokens than ``TunnelTokens/maximumCount``.
            public static let tooMany = Reason("there are more than \(TunnelTokens.maximumCount) tokens")
            /// A line does not have two words.
            public static let malformedLine = Reason("a line must have a name and a SHA-256, and nothing else")
            /// A name is too long or contains characters that are not allowed.
            public static let malformedName = Reason(TunnelTokens.nameRule)
            /// The second word is not 64 hexadecimal digits.
            public static let malformedHash = Reason(
                "after the name, a SHA-256 of 64 hexadecimal digits is expected, not the token itself"
            )
            /// The name is already used on an earlier line.
            public static let repeatedName = Reason("this name was used before")
            /// The hash is already used on an earlier line, so the token would have two names.
            public static let repeatedHash = Reason("this SHA-256 was used before, under another name")
        }
    }
}

// MARK: - New tokens

extension TunnelTokens {
    fileprivate static let nameRule =
        "a name has 1 to \(maximumNameLength) letters, digits, dots, hyphens or underscores"

    /// Length of a new token in bytes, before it is encoded as text.
    private static let tokenBytes = 32

    /// Creates a token of 256 random bits, and its line for the token file.
    ///
    /// Only the phone needs the token; the relay does not store it.
    ///
    /// - Throws: ``ParseError`` if the name is malformed.
    public static func make(name: String) throws(ParseError) -> (token: String, line: String) {
        guard let name = Self.name(name.utf8) else { throw ParseError(reason: .malformedName, line: nil) }
        let token = Base64URL.encode([UInt8].random(tokenBytes))
        return (token, "\(name) \(Hex.encode(SHA256.hash(data: Array(token.utf8))))")
    }
}

extension UInt8 {
    fileprivate var isInNames: Bool { isLetter || isDigit || "_.-".utf8.contains(self) }
}
