// SPDX-License-Identifier: Apache-2.0

public import HybridCBOR

/// Input of the `largeBlob` extension (WebAuthn Level 3 §10.1.5) in the format for phones.
///
/// Security keys store such data with `largeBlobKey` and separate commands. Phones receive the input in the request
/// and return unsigned extension outputs. The format is that of Chromium. iPhones list the extension in getInfo.
public enum LargeBlobInput: Equatable, Sendable {
    /// Requires or prefers a passkey that can store data (registration only).
    case support(isRequired: Bool)
    /// Reads the stored data (sign-in only).
    case read
    /// Replaces the stored data (sign-in only).
    case write(CompressedBlob)

    /// Name of the extension.
    public static let extensionName = "largeBlob"

    /// The entry for the extensions map of a request.
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

/// Output of the `largeBlob` extension.
public struct LargeBlobOutput: Equatable, Sendable {
    /// True if the new passkey can store data; `nil` in a sign-in.
    public var isSupported: Bool?
    /// The stored data; `nil` unless a sign-in has read it.
    public var blob: CompressedBlob?
    /// True if a sign-in has written the data; `nil` if no write was requested.
    public var isWritten: Bool?

    /// Creates an output from its parts.
    public init(isSupported: Bool? = nil, blob: CompressedBlob? = nil, isWritten: Bool? = nil) {
        self.isSupported = isSupported
        self.blob = blob
        self.isWritten = isWritten
    }

    /// Creates an output from unsigned extension outputs; `nil` if they do not contain it.
    ///
    /// - Throws: ``CTAPResponseError`` if a member has the wrong type, or a blob has no size.
    public init?(unsignedOutputs outputs: CBORMap?) throws(CTAPResponseError) {
        let outputs = FieldReader<CTAPResponseError>(outputs ?? [:])
        let name = LargeBlobInput.extensionName
        guard let fields = try outputs.optionalNested(.text(name), name) else { return nil }
        isSupported = try fields.optional("supported", "supported", as: \.boolean)
        isWritten = try fields.optional("written", "written", as: \.boolean)
        guard let bytes = try fields.optional("blob", "blob", as: \.bytes) else { return }
        let size = try fields.required("originalSize", "originalSize", as: \.integer)
        guard size >= 0 else { throw .invalid(fields.name("originalSize")) }
        blob = CompressedBlob(bytes: bytes, originalSize: size)
    }
}

/// A website's data, compressed with raw DEFLATE (RFC 1951).
public struct CompressedBlob: Hashable, Sendable {
    /// The compressed bytes.
    public let bytes: [UInt8]
    /// Length of the uncompressed data in bytes.
    public let originalSize: Int

    /// Creates a blob from its parts, without checking them.
    public init(bytes: [UInt8], originalSize: Int) {
        self.bytes = bytes
        self.originalSize = originalSize
    }
}
