// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridPrimitives

/// A security key's signature in SSH's encoding (OpenSSH's PROTOCOL.u2f).
///
/// The encoding is string type ‖ string (mpint r ‖ mpint s) ‖ byte flags ‖ uint32 counter. An instance exists only for
/// a valid signature over given data.
public struct SSHSignature: Hashable, Sendable {
    /// The encoding.
    public let encoded: [UInt8]
    /// The key that has signed.
    let key: SSHPublicKey
    /// The signed data.
    let data: SignedData

    /// Creates a signature from the authenticator's assertion.
    ///
    /// SSH servers compute the signed bytes as hash of the application ‖ flags ‖ counter ‖ hash of the data. Therefore
    /// the authenticator data must consist of these three parts only.
    ///
    /// - Parameters:
    ///   - derSignature: The assertion's signature: an ECDSA signature in DER.
    ///   - authenticatorData: The assertion's authenticator data of 37 bytes.
    ///   - key: The key that has signed.
    ///   - data: The data that is signed; its hash was the client data hash of the request.
    /// - Throws: ``SSHSignatureError``
    public init(
        derSignature: [UInt8],
        authenticatorData: [UInt8],
        by key: SSHPublicKey,
        over data: SignedData
    ) throws(SSHSignatureError) {
        guard authenticatorData.count >= 37 else { throw .authenticatorData }
        guard authenticatorData[..<32].elementsEqual(key.application.hash) else { throw .application }
        let flags = authenticatorData[32]
        guard flags & Self.userPresent != 0 else { throw .userNotPresent }
        guard flags & (Self.attestedCredential | Self.extensions) == 0 else { throw .flags }
        guard authenticatorData.count == 37 else { throw .authenticatorData }
        guard let numbers = Self.numbers(derSignature) else { throw .encoding }
        let raw = numbers.flatMap { [UInt8](repeating: 0, count: Self.numberLength - $0.count) + $0 }
        let signed = authenticatorData + data.hash
        guard let publicKey = try? P256.Signing.PublicKey(x963Representation: key.x963Representation),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: raw),
            publicKey.isValidSignature(signature, for: signed)
        else { throw .notValid }

        var value = SSHWriter()
        for number in numbers { value.positiveInteger(number) }
        var writer = SSHWriter()
        writer.string(SSHPublicKey.algorithm)
        writer.string(value.bytes)
        encoded = writer.bytes + authenticatorData[32...]
        self.key = key
        self.data = data
    }

    private static let numberLength = 32
    private static let userPresent: UInt8 = 0x01
    private static let attestedCredential: UInt8 = 0x40
    private static let extensions: UInt8 = 0x80

    /// Returns the magnitudes of r and s, without leading zeros; `nil` if the encoding is not strict DER.
    private static func numbers(_ der: [UInt8]) -> [ArraySlice<UInt8>]? {
        var outer = DERReader(der[...])
        guard var sequence = outer.enter(.sequence), outer.isAtEnd,
            let r = sequence.take(.integer).flatMap(magnitude), let s = sequence.take(.integer).flatMap(magnitude),
            sequence.isAtEnd
        else { return nil }
        return [r, s]
    }

    private static func magnitude(_ integer: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard let first = integer.first, first < 0x80 else { return nil }
        guard first == 0 else { return integer.count <= numberLength ? integer : nil }
        let rest = integer.dropFirst()
        guard let second = rest.first, second >= 0x80, rest.count <= numberLength else { return nil }
        return rest
    }
}

/// A reason why an assertion is not a signature for SSH.
public struct SSHSignatureError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The authenticator data does not have 37 bytes.
    public static let authenticatorData = SSHSignatureError("authenticatorData")
    /// The authenticator data is for another relying party ID than the key's application.
    public static let application = SSHSignatureError("application")
    /// Flag UP is not set.
    public static let userNotPresent = SSHSignatureError("userNotPresent")
    /// Flag AT or ED is set: the signature covers data that SSH does not transmit.
    public static let flags = SSHSignatureError("flags")
    /// The signature is not in strict DER, or r or s is out of range.
    public static let encoding = SSHSignatureError("encoding")
    /// The signature is not valid for the key and the data.
    public static let notValid = SSHSignatureError("notValid")

    /// The error's name.
    public let description: String

    private init(_ description: String) { self.description = description }
}
