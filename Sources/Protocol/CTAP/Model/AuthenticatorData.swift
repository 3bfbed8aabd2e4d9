// SPDX-License-Identifier: Apache-2.0

public import HybridCBOR
internal import HybridPrimitives

/// Data that an authenticator signs (WebAuthn Level 3 §6.1).
///
/// The encoding is 32 bytes relying party ID hash ‖ 1 byte flags ‖ 4 bytes counter, big-endian. The attested credential
/// follows if flag AT is set, and extension outputs follow as CBOR if flag ED is set. The signature covers these bytes,
/// so ``encoded`` keeps them as received.
public struct AuthenticatorData: Hashable, Sendable {
    /// The signed bytes.
    public let encoded: [UInt8]
    /// Hash of the relying party ID.
    public let relyingPartyIDHash: RelyingPartyIDHash
    /// Flags about the user, the credential and optional parts.
    public let flags: Flags
    /// Signature counter; 0 for synced passkeys.
    public let signatureCount: UInt32
    /// The new credential; present if and only if flag AT is set.
    public let attestedCredential: AttestedCredential?
    /// Signed extension outputs; present if and only if flag ED is set.
    public let extensions: CBORMap?

    /// Creates authenticator data from its parts; flags AT and ED are set accordingly.
    public init(
        relyingPartyIDHash: RelyingPartyIDHash,
        flags: Flags,
        signatureCount: UInt32,
        attestedCredential: AttestedCredential? = nil,
        extensions: CBORMap? = nil
    ) {
        var flags = flags.subtracting([.attestedCredential, .extensions])
        if attestedCredential != nil { flags.insert(.attestedCredential) }
        if extensions != nil { flags.insert(.extensions) }
        self.relyingPartyIDHash = relyingPartyIDHash
        self.flags = flags
        self.signatureCount = signatureCount
        self.attestedCredential = attestedCredential
        self.extensions = extensions
        var bytes = relyingPartyIDHash.bytes + [flags.rawValue]
        for shift: UInt32 in [24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: signatureCount >> shift)) }
        bytes += attestedCredential?.encoded ?? []
        if let extensions { bytes += CBOREncoder.encode(extensions) }
        encoded = bytes
    }

    /// Creates authenticator data from its encoding, which must span the entire input.
    public init(parsing bytes: some Sequence<UInt8>) throws(AuthenticatorDataError) {
        let bytes = Array(bytes)
        guard bytes.count >= 37, let hash = RelyingPartyIDHash(bytes: bytes[..<32]) else { throw .truncated }
        encoded = bytes
        relyingPartyIDHash = hash
        flags = Flags(rawValue: bytes[32])
        signatureCount = bytes[33..<37].reduce(0) { $0 << 8 | UInt32($1) }
        var rest = bytes[37...]
        if flags.contains(.attestedCredential) {
            let (credential, length) = try AttestedCredential.prefix(of: rest)
            attestedCredential = credential
            rest = rest.dropFirst(length)
        } else {
            attestedCredential = nil
        }
        if flags.contains(.extensions) {
            extensions = try Self.extensions(rest)
        } else {
            guard rest.isEmpty else { throw .trailingBytes }
            extensions = nil
        }
    }

    private static func extensions(_ bytes: ArraySlice<UInt8>) throws(AuthenticatorDataError) -> CBORMap {
        let value: CBORValue
        do throws(CBORError) {
            value = try CBORDecoder.decode(bytes, mode: .lenient)
        } catch {
            throw error == .trailingBytes ? .trailingBytes : .extensions
        }
        guard let map = value.map else { throw .extensions }
        return map
    }
}

extension AuthenticatorData {
    /// The flags byte; unknown bits are preserved.
    public struct Flags: OptionSet, Hashable, Sendable {
        /// The byte.
        public let rawValue: UInt8

        /// Creates flags from their byte.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// UP: the user was present.
        public static let userPresent = Flags(rawValue: 0x01)
        /// UV: the user was verified.
        public static let userVerified = Flags(rawValue: 0x04)
        /// BE: the credential may be backed up.
        public static let backupEligible = Flags(rawValue: 0x08)
        /// BS: the credential is backed up.
        public static let backedUp = Flags(rawValue: 0x10)
        /// AT: an attested credential follows.
        public static let attestedCredential = Flags(rawValue: 0x40)
        /// ED: extension outputs follow.
        public static let extensions = Flags(rawValue: 0x80)
    }
}

/// A reason why input is not authenticator data.
public struct AuthenticatorDataError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The input is too short.
    public static let truncated = AuthenticatorDataError("truncated")
    /// Bytes remain after the parts that the flags announce.
    public static let trailingBytes = AuthenticatorDataError("trailingBytes")
    /// The credential ID is empty or longer than ``CredentialID/maximumLength``.
    public static let credentialIDLength = AuthenticatorDataError("credentialIDLength")
    /// The extension outputs are not a CBOR map.
    public static let extensions = AuthenticatorDataError("extensions")

    /// The error's name, with the cause in parentheses.
    public let description: String

    private init(_ description: String) { self.description = description }

    /// The public key is unusable.
    public static func publicKey(_ error: COSEKeyError) -> AuthenticatorDataError {
        AuthenticatorDataError("publicKey(\(error))")
    }
}
