// SPDX-License-Identifier: Apache-2.0

public import HybridCBOR

/// Input of the `largeBlob` extension (WebAuthn Level 3 §10.1.5) in the form for phones.
///
/// Security keys store such data with `largeBlobKey` and separate commands. Phones receive the input in the request
/// and return unsigned extension outputs. The form is Chromium's; iPhones list the extension.
public enum LargeBlobInput: Equatable, Sendable {
    /// In a creation: requires or prefers a passkey that can store data.
    case support(isRequired: Bool)
    /// In a sign-in: reads the stored data.
    case read
    /// In a sign-in: replaces the stored data.
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

/// Output of the `largeBlob` extension.
public struct LargeBlobOutput: Equatable, Sendable {
    /// In a creation: true if the passkey can store data.
    public var isSupported: Bool?
    /// In a sign-in: the stored data.
    public var blob: CompressedBlob?
    /// In a sign-in: true if the data was written.
    public var isWritten: Bool?

    /// Creates an output from its parts.
    public init(isSupported: Bool? = nil, blob: CompressedBlob? = nil, isWritten: Bool? = nil) {
        self.isSupported = isSupported
        self.blob = blob
        self.isWritten = isWritten
    }

    /// Reads the member of unsigned extension outputs; `nil` if absent.
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

/// A website's data in transit: raw DEFLATE (RFC 1951).
public struct CompressedBlob: Hashable, Sendable {
    /// The compressed bytes.
    public let bytes: [UInt8]
    /// Length of the inflated data in bytes.
    public let originalSize: Int

    /// Creates a blob from its parts, without checking them.
    public init(bytes: [UInt8], originalSize: Int) {
        self.bytes = bytes
        self.originalSize = originalSize
    }
}
