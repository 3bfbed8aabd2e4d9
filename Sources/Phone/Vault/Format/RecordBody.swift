// SPDX-License-Identifier: Apache-2.0

internal import HybridCBOR
internal import HybridPrimitives

/// Plaintext of a record: kind (1) ‖ length (4) ‖ CBOR ‖ zeros to the next multiple of 512.
struct RecordBody {
    /// Kind of a passkey.
    static let passkey: UInt8 = 1
    /// Kind of a permanently deleted record.
    static let tombstone: UInt8 = 2

    /// Body of a new tombstone: an empty map.
    static var deletion: RecordBody { RecordBody(kind: tombstone, members: CBORMap()) }

    /// Kind of the record; other values come from later versions and only cause a warning.
    let kind: UInt8
    /// Members, including those that this version does not know; `nil` if the body is not a map in canonical CBOR.
    let members: CBORMap?

    /// Creates a body for a new revision.
    init(kind: UInt8, members: CBORMap) {
        self.kind = kind
        self.members = members
    }

    /// Parses a padded plaintext with all members, secrets included; `nil` unless length and padding are exact.
    init?(padded: UnsafeRawBufferPointer) {
        guard let (kind, content) = Self.split(padded) else { return nil }
        var cbor = Array(content)
        defer { SecretBytes.wipe(&cbor) }
        self.kind = kind
        self.members = (try? CBORDecoder.decode(cbor, mode: .strict))?.map
    }

    /// Returns the kind and the CBOR of a padded plaintext; `nil` unless length and padding are exact.
    static func split(_ padded: UnsafeRawBufferPointer) -> (kind: UInt8, content: UnsafeRawBufferPointer)? {
        guard padded.count >= 5, padded.count.isMultiple(of: RecordFile.block) else { return nil }
        let length = padded[1..<5].reduce(0) { $0 << 8 | Int($1) }
        guard paddedLength(length) == padded.count, padded[(5 + length)...].allSatisfy({ $0 == 0 }) else { return nil }
        return (padded[0], UnsafeRawBufferPointer(rebasing: padded[5..<(5 + length)]))
    }

    /// Plaintext with its padding.
    var padded: [UInt8] {
        let cbor = CBOREncoder.encode(members ?? CBORMap())
        var bytes = [kind]
        bytes.append(bigEndian: UInt32(cbor.count))
        bytes += cbor
        return bytes + [UInt8](repeating: 0, count: Self.paddedLength(cbor.count) - bytes.count)
    }

    private static func paddedLength(_ length: Int) -> Int {
        (5 + length + RecordFile.block - 1) / RecordFile.block * RecordFile.block
    }
}
