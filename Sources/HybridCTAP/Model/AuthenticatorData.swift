// SPDX-License-Identifier: Apache-2.0

public import HybridCBOR

/// What an authenticator vouches for; its signature covers these very bytes (WebAuthn Level 3 §6.1).
///
/// 32 bytes relying party ID hash ‖ 1 byte flags ‖ 4 bytes counter, big-endian ‖ attested credential if flag AT
/// ‖ extension outputs as CBOR if flag ED. What was received is kept byte for byte in ``encoded``.
public struct AuthenticatorData: Hashable, Sendable {
    /// The bytes; what is signed.
    public let encoded: [UInt8]
    /// Hash of the relying party ID.
    public let relyingPartyIDHash: RelyingPartyIDHash
    /// What was done and what follows.
    public let flags: Flags
    /// Signature counter; 0 on passkeys that exist on several devices.
    public let signatureCount: UInt32
    /// The new credential; there if and only if flag AT is set.
    public let attestedCredential: AttestedCredential?
    /// Signed extension outputs; there if and only if flag ED is set.
    public let extensions: CBORMap?

    /// Builds the bytes from the parts; flags AT and ED follow from what is given.
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

    /// Reads authenticator data that fills the bytes.
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
    /// One byte of flags; bits without a name are kept.
    public struct Flags: OptionSet, Hashable, Sendable {
        /// The byte.
        public let rawValue: UInt8

        /// Flags from their byte.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// UP: the user was present.
        public static let userPresent = Flags(rawValue: 0x01)
        /// UV: the user was verified.
        public static let userVerified = Flags(rawValue: 0x04)
        /// BE: the credential may exist on several devices.
        public static let backupEligible = Flags(rawValue: 0x08)
        /// BS: the credential exists in a second place now.
        public static let backedUp = Flags(rawValue: 0x10)
        /// AT: an attested credential follows.
        public static let attestedCredential = Flags(rawValue: 0x40)
        /// ED: extension outputs follow.
        public static let extensions = Flags(rawValue: 0x80)
    }
}

/// Why bytes are not authenticator data.
public enum AuthenticatorDataError: Error, Equatable, Sendable {
    /// They end too early.
    case truncated
    /// Bytes follow that no flag announces.
    case trailingBytes
    /// The credential ID has no bytes, or more than ``CredentialID/maximumLength``.
    case credentialIDLength
    /// The public key can't be used.
    case publicKey(COSEKeyError)
    /// The extension outputs are not a CBOR map.
    case extensions
}
