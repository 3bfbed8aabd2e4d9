// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// A compressed frame, decoded for a viewfinder in a process of its own, as it crosses the socket.
///
/// The bytes are 0 ‖ width ‖ height (2 each, big-endian) ‖ red, green and blue of each pixel; or those of a failure in a
/// `PictureReply`.
enum PreviewReply {
    /// Maximum length in bytes, for a picture of an eighth of the largest frame.
    static let maximumLength = 16 << 20

    private static let headerLength = 5

    /// Returns the bytes of a result.
    static func bytes(_ result: Result<ViewfinderPicture, PictureError>) -> [UInt8] {
        switch result {
        case .success(let picture):
            let sides = [picture.width, picture.height].flatMap { side in
                [UInt8(truncatingIfNeeded: side >> 8), UInt8(truncatingIfNeeded: side)]
            }
            return [0] + sides + picture.withPixels { Array($0) }
        case .failure(let error): return PictureReply.bytes(.failure(error))
        }
    }

    /// Returns the result in bytes that may be hostile, because a picture may have taken over the process; `nil` if they
    /// are malformed.
    static func result(_ bytes: UnsafeRawBufferPointer) -> Result<ViewfinderPicture, PictureError>? {
        guard bytes.first == 0 else {
            guard case .failure(let error) = PictureReply.result(bytes) else { return nil }
            return .failure(error)
        }
        guard bytes.count > headerLength else { return nil }
        let (width, height) = (Int(bytes[1]) << 8 | Int(bytes[2]), Int(bytes[3]) << 8 | Int(bytes[4]))
        guard width > 0, height > 0, bytes.count == headerLength + width * height * 3 else { return nil }
        let pixels = UnsafeRawBufferPointer(rebasing: bytes[headerLength...])
        return Result { () throws(PictureError) in
            try ViewfinderPicture(width: width, height: height) { target throws(PictureError) in
                UnsafeMutableRawBufferPointer(target).copyMemory(from: pixels)
            }
        }
    }
}
