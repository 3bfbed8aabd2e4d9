// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// The pixels of a picture, wiped on release: a picture of a code says what the code says.
final class PixelMemory: @unchecked Sendable {
    // SAFETY of @unchecked: `bytes` is written by `init` alone, before anybody else has it.
    private let bytes: UnsafeMutableBufferPointer<UInt8>

    /// Takes memory for so many pixels and lets `fill` write every one of them; they begin as mid-grey.
    ///
    /// Throws what `fill` throws, and ``PictureError/outOfMemory``.
    init(count: Int, fill: (UnsafeMutableBufferPointer<UInt8>) throws(PictureError) -> Void) throws(PictureError) {
        // Asked for by malloc, which can say no; Swift's own allocation would end the program.
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

    func withBytes<Result, Failure: Error>(
        _ body: (UnsafeBufferPointer<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeBufferPointer(bytes))
    }
}
