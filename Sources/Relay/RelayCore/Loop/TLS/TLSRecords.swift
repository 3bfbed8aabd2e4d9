// SPDX-License-Identifier: Apache-2.0

/// The boundaries of TLS records (RFC 8446 §5.1).
///
/// BoringSSL allocates a record's full length as soon as it reads the header. It is given only complete records, so that
/// a peer that announces a record and does not send it costs no memory.
enum TLSRecords {
    private static let headerLength = 5
    /// Maximum length of a protected record's payload (RFC 5246 §6.2.3), in bytes.
    private static let maximumPayload = (16 << 10) + 2048
    /// Maximum length of a record with its header, in bytes.
    static let maximumLength = headerLength + maximumPayload

    /// Returns the length of the complete records at the start of `bytes`.
    ///
    /// If a version or length is invalid, all bytes count as complete, and BoringSSL reports the error. It checks the
    /// type only after the whole record, so a record of an unknown type must be complete, too.
    static func completeLength(of bytes: RawSpan) -> Int {
        var end = 0
        while bytes.byteCount - end >= headerLength {
            let major = bytes.unsafeLoad(fromByteOffset: end + 1, as: UInt8.self)
            let payload = Int(
                UInt16(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: end + 3, as: UInt16.self))
            )
            guard major == 3, payload <= maximumPayload else { return bytes.byteCount }
            guard bytes.byteCount - end - headerLength >= payload else { return end }
            end += headerLength + payload
        }
        return end
    }
}
