// SPDX-License-Identifier: Apache-2.0

public import Crypto
public import HybridCaBLE
public import HybridPrimitives

/// A phone that this client can contact without a QR code.
public struct StoredLink: Sendable, SecretMaterial {
    /// Maximum length of a stored `authenticatorGetInfo` response in bytes.
    public static let maximumInfoLength = 8192

    /// ID that the relay uses to wake the phone.
    public let contactID: ContactID
    /// ID of this link.
    public let linkID: LinkID
    /// Secret that only this client and the phone know.
    public let secret: LinkSecret
    /// Static key of the phone, by which a new link replaces an older one.
    public let authenticatorKey: P256.KeyAgreement.PublicKey
    /// Name of the phone.
    public var name: PhoneName
    /// Tunnel domain of the session in which the phone was linked.
    public let domain: TunnelDomain
    /// Time of linking in seconds since 1970.
    public let created: UInt64
    /// Time of the last ceremony in seconds since 1970.
    public var lastUsed: UInt64
    /// The phone's latest `authenticatorGetInfo` response as CBOR; empty if it is longer than ``maximumInfoLength``.
    public var info: [UInt8] {
        didSet { if info.count > Self.maximumInfoLength { info = [] } }
    }
    /// True if the phone requires proven claims in each request.
    public let requiresProof: Bool
    /// The number of the last request to the phone; 0 if there was none.
    public var lastNumber: UInt64

    /// The reason to believe that the phone belongs to the user.
    public var evidence: LinkEvidence
    /// The fingerprint of the SSH key that has verified the phone; `nil` if there is none.
    public var verifyingKey: String?
    /// True if both devices showed a code when the phone was linked.
    public let showedCode: Bool

    /// Creates a link from its parts.
    public init(
        contactID: ContactID,
        linkID: LinkID,
        secret: LinkSecret,
        authenticatorKey: P256.KeyAgreement.PublicKey,
        name: PhoneName,
        domain: TunnelDomain,
        created: UInt64,
        lastUsed: UInt64,
        info: [UInt8],
        requiresProof: Bool,
        lastNumber: UInt64 = 0,
        evidence: LinkEvidence = .unverified,
        verifyingKey: String? = nil,
        showedCode: Bool
    ) {
        self.contactID = contactID
        self.linkID = linkID
        self.secret = secret
        self.authenticatorKey = authenticatorKey
        self.name = name
        self.domain = domain
        self.created = created
        self.lastUsed = lastUsed
        self.info = info.count > Self.maximumInfoLength ? [] : info
        self.requiresProof = requiresProof
        self.lastNumber = lastNumber
        self.evidence = evidence
        self.verifyingKey = verifyingKey
        self.showedCode = showedCode
    }
}

/// The name of a linked phone, which the phone has chosen, made safe to display.
///
/// Invisible and misleading characters are removed as in `SafeText`, which also limits the length.
public struct PhoneName: Hashable, Sendable, CustomStringConvertible {
    /// The name, at most 64 characters (Unicode scalars) and 192 bytes; never empty.
    public let description: String

    /// Creates the displayed form of any text.
    public init(_ text: String) {
        // Without the quotation marks. Some letters would form one `Character` with the last one.
        let cleaned = SafeText(quoting: text).description.unicodeScalars.dropFirst().dropLast()
        description = cleaned.isEmpty ? "phone" : String(cleaned)
    }

    /// The name in quotation marks, for a sentence.
    public var quoted: String { SafeText(quoting: description).description }
}
