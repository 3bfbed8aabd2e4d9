// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// ID of a relying party: a lower-case domain in A-label form (or `localhost`), at most 253 characters.
///
/// Any other text is rejected, so users always see a plain host name: no Unicode look-alikes, no IP address, no port,
/// no trailing dot.
public struct RelyingPartyID: Hashable, Sendable {
    /// The domain.
    public let text: String

    /// Creates an ID from a lower-case A-label domain; `nil` for any other text.
    public init?(_ text: some StringProtocol) {
        let characters = Array(text.utf8)
        guard (1...253).contains(characters.count) else { return nil }
        let labels = characters.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard labels.allSatisfy(Self.isLabel), let last = labels.last else { return nil }
        guard !Self.isNumber(last) else { return nil }
        self.text = String(text)
    }

    /// SHA-256 of the domain, the first part of authenticator data.
    public var hash: RelyingPartyIDHash {
        RelyingPartyIDHash(digest: Array(SHA256.hash(data: Array(text.utf8))))
    }

    /// Returns true if the label is a number, decimal or `0x…`.
    ///
    /// Browsers parse a host name whose last label is a number as an IPv4 address.
    private static func isNumber(_ label: ArraySlice<UInt8>) -> Bool {
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        if label.starts(with: Array("0x".utf8)) {
            return label.dropFirst(2).allSatisfy {
                digits.contains($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            }
        }
        return label.allSatisfy { digits.contains($0) }
    }

    private static func isLabel(_ label: ArraySlice<UInt8>) -> Bool {
        guard (1...63).contains(label.count), let first = label.first, let last = label.last else { return false }
        let hyphen = UInt8(ascii: "-")
        guard first != hyphen, last != hyphen else { return false }
        return label.allSatisfy { character in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(character)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(character) || character == hyphen
        }
    }
}

extension RelyingPartyID: CustomStringConvertible {
    /// The domain.
    public var description: String { text }
}

/// SHA-256 of a relying party ID, 32 bytes.
public struct RelyingPartyIDHash: Hashable, Sendable {
    /// The 32 bytes.
    public let bytes: [UInt8]

    init(digest: [UInt8]) { self.bytes = digest }

    /// Creates a hash from 32 bytes; `nil` for another length.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 32 else { return nil }
        self.bytes = Array(bytes)
    }
}
