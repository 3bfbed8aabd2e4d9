// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridPrimitives

/// ID of a relying party: a domain, or the name of a local service if the caller accepts such names.
///
/// - A domain is lower-case, in A-label form (or `localhost`), at most 253 characters.
/// - OpenSSH uses `ssh:`, followed by up to 200 characters of `A–Z a–z 0–9 . _ -`.
/// - pam_u2f uses `pam://` and the name of the host: 1 to 200 of the same characters. A slash and the name of a PAM
///   service may follow: 1 to 64 of these characters.
///
/// Any other text is rejected, so users always see a plain name: no Unicode look-alikes, no IP address, no port, no
/// trailing dot. The kinds never overlap, because a domain contains no colon.
public struct RelyingPartyID: Hashable, Sendable {
    /// The kind of a relying party, which follows from its ID.
    public enum Kind: CaseIterable, Hashable, Sendable {
        /// A website, identified by its domain.
        case domain
        /// An SSH key of OpenSSH.
        case ssh
        /// The sign-in on a computer, by pam_u2f.
        case pam
    }

    /// The domain or name.
    public let text: String
    /// The kind of the relying party.
    public let kind: Kind

    /// Creates an ID from its text.
    ///
    /// - Parameters:
    ///   - text: A domain or the name of a local service.
    ///   - kinds: The acceptable kinds; domains only by default, because websites must not use local names.
    /// - Returns: `nil` for any other text.
    public init?(_ text: some StringProtocol, accepting kinds: Set<Kind> = [.domain]) {
        guard let kind = Self.kind(of: Array(text.utf8)), kinds.contains(kind) else { return nil }
        self.text = String(text)
        self.kind = kind
    }

    private static let sshPrefix = Array("ssh:".utf8)
    private static let pamPrefix = Array("pam://".utf8)
    /// Maximum length of the name of a PAM service in bytes.
    private static let maximumService = 64

    private static func kind(of characters: [UInt8]) -> Kind? {
        if characters.starts(with: sshPrefix) {
            return isLocalName(characters.dropFirst(sshPrefix.count)) ? .ssh : nil
        }
        if characters.starts(with: pamPrefix) {
            let names = characters.dropFirst(pamPrefix.count)
                .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            let isWellFormed = names.count <= 2 && names.allSatisfy { !$0.isEmpty && isLocalName($0) }
            return isWellFormed && names.dropFirst().allSatisfy { $0.count <= maximumService } ? .pam : nil
        }
        return isDomain(characters) ? .domain : nil
    }

    private static func isDomain(_ characters: [UInt8]) -> Bool {
        guard (1...253).contains(characters.count) else { return false }
        let labels = characters.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard labels.allSatisfy(isLabel), let last = labels.last else { return false }
        return !isNumber(last)
    }

    /// Returns true for at most 200 letters, digits, dots, underscores and hyphens.
    private static func isLocalName(_ name: ArraySlice<UInt8>) -> Bool {
        name.count <= 200
            && name.allSatisfy { character in
                switch character {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    /// The name of an SSH key, which is empty for `ssh:`, or of the host for pam_u2f; `nil` for a domain.
    public var localName: String? {
        switch kind {
        case .domain: nil
        case .ssh: String(text.utf8.dropFirst(Self.sshPrefix.count))
        case .pam: pamNames.first
        }
    }

    /// The PAM service, such as `sudo`; `nil` if the ID does not name one.
    public var service: String? { kind == .pam ? pamNames.dropFirst().first : nil }

    private var pamNames: [String] {
        text.utf8.dropFirst(Self.pamPrefix.count).split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
    }

    /// SHA-256 of the text, the first part of authenticator data.
    public var hash: RelyingPartyIDHash {
        RelyingPartyIDHash(checked: Array(SHA256.hash(data: Array(text.utf8))))
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

    /// Returns true for 1 to 63 lower-case letters, digits, hyphens and underscores.
    ///
    /// Underscores, and hyphens at the start or the end, are not in host names of RFC 1123, but browsers open and send
    /// them.
    private static func isLabel(_ label: ArraySlice<UInt8>) -> Bool {
        (1...63).contains(label.count)
            && label.allSatisfy { character in
                switch character {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                    UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}

extension RelyingPartyID: CustomStringConvertible {
    /// The domain or name.
    public var description: String { text }
}

/// SHA-256 of a relying party ID, 32 bytes.
public struct RelyingPartyIDHash: FixedLengthBytes, Hashable, Sendable {
    /// Length in bytes.
    public static let length = 32

    /// The 32 bytes.
    public let bytes: [UInt8]

    /// Creates a value from bytes whose length has been checked.
    public init(checked bytes: some Collection<UInt8>) { self.bytes = Array(bytes) }
}
