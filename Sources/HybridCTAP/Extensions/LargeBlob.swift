// SPDX-License-Identifier: Apache-2.0

public import HybridCBOR

/// What a request asks of the `largeBlob` extension (WebAuthn Level 3 §10.1.5), in the form that phones are sent.
///
/// Security keys keep such data with `largeBlobKey` and commands of its own. Phones are asked for the same in the
/// request itself and answer in the unsigned extension outputs. The form is Chromium's; iPhones list the extension.
public enum LargeBlobInput: Equatable, Sendable {
    /// In a creation: whether the passkey must be able to keep data, or should.
    case support(isRequired: Bool)
    /// In a sign-in: what is kept.
    case read
    /// In a sign-in: what is to be kept from now on.
    case write(CompressedBlob)

    /// Name of the extension.
    public static let extensionName = "largeBlob"

    /// The member of a request's extensions.
    public var extensionInput: CBORMap {
        let members: CBORMap =
            switch self {
            case .support(let isRequired): ["support": .text(isRequired ? "required" : "preferred")]
            case .read: ["read": true]
            case .write(let blob): ["write": .bytes(blob.bytes), "originalSize": .unsigned(UInt64(blob.originalSize))]
            }
        return [.text(Self.extensionName): .map(members)]
    }
}

/// What the `largeBlob` extension answers.
public struct LargeBlobOutput: Equatable, Sendable {
    /// Of a creation: whether the passkey can keep data.
    public var isSupported: Bool?
    /// Of a sign-in: what is kept.
    public var blob: CompressedBlob?
    /// Of a sign-in: whether it was written.
    public var isWritten: Bool?

    /// An output from its parts.
    public init(isSupported: Bool? = nil, blob: CompressedBlob? = nil, isWritten: Bool? = nil) {
        self.isSupported = isSupported
        self.blob = blob
        self.isWritten = isWritten
    }

    /// Reads the member of an answer's unsigned extension outputs; `nil` if there is none.
    ///
    /// - Throws: ``CTAPResponseError`` if a member is of another type, or a blob has no size.
    public init?(unsignedOutputs outputs: CBORMap?) throws(CTAPResponseError) {
        let name = CBORValue.text(LargeBlobInput.extensionName)
        guard outputs?[name] != nil else { return nil }
        do throws(FieldError) {
            let fields = try FieldReader(outputs ?? [:]).nested(name, LargeBlobInput.extensionName)
            isSupported = try fields.optional("supported", "supported", as: \.boolean)
            isWritten = try fields.optional("written", "written", as: \.boolean)
            guard let bytes = try fields.optional("blob", "blob", as: \.bytes) else { return }
            let size = try fields.required("originalSize", "originalSize", as: \.integer)
            guard size >= 0 else { throw .invalid(fields.name("originalSize")) }
            blob = CompressedBlob(bytes: bytes, originalSize: size)
        } catch {
            throw CTAPResponseError(error)
        }
    }
}

/// A website's data as it travels: DEFLATE (RFC 1951), without a header.
public struct CompressedBlob: Hashable, Sendable {
    /// The compressed bytes.
    public let bytes: [UInt8]
    /// How long they are when they are inflated, in bytes.
    public let originalSize: Int

    /// Takes both as they are.
    public init(bytes: [UInt8], originalSize: Int) {
        self.bytes = bytes
        self.originalSize = originalSize
    }
}
