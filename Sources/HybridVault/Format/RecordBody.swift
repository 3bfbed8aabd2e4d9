// SPDX-License-Identifier: Apache-2.0

internal import HybridCBOR

/// The plaintext of a record: kind (1) ‖ length (4) ‖ CBOR ‖ zeros to the next multiple of 512.
struct RecordBody {
    /// A passkey.
    static let passkey: UInt8 = 1
    /// The record is deleted, for ever.
    static let tombstone: UInt8 = 2

    /// The body of a new tombstone: an empty map.
    static var deletion: RecordBody { RecordBody(kind: tombstone, members: CBORMap()) }

    /// What it is; other values come from later versions and are left alone.
    let kind: UInt8
    /// The body as it was read, members that this version does not know included; `nil` if it is not a map in
    /// canonical CBOR, which no version ever wrote.
    let members: CBORMap?

    /// A body to write.
    init(kind: UInt8, members: CBORMap) {
        self.kind = kind
        self.members = members
    }

    /// Reads a padded plaintext; `nil` unless length and padding are exactly as they are written.
    init?(padded: UnsafeRawBufferPointer) {
        guard padded.count >= 5, padded.count.isMultiple(of: RecordFile.block) else { return nil }
        let length = padded[1..<5].reduce(0) { $0 << 8 | Int($1) }
        guard Self.paddedLength(length) == padded.count, padded[(5 + length)...].allSatisfy({ $0 == 0 }) else {
            return nil
        }
        self.kind = padded[0]
        self.members = (try? CBORDecoder.decode(padded[5..<(5 + length)], mode: .strict))?.map
    }

    /// The plaintext.
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
