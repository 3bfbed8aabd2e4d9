// SPDX-License-Identifier: Apache-2.0

/// The signed data of a message (OpenSSH's PROTOCOL.sshsig).
///
/// The encoding is the 6 bytes `SSHSIG` ‖ string namespace ‖ string reserved ‖ string hash algorithm ‖ string hash of
/// the message.
public struct MessageData: Hashable, Sendable {
    static let magic = Array("SSHSIG".utf8)

    /// The purpose of the signature.
    public let namespace: SignatureNamespace
    /// The hash of the message.
    public let hash: MessageHash

    /// Returns the encoding of a message in this format.
    ///
    /// - Parameters:
    ///   - namespace: The purpose of the signature.
    ///   - hash: SHA-256 of the message, 32 bytes.
    package static func encoded(_ namespace: SignatureNamespace, sha256 hash: [UInt8]) -> [UInt8] {
        var writer = SSHWriter()
        writer.string(namespace.description)
        writer.string("")
        writer.string("sha256")
        writer.string(hash)
        return magic + writer.bytes
    }

    /// Creates message data from its bytes, which begin with ``magic`` and must be parsed to the end.
    init(parsing bytes: [UInt8]) throws(SignedDataError) {
        var reader = SSHReader(bytes[Self.magic.count...])
        let namespace: ArraySlice<UInt8>
        let reserved: ArraySlice<UInt8>
        let algorithm: ArraySlice<UInt8>
        let hash: ArraySlice<UInt8>
        do throws(SSHFormatError) {
            namespace = try reader.string()
            reserved = try reader.string()
            algorithm = try reader.string()
            hash = try reader.string()
            try reader.finish()
        } catch {
            throw .format(error)
        }
        guard let namespace = String(validating: namespace, as: UTF8.self).flatMap(SignatureNamespace.init) else {
            throw .namespace
        }
        guard reserved.isEmpty else { throw .reserved }
        self.namespace = namespace
        switch (String(decoding: algorithm, as: UTF8.self), hash.count) {
        case ("sha256", 32): self.hash = .sha256(Array(hash))
        case ("sha512", 64): self.hash = .sha512(Array(hash))
        default: throw .hash
        }
    }
}

/// The hash of a signed message.
public enum MessageHash: Hashable, Sendable {
    /// SHA-256: 32 bytes.
    case sha256([UInt8])
    /// SHA-512: 64 bytes.
    case sha512([UInt8])
}
