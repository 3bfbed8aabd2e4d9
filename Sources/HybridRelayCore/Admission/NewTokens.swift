// SPDX-License-Identifier: Apache-2.0

public import HybridCaBLE
public import HybridPrimitives

/// Who may open tunnels: named tokens, of which the relay knows the SHA-256 only.
///
/// The file has a line for each token: its name and the SHA-256 of the token in 64 hexadecimal digits, with blanks
/// between them. Empty lines and lines that begin with `#` say nothing.
///
///     # whose
///     anna       0f1e…
///     test-lab   77aa…
///
/// The names stand in metrics, the tokens nowhere. The file may be readable by others: a token has 256 random bits, so
/// nobody finds it from its hash. Who may write the file decides who may open tunnels.
public struct NewTokens: Sendable, Equatable {
    /// Most tokens that a file may hold; a comparison with all of them stays cheap.
    public static let maximumCount = 10_000
    /// Longest file in bytes.
    public static let maximumFileLength = 1 << 20
    /// Longest name in characters.
    public static let maximumNameLength = 32

    /// The names, in the order of the file.
    public let names: [String]
    private let digests: [SIMD4<UInt64>]

    /// Reads the content of a token file.
    public init(parsing file: [UInt8]) throws(NewTokensError) {
        guard file.count <= Self.maximumFileLength else { throw NewTokensError(.fileTooLong, line: nil) }
        var reader = NewTokensReader()
        for (index, line) in file.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            try reader.read(line, number: index + 1)
        }
        names = reader.names
        digests = reader.digests
    }

    /// The name of a token; `nil` if it is none of these.
    ///
    /// Every entry is compared as a whole, whatever was found before, so the time tells neither how much of a token
    /// was right nor which it was. (The hash of a random secret could be looked up in a dictionary as well: who can
    /// choose what is compared knows the secret. This asks for less thought and costs microseconds.)
    public func match(_ token: BearerToken) -> String? {
        var found = -1
        for index in digests.indices {
            let difference = digests[index] ^ token.digest
            let bits = difference[0] | difference[1] | difference[2] | difference[3]
            // All ones where nothing differs, else zero: a number or its opposite has its highest bit set, unless it is 0.
            let mask = Int(truncatingIfNeeded: (bits | (0 &- bits)) >> 63) - 1
            found = found & ~mask | index & mask
        }
        return found < 0 ? nil : names[found]
    }
}

extension NewTokens: SecretMaterial {}

/// What is wrong with a token file; nothing of what it holds is shown, since it may be a token by mistake.
public struct NewTokensError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The rule that was broken.
    public enum Reason: Hashable, Sendable, CaseIterable {
        /// The file is longer than ``NewTokens/maximumFileLength``.
        case fileTooLong
        /// There are more tokens than ``NewTokens/maximumCount``.
        case tooMany
        /// A line is not two words.
        case malformedLine
        /// A name has other characters than those allowed, or too many.
        case malformedName
        /// The second word is not 64 hexadecimal digits.
        case malformedHash
        /// A name stood there before.
        case repeatedName
        /// A hash stood there before, so that the token would have two names.
        case repeatedHash
    }

    /// The rule that was broken.
    public let reason: Reason
    /// Where, counted from 1; `nil` where it is the whole file.
    public let line: Int?

    init(_ reason: Reason, line: Int?) {
        self.reason = reason
        self.line = line
    }

    /// One line that says where and what.
    public var description: String { (line.map { "line \($0): " } ?? "") + reason.sentence }
}

extension NewTokensError.Reason {
    fileprivate var sentence: String {
        switch self {
        case .fileTooLong: "the file is longer than \(NewTokens.maximumFileLength) bytes"
        case .tooMany: "there are more than \(NewTokens.maximumCount) tokens"
        case .malformedLine: "a name and a SHA-256 must stand there, and nothing else"
        case .malformedName:
            "a name has 1 to \(NewTokens.maximumNameLength) letters, digits, dots, hyphens or underscores"
        case .malformedHash: "behind the name must stand a SHA-256 in 64 hexadecimal digits, not the token itself"
        case .repeatedName: "this name stands there before"
        case .repeatedHash: "this SHA-256 stands there before, under another name"
        }
    }
}
