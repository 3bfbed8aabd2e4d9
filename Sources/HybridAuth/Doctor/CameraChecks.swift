// SPDX-License-Identifier: Apache-2.0

internal import HybridDoctor
internal import HybridPrimitives
internal import HybridQRScanning
internal import HybridThreads

/// The check of the camera, which a scan can do without.
enum CameraChecks {
    /// Lists the cameras of PipeWire, or finds out why there are none; no camera is started.
    static func run(_ budget: TimeBudget) async throws -> DoctorFinding {
        try await DoctorFinding.within(budget, .camera, orElse: .warning) {
            if await ScanInput.camerasAreOff { return DoctorFinding(.camera, .warning, CameraError.turnedOff) }
            do throws(CameraError) {
                let cameras = try await DedicatedThread.run { () throws(CameraError) in try PipeWireCameras.current() }
                return finding(cameras)
            } catch {
                // A computer without a camera needs no PipeWire.
                return DoctorFinding(.camera, CameraDevices.areThere ? .warning : .skipped, error)
            }
        }
    }

    private static func finding(_ cameras: [CameraNode]) -> DoctorFinding {
        if let best = CameraSelection.automatic(last: nil).camera(of: cameras) {
            let all = [best] + cameras.filter { $0 != best }
            return DoctorFinding(.camera, .fine, all.map(name).joined(separator: ", "))
        }
        guard CameraDevices.areThere else { return DoctorFinding(.camera, .skipped, CameraError.noCamera) }
        if let device = CameraDevices.forbidden {
            return DoctorFinding(.camera, .warning, CameraError.notPermitted(device))
        }
        return DoctorFinding(.camera, .warning, CameraError.noCameraNode)
    }

    /// Returns the name for people, and the one for `--camera`.
    private static func name(of camera: CameraNode) -> String {
        "\(SafeText(quoting: camera.title)) (\(SafeText(quoting: camera.name).description.dropFirst().dropLast()))"
    }
}
