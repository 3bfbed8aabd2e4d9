// SPDX-License-Identifier: Apache-2.0

internal import CHybridTSS2
private import Glibc

/// The TPM2 Software Stack (libtss2), loaded when it is used for the first time.
///
/// A computer without it, or without a TPM, is not affected. The Enhanced System API (ESAPI) computes the HMACs of
/// sessions and encrypts parameters. The TCTI loader connects to a device or to a simulator.
final class TSS2Library: Sendable {
    /// The functions.
    // SAFETY of nonisolated(unsafe): the pointer is constant. The functions are written before `init`, and neither
    // changed nor freed afterwards.
    nonisolated(unsafe) let functions: UnsafePointer<hybrid_tss2>

    private static let result: Result<TSS2Library, TPMError> = {
        let functions = UnsafeMutablePointer<hybrid_tss2>.allocate(capacity: 1)
        guard hybrid_tss2_load(functions) else {
            functions.deallocate()
            return .failure(.libraryMissing(dlerror().map { String(cString: $0) } ?? "libtss2"))
        }
        return .success(TSS2Library(functions))
    }()

    private init(_ functions: UnsafeMutablePointer<hybrid_tss2>) { self.functions = UnsafePointer(functions) }

    /// Returns the library.
    ///
    /// - Throws: ``TPMError/libraryMissing(_:)``.
    static func loaded() throws(TPMError) -> TSS2Library { try result.get() }
}
