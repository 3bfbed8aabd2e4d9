// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridCBOR

/// A kind of data other than the client data of websites, as input of the extension `signedData` in a creation.
///
/// CTAP transmits only the hash of what is signed. With this extension, a client can create a passkey for data of one
/// kind, and state the data in a sign-in (``SignedDataInput``). The extension is specific to these programs;
/// docs/credentials.md describes it.
public enum SignedDataKind: String, CaseIterable, Sendable {
    /// Logins and messages of SSH.
    case ssh

    /// The entry for the extensions map of a creation request.
    public var extensionInput: CBORMap { [SignedDataInput.name: .text(rawValue)] }

    /// Creates a kind from the extensions of a creation request; `nil` if they do not contain one.
    ///
    /// An unknown kind is an error: otherwise, the new passkey would sign more than the client wants.
    init?(creation extensions: CBORMap?) throws(CTAPRequestError) {
        let fields = FieldReader<CTAPRequestError>(extensions ?? [:], path: "extensions")
        let name = SignedDataInput.extensionName
        guard let text = try fields.optional(SignedDataInput.name, name, as: \.text) else { return nil }
        guard let kind = SignedDataKind(rawValue: text) else { throw .invalid(fields.name(name)) }
        self = kind
    }
}

/// The data that a client wants to be signed, as input of the extension `signedData` in a sign-in.
///
/// The client data hash must be its SHA-256.
public struct SignedDataInput: Hashable, Sendable {
    /// Name of the extension in getInfo.
    public static let extensionName = "signedData"
    /// Maximum length in bytes, which suffices for an SSH login with certificates of the user and of the host.
    public static let maximumLength = 32 * 1024
    /// ``extensionName`` as a map key.
    static let name: CBORValue = "signedData"

    /// The data.
    public let bytes: [UInt8]

    /// Creates an input; `nil` unless it has 1 to 32,768 bytes.
    public init?(bytes: [UInt8]) {
        guard (1...Self.maximumLength).contains(bytes.count) else { return nil }
        self.bytes = bytes
    }

    /// The entry for the extensions map of a sign-in request.
    public var extensionInput: CBORMap { [Self.name: .bytes(bytes)] }

    /// Returns true if the hash is that of the data.
    public func matches(_ hash: ClientDataHash) -> Bool { SHA256.hash(data: bytes).elementsEqual(hash.bytes) }

    /// Creates an input from the extensions of a sign-in request; `nil` if they do not contain it.
    init?(signIn extensions: CBORMap?) throws(CTAPRequestError) {
        let fields = FieldReader<CTAPRequestError>(extensions ?? [:], path: "extensions")
        let input = try fields.optionalBytes(Self.name, Self.extensionName) { Self(bytes: $0) }
        guard let input else { return nil }
        self = input
    }
}
