// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// The application of a security key's SSH key, which is the relying party ID on the phone.
///
/// It is a domain of at most 253 lower-case ASCII characters, or `ssh:` followed by at most 200 letters, digits and
/// the characters `.`, `_` and `-`.
public struct SSHApplication: Hashable, Sendable, CustomStringConvertible {
    /// The text.
    public let description: String

    /// Creates an application; returns `nil` if the text is not one.
    public init?(_ text: some StringProtocol) {
        let isValid = text.hasPrefix("ssh:") ? Self.isName(text.utf8.dropFirst(4)) : Self.isDomain(text.utf8)
        guard isValid else { return nil }
        description = String(text)
    }

    /// SHA-256 of the text: the relying party ID hash in authenticator data.
    package var hash: [UInt8] { Array(SHA256.hash(data: Array(description.utf8))) }

    private static func isName(_ bytes: some Collection<UInt8>) -> Bool {
        bytes.count <= 200
            && bytes.allSatisfy {
                switch $0 {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    private static func isDomain(_ bytes: some Collection<UInt8>) -> Bool {
        bytes.count <= 253
            && bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy { label in
                let hyphen = UInt8(ascii: "-")
                guard (1...63).contains(label.count), label.first != hyphen else { return false }
                return Array(label).last != hyphen
                    && label.allSatisfy {
                        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
                            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || $0 == hyphen
                    }
            }
    }
}
