// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// The pixels of a picture, wiped on release because they may show a secret code.
final class PixelMemory: @unchecked Sendable {
    // SAFETY of @unchecked: `bytes` is written by `init` only.
    let bytes: UnsafeMutableBufferPointer<UInt8>

    /// Allocates mid-gray pixels, and calls `fill` to write them.
    ///
    /// - Throws: ``PictureError/outOfMemory``, or an error of `fill`.
    init(count: Int, fill: (UnsafeMutableBufferPointer<UInt8>) throws(PictureError) -> Void) throws(PictureError) {
        // malloc reports a failure; Swift's allocation would end the program.
        guard count > 0, let start = malloc(count) else { throw .outOfMemory }
        bytes = UnsafeMutableBufferPointer(start: start.bindMemory(to: UInt8.self, capacity: count), count: count)
        memset(start, 0x80, count)
        try fill(bytes)
    }

    deinit {
        guard let start = bytes.baseAddress else { return }
        explicit_bzero(start, bytes.count)
        free(start)
    }
}
