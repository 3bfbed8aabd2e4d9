// SPDX-License-Identifier: Apache-2.0

internal import CHybridPipeWire
private import Glibc

/// The client library of PipeWire, loaded when it is used for the first time.
final class PipeWireLibrary: Sendable {
    /// The functions.
    // SAFETY of nonisolated(unsafe): the pointer is constant. The functions are written before `init`, and neither
    // changed nor freed afterwards.
    nonisolated(unsafe) let functions: UnsafePointer<hybrid_pipewire>

    private static let result: Result<PipeWireLibrary, CameraError> = {
        let functions = UnsafeMutablePointer<hybrid_pipewire>.allocate(capacity: 1)
        guard hybrid_pipewire_load(functions) else {
            functions.deallocate()
            return .failure(.noPipeWireLibrary(dlerror().map { String(cString: $0) } ?? "libpipewire"))
        }
        return .success(PipeWireLibrary(functions))
    }()

    private init(_ functions: UnsafeMutablePointer<hybrid_pipewire>) { self.functions = UnsafePointer(functions) }

    /// Returns the library.
    ///
    /// - Throws: ``CameraError``.
    static func loaded() throws(CameraError) -> PipeWireLibrary { try result.get() }
}
