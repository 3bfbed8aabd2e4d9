// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// The pixels of a picture, wiped on release because they may show a secret code.
final class PixelMemory: @unchecked Sendable {
    // SAFETY of @unchecked: only `init` writes to the memory, before the object is shared. `deinit` wipes it after the
    // last reference is gone.
    let bytes: UnsafeMutableBufferPointer<UInt8>

    /// Creates pixels by allocating memory filled with medium gray and calling `fill` to overwrite it.
    ///
    /// - Throws: ``PictureError/outOfMemory``, or an error of `fill`.
    init(count: Int, fill: (UnsafeMutableBufferPointer<UInt8>) throws(PictureError) -> Void) throws(PictureError) {
        // malloc reports a failure, but Swift's allocation would end the program.
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
