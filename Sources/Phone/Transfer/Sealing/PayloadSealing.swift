// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import FoundationEssentials
internal import HybridCaBLE
internal import HybridPrimitives

/// The place of a payload in its transfer, which is authenticated with it.
struct PayloadPlace: Hashable, Sendable {
    /// The number of the payload, beginning at 0.
    let index: UInt32
    /// True if no other payload follows.
    let isLast: Bool

    /// The associated data: four bytes of the index, and one byte.
    var associatedData: [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: index >> (24 - 8 * $0)) } + [isLast ? 1 : 0]
    }
}

/// The encryption of payloads with HPKE, for one session or one request file.
///
/// The channel is encrypted already. The payloads are sealed once more, so that a log of the messages holds no private key,
/// and so that files have the same form. Each payload has a new encapsulated key.
struct PayloadSealing: Sendable {
    /// Maximum length of a payload in bytes.
    static let maximumLength = 512 << 10
    static let tagLength = 16

    private static let suite = HPKE.Ciphersuite(
        kem: .Curve25519_HKDF_SHA256,
        kdf: .HKDF_SHA256,
        aead: .AES_GCM_256
    )

    private let info: Data

    /// - Parameter binding: What only this session or this request has.
    init(_ purpose: TransferPurpose, binding: [UInt8]) {
        let label = Array("hybrid transfer v1".utf8)
        info = Data(label + [0] + Array(purpose.rawValue.utf8) + [0] + binding)
    }

    /// Seals a payload.
    ///
    /// - Throws: ``TransferFailure/malformed(_:)`` if no secret can be shared with the key.
    func seal(
        _ payload: UnsafeRawBufferPointer,
        at place: PayloadPlace,
        for request: ExportRequest
    ) throws(TransferFailure) -> TransferredItems {
        do {
            let key = request.parameters.key
            var sender = try HPKE.Sender(recipientKey: key, ciphersuite: Self.suite, info: info)
            let sealed = try sender.seal(payload, authenticating: place.associatedData)
            let encapsulated = try Curve25519.KeyAgreement.PublicKey(rawRepresentation: sender.encapsulatedKey)
            let parameters = HPKEParameters(key: encapsulated)
            return TransferredItems(
                place: place,
                response: ExportResponse(parameters: parameters, payload: Array(sealed))
            )
        } catch {
            throw .malformed("its key is unusable")
        }
    }

    /// Opens a payload.
    ///
    /// - Throws: ``TransferFailure/notAuthentic``.
    func open(_ items: TransferredItems, with key: RequestKey) throws(TransferFailure) -> OpenedPayload {
        do {
            var recipient = try HPKE.Recipient(
                privateKey: key.key,
                ciphersuite: Self.suite,
                info: info,
                encapsulatedKey: items.response.parameters.key.rawRepresentation
            )
            let data = items.place.associatedData
            var payload = try recipient.open(items.response.payload, authenticating: data)
            defer { payload.resetBytes(in: 0..<payload.count) }
            return OpenedPayload(payload.withUnsafeBytes { SecretBytes(copying: $0) })
        } catch {
            throw .notAuthentic
        }
    }
}

/// A payload in the clear, and its hash.
struct OpenedPayload {
    let content: SecretBytes
    let hash: PayloadHash

    init(_ content: SecretBytes) {
        self.content = content
        hash = PayloadHash(of: UnsafeRawBufferPointer(content.memory))
    }
}

/// The SHA-256 of a payload in the clear.
struct PayloadHash: FixedLengthBytes, Hashable, Sendable {
    static let length = 32

    let bytes: [UInt8]

    init(checked bytes: some Collection<UInt8>) { self.bytes = Array(bytes) }

    init(of payload: UnsafeRawBufferPointer) {
        var hash = SHA256()
        hash.update(bufferPointer: payload)
        bytes = Array(hash.finalize())
    }
}
