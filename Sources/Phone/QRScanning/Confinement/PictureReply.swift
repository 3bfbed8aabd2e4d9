// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// The result of a search in a process of its own, as it crosses the socket.
///
/// The bytes are 0 ‖ 1 if other codes are in the picture, + 2 if it is dark (1) ‖ codes, each with its length (2,
/// big-endian); or 1 ‖ the status, 1 for a temporary failure, 2 for an unavailable
/// service, else 0 (1) ‖ the sentence.
enum PictureReply {
    /// Maximum length in bytes; a QR code has at most 2,953.
    static let maximumLength = 64 << 10

    /// The statuses of failures, by their number.
    private static let statuses: [ExitStatus] = [.dataError, .temporary, .unavailable]

    /// Returns the bytes of a result.
    static func bytes(_ result: Result<CodeSearch.Finding, PictureError>) -> [UInt8] {
        switch result {
        case .success(let finding):
            var bytes: [UInt8] = [0, (finding.showsOthers ? 1 : 0) | (finding.isDark ? 2 : 0)]
            for code in finding.wanted {
                code.withBytes { text in
                    bytes += [UInt8(truncatingIfNeeded: text.count >> 8), UInt8(truncatingIfNeeded: text.count)]
                    bytes += text
                }
            }
            return bytes
        case .failure(let error):
            return [1, UInt8(statuses.firstIndex(of: error.status) ?? 0)] + error.sentence.utf8
        }
    }

    /// Returns the result in bytes that may be hostile, because a picture may have taken over the process; `nil` if they
    /// are malformed.
    static func result(_ bytes: UnsafeRawBufferPointer) -> Result<CodeSearch.Finding, PictureError>? {
        guard bytes.count >= 2, bytes.count <= maximumLength, bytes[0] <= 1, bytes[1] <= 3 - bytes[0] else {
            return nil
        }
        guard bytes[0] == 0 else {
            return .failure(PictureError(reported: bytes.dropFirst(2), statuses[Int(bytes[1])]))
        }
        var texts: [ScannedText] = []
        var rest = bytes.dropFirst(2)
        while !rest.isEmpty {
            guard rest.count >= 2 else { return nil }
            let count = Int(rest[rest.startIndex]) << 8 | Int(rest[rest.startIndex + 1])
            rest = rest.dropFirst(2)
            guard rest.count >= count else { return nil }
            texts.append(ScannedText(UnsafeRawBufferPointer(rebasing: rest.prefix(count))))
            rest = rest.dropFirst(count)
        }
        return .success(CodeSearch.Finding(wanted: texts, showsOthers: bytes[1] & 1 != 0, isDark: bytes[1] & 2 != 0))
    }
}
