// SPDX-License-Identifier: Apache-2.0

internal import Crypto
package import HybridPrimitives

/// A request for passkeys as a file, for a receiver that is not nearby.
///
/// It is an `ExportRequest` of the Credential Exchange Protocol with the member `name`.
package struct SealedRequest: Sendable {
    /// The bytes of the file.
    package let bytes: [UInt8]
    /// The secret state that opens the answer.
    package let pending: PendingRequest

    /// Creates a request with a new key.
    package init(name: String) { self.init(name: name, key: .random()) }

    init(name: String, key: RequestKey) {
        let name = SafeText(quoting: name).unquoted
        let members = ExportRequest(for: key).members + [("name", .string(name))]
        bytes = Array((JSONText.object(members).description + "\n").utf8)
        pending = PendingRequest(key: key, request: RequestHash(of: bytes))
    }
}

/// A request of another device that was read from a file.
package struct ReceivedRequest: Sendable {
    /// Maximum length of a file in bytes.
    package static let maximumLength = 64 << 10

    /// The name of the receiver; untrusted text in quotation marks.
    package let name: SafeText
    let request: ExportRequest
    /// The hash of the file, which both users may compare.
    package let hash: RequestHash

    /// Reads a file of at most 64 KiB.
    package init(parsing bytes: [UInt8]) throws(TransferFailure) {
        guard bytes.count <= Self.maximumLength else { throw .malformed("the file is longer than 64 KiB") }
        do {
            let text = try JSONText(parsing: bytes, maximumValues: TransferMessage.maximumValues)
            guard text.member("batches") == nil else {
                throw TransferFailure.malformed("the file is a gift and not a request")
            }
            let file = JSONCursor(text, named: "the file")
            request = try ExportRequest(file)
            name = SafeText(quoting: try file.memberIfPresent("name")?.text ?? "")
        } catch {
            throw TransferFailure(reading: error)
        }
        hash = RequestHash(of: bytes)
    }
}

/// The secret of a request whose answer has not arrived: the private key, and the hash of the file.
package struct PendingRequest: FixedLengthBytes, SecretMaterial, Sendable {
    package static let length = RequestKey.length + RequestHash.length

    let key: RequestKey
    /// The hash of the file, by which an answer names its request.
    package let request: RequestHash

    init(key: RequestKey, request: RequestHash) { (self.key, self.request) = (key, request) }

    /// Creates a value from bytes whose length has been checked, such as those of a sealed state.
    package init(checked bytes: some Collection<UInt8>) {
        key = RequestKey(checked: bytes.prefix(RequestKey.length))
        request = RequestHash(checked: bytes.dropFirst(RequestKey.length))
    }

    /// Calls `body` with the 64 bytes, which must not be copied to memory that is not wiped.
    package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        let bytes = SecretBytes(count: Self.length)
        key.withUnsafeBytes { bytes.memory.copyMemory(from: $0) }
        UnsafeMutableRawBufferPointer(rebasing: bytes.memory[RequestKey.length...]).copyBytes(from: request.bytes)
        return try body(UnsafeRawBufferPointer(bytes.memory))
    }
}

/// The SHA-256 of a request's file.
package struct RequestHash: FixedLengthBytes, Hashable, Sendable {
    package static let length = 32

    package let bytes: [UInt8]

    package init(checked bytes: some Collection<UInt8>) { self.bytes = Array(bytes) }

    init(of file: [UInt8]) { bytes = Array(SHA256.hash(data: file)) }
}
