// SPDX-License-Identifier: Apache-2.0

public import HybridPrimitives

/// The text of a QR code.
///
/// The text may be secret, so it is wiped on release and never printed.
public final class ScannedText: SecretMaterial, @unchecked Sendable {
    // SAFETY of @unchecked: only `init` writes to the memory of `storage`, before the object is shared.
    private let storage: SecretBytes

    /// Creates a text by copying the bytes.
    init(_ bytes: UnsafeRawBufferPointer) { storage = SecretBytes(copying: bytes) }

    /// Calls `body` with the bytes, which are usually UTF-8; copies that `body` makes are not wiped.
    public func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try body(UnsafeRawBufferPointer(storage.memory))
    }

    /// Returns true if the text begins with these ASCII characters, in either case.
    public func begins(with start: StaticString) -> Bool {
        start.withUTF8Buffer { begins(with: Array($0)) }
    }

    /// Returns true if the text begins with the bytes of these ASCII characters, in either case; white space may precede.
    func begins(with start: [UInt8]) -> Bool {
        withBytes { bytes in
            let bytes = bytes.drop { $0 <= 0x20 }
            return bytes.count >= start.count
                && zip(start, bytes).allSatisfy { Self.lowerCase($0) == Self.lowerCase($1) }
        }
    }

    /// Returns true if both texts are equal; for texts of the same length, the comparison takes constant time.
    package func matches(_ other: ScannedText) -> Bool {
        withBytes { mine in other.withBytes { ConstantTime.equal(mine, $0) } }
    }

    private static func lowerCase(_ character: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(character) ? character | 0x20 : character
    }
}
