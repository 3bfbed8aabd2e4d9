// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridCBOR
public import HybridPrimitives

/// The payload that a relay forwards from a client to a phone without parsing it; 1 to 256 bytes.
///
/// It contains the ID of a link, so it is never logged.
public struct ClientPayload: Hashable, Sendable, SecretMaterial {
    /// Maximum length in bytes.
    public static let maximumLength = 256

    /// The bytes.
    public let bytes: [UInt8]

    /// Creates a payload from 1 to 256 bytes; `nil` for another length.
    public init?(bytes: some Collection<UInt8>) {
        guard (1...Self.maximumLength).contains(bytes.count) else { return nil }
        self.bytes = Array(bytes)
    }

    /// Creates a payload from 2 to 512 hexadecimal digits in either case; `nil` for any other text.
    public init?(hex: some StringProtocol) {
        self.init(hexDigits: Array(hex.utf8)[...])
    }

    /// Creates a payload from 2 to 512 ASCII hexadecimal digits in either case; `nil` for any other text.
    public init?(hexDigits digits: ArraySlice<UInt8>) {
        guard digits.count <= 2 * Self.maximumLength, let bytes = Hex.decode(digits, length: digits.count / 2) else {
            return nil
        }
        self.init(bytes: bytes)
    }

    /// The payload in lower-case hexadecimal digits, as in the header of a request.
    public var hex: String { Hex.encode(bytes) }
}

/// A client's request to a linked phone, which is the content of a ``ClientPayload``.
///
/// Keys 1 to 3 are the ID of the link, a nonce and the type of the request (CTAP 2.2 §11.5.1). Key 4 is an extension of
/// this project: ``ContactClaims`` with a proof that the sender holds the link's secret. Without it, a relay could repeat
/// the ID of a link with fresh nonces, or deliver a request weeks later, until the phone mutes the link.
public struct ContactRequest: Sendable, SecretMaterial {
    /// Key 1: ID of the link, 8 bytes.
    public let linkID: LinkID
    /// Key 2: nonce of this contact, 16 bytes.
    public let nonce: ContactNonce
    /// Key 3: type of the request.
    public let hint: RequestHint
    /// Key 4: the claims in 18 bytes, and the first 16 bytes of an HMAC-SHA256; `nil` if absent.
    private let proof: [UInt8]?

    private static let codeLength = 16

    /// Creates a request with a fresh nonce.
    ///
    /// - Parameters:
    ///   - linkID: ID of the link.
    ///   - secret: Secret of the link.
    ///   - hint: Type of the request.
    ///   - host: Host name of the link's tunnel domain, in lower case.
    ///   - claims: The claims to prove; `nil` for phones that did not announce that they verify them.
    ///   - generator: A cryptographically secure generator.
    public init(
        linkID: LinkID,
        secret: LinkSecret,
        hint: RequestHint,
        host: String,
        claims: ContactClaims?,
        using generator: inout some RandomNumberGenerator
    ) {
        self.linkID = linkID
        self.hint = hint
        let nonce = ContactNonce(using: &generator)
        self.nonce = nonce
        proof = claims.map { $0.bytes + Self.code($0.bytes, secret, nonce, hint, host) }
    }

    /// Creates a request from canonical CBOR; `nil` if a member is missing, or has the wrong type or length.
    ///
    /// Unknown members are ignored.
    public init?(parsing payload: ClientPayload) {
        let limits = CBORLimits(depth: 3, items: 64, bytes: ClientPayload.maximumLength)
        guard let map = (try? CBORDecoder.decode(payload.bytes, mode: .strict, limits: limits))?.map,
            let linkID = map[1]?.bytes.flatMap({ LinkID(bytes: $0) }),
            let nonce = map[2]?.bytes.flatMap({ ContactNonce(bytes: $0) }),
            let hint = map[3]?.text.flatMap({ RequestHint(rawValue: $0) })
        else { return nil }
        let proof = map[4]?.bytes
        guard map[4] == nil || proof?.count == ContactClaims.length + Self.codeLength else { return nil }
        (self.linkID, self.nonce, self.hint, self.proof) = (linkID, nonce, hint, proof)
    }

    /// The canonical CBOR, 35 to 73 bytes.
    public var payload: ClientPayload {
        var map: CBORMap = [1: .bytes(linkID.bytes), 2: .bytes(nonce.bytes), 3: .text(hint.rawValue)]
        if let proof { map[4] = .bytes(proof) }
        return ClientPayload(checked: CBOREncoder.encode(map))
    }

    /// Returns the claims if the sender proved that it holds the link's secret; `nil` otherwise.
    ///
    /// The comparison takes constant time.
    ///
    /// - Parameters:
    ///   - secret: Secret of the link.
    ///   - host: Host name of the link's tunnel domain, in lower case.
    public func provenClaims(secret: LinkSecret, host: String) -> ContactClaims? {
        guard let proof else { return nil }
        let claimed = Array(proof.prefix(ContactClaims.length))
        let code = Self.code(claimed, secret, nonce, hint, host)
        guard ConstantTime.equal(Array(proof.dropFirst(ContactClaims.length)), code) else { return nil }
        return ContactClaims(bytes: claimed)
    }

    /// Returns the proof of claims, which also covers the type of the request and the relay's host.
    private static func code(
        _ claims: [UInt8],
        _ secret: LinkSecret,
        _ nonce: ContactNonce,
        _ hint: RequestHint,
        _ host: String
    ) -> [UInt8] {
        let key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: secret.key,
            salt: nonce.bytes,
            info: Array("hybrid wake v2".utf8),
            outputByteCount: 32
        )
        let code = HMAC<SHA256>.authenticationCode(for: claims + Array(hint.rawValue.utf8) + host.utf8, using: key)
        return Array(code.prefix(codeLength))
    }
}

extension ClientPayload {
    /// Creates a payload from 1 to 256 bytes; the caller has checked the length.
    fileprivate init(checked bytes: [UInt8]) { self.bytes = bytes }
}
