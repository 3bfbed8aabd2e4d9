// SPDX-License-Identifier: Apache-2.0

/// The camera of a scan: one of PipeWire, or a Video4Linux device where PipeWire offers none.
package final class ScanCamera: FrameSource {
    /// Time between two frames that are searched.
    private static let interval = Duration.milliseconds(125)
    /// Longest wait for a frame.
    private static let longestWait = Duration.milliseconds(100)

    private var camera: PipeWireCamera?
    private var device: Camera?
    /// True if no camera was named.
    private var isAny = false
    private var nextSearch = ContinuousClock.now

    /// Connects to PipeWire, or opens a Video4Linux device.
    ///
    /// - Parameter name: The path of a device; the name or serial number of a camera of PipeWire; `nil` for the best camera,
    ///   or for ``Camera/defaultDevice`` where PipeWire has none or does not run.
    /// - Throws: ``CameraError``.
    package init(named name: String?) throws(CameraError) {
        if let name, name.hasPrefix("/") {
            device = try Camera(path: name)
            return
        }
        do throws(CameraError) {
            camera = try PipeWireCamera(name.map(CameraSelection.only) ?? .automatic(last: nil))
        } catch {
            guard name == nil else { throw error }
            device = try Camera()
        }
        isAny = name == nil
    }

    package func nextFrame() throws(CameraError) -> CameraFrame? {
        if let frame = try device?.nextFrame() { return frame }
        guard let camera else { return nil }
        let untilSearch = nextSearch - .now
        let isDue = untilSearch <= .zero
        do throws(CameraError) {
            let wait = isDue ? Self.longestWait : min(untilSearch, Self.longestWait)
            try camera.advance(for: wait, isDue ? .brightness : .nothing)
        } catch {
            guard isAny, error == .noCamera || error == .noCameraNode else { throw error }
            // Its failure says less than the lack of nodes.
            let reason = error
            do throws(CameraError) {
                device = try Camera()
            } catch {
                throw reason
            }
            self.camera = nil
            return nil
        }
        guard let frame = try camera.takeFrame() else { return nil }
        nextSearch = .now + Self.interval
        do throws(PictureError) {
            return try frame.searchable()
        } catch {
            throw .picture(error)
        }
    }
}
