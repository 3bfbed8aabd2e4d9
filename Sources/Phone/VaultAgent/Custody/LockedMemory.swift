// SPDX-License-Identifier: Apache-2.0

private import Glibc
internal import HybridPrimitives

/// A page of memory that is never swapped, dumped or inherited; wiped on release.
final class LockedMemory: SecretMaterial, @unchecked Sendable {
    // SAFETY of @unchecked: the memory is written only by `init`, before the object is shared.

    private let page: UnsafeMutableRawBufferPointer
    private let count: Int

    /// Copies `bytes` to a locked page.
    ///
    /// - Parameter bytes: At most 4,096 bytes.
    /// - Throws: ``FingerprintFailure/memoryNotLocked`` if the kernel does not lock the page.
    init(copying bytes: UnsafeRawBufferPointer) throws(FingerprintFailure) {
        let size = 4096
        guard bytes.count <= size,
            let start = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), start != MAP_FAILED
        else { throw .memoryNotLocked }
        guard mlock(start, size) == 0, madvise(start, size, MADV_DONTDUMP) == 0,
            madvise(start, size, MADV_DONTFORK) == 0
        else {
            munmap(start, size)
            throw .memoryNotLocked
        }
        page = UnsafeMutableRawBufferPointer(start: start, count: size)
        count = bytes.count
        page.copyMemory(from: bytes)
    }

    deinit {
        SecretBytes.wipe(page)
        munmap(page.baseAddress, page.count)
    }

    /// Calls `body` with the bytes, which must not be copied to memory that is not wiped.
    func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(rebasing: page[..<count]))
    }
}
