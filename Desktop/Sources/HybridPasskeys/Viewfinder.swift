// SPDX-License-Identifier: Apache-2.0

internal import CHybridAdwaita
internal import HybridPasskeysModel
internal import HybridPrimitives
internal import HybridQRScanning
internal import HybridTranslation
internal import HybridWidgets

/// The camera of the scan page, as long as it runs.
final class Viewfinder {
    /// An event, on the main loop.
    enum Event {
        /// The state of the camera has changed.
        case state(CameraState)
        /// The number of cameras has changed.
        case cameras(Int)
        /// A code was found, after which the camera rests.
        case code([UInt8])
    }

    private let picture: Element
    private let onEvent: (Event) -> Void
    private var session: CameraSession?
    private var cameras: [CameraNode] = []
    private var current: CameraNode?
    private var hint: String?
    private var hasPicture = false

    /// Starts the camera.
    ///
    /// - Parameters:
    ///   - picture: The widget that shows the pictures.
    ///   - onEvent: Receives the events.
    init(picture: Element, _ onEvent: @escaping (Event) -> Void) {
        (self.picture, self.onEvent) = (picture, onEvent)
        guard hybrid_cameras_are_off() == 0 else {
            // Later, because the owner does not know this object yet.
            GLibSource.after(milliseconds: 0) { onEvent(.state(.unusable(.turnedOff))) }
            return
        }
        var options = CameraSession.Options()
        options.wantedStarts = ["FIDO:/", "HYBRID:/", "hybrid-relay:"]
        let last = hybrid_remembered_camera()
        options.selection = .automatic(last: last.map { String(cString: $0) })
        g_free(last)
        // The session's thread gets a number, from which only the main loop makes a reference again.
        let address = UInt(bitPattern: Unmanaged.passRetained(self).toOpaque())
        session = CameraSession(options) { event in
            let message = Unmanaged.passRetained(Message(event)).toOpaque()
            hybrid_call_on_main_loop(
                { target, message in
                    guard let target, let message else { return }
                    let event = Unmanaged<Message>.fromOpaque(message).takeRetainedValue().event
                    Unmanaged<Viewfinder>.fromOpaque(target).takeUnretainedValue().receive(event)
                },
                UnsafeMutableRawPointer(bitPattern: address),
                message
            )
        }
    }

    /// Changes to the next camera.
    func selectNext() {
        guard let index = cameras.firstIndex(where: { $0.name == current?.name }), cameras.count > 1 else { return }
        let next = cameras[(index + 1) % cameras.count]
        hybrid_remember_camera(next.name)
        session?.select(next)
    }

    /// Releases the camera; no event follows.
    func stop() {
        guard let session else { return }
        session.stop()
        self.session = nil
        // After all events that are on their way to the main loop.
        hybrid_call_on_main_loop(
            { target, _ in
                if let target { Unmanaged<Viewfinder>.fromOpaque(target).release() }
            },
            Unmanaged.passUnretained(self).toOpaque(),
            nil
        )
    }

    private func receive(_ event: CameraSession.Event) {
        guard let session else { return }
        switch event {
        case .cameras(let cameras, let current):
            (self.cameras, self.current) = (cameras, current)
            onEvent(.cameras(cameras.count))
        case .picture:
            guard let image = session.takePicture() else { return }
            show(image)
            if !hasPicture {
                hasPicture = true
                onEvent(.state(.running(hint: hint)))
            }
        case .hint(let hint):
            self.hint = hint.text
            if hasPicture { onEvent(.state(.running(hint: hint.text))) }
        case .code(let text): onEvent(.code(text.withBytes { Array($0) }))
        case .failed(let error): onEvent(.state(.unusable(.init(error))))
        }
    }

    /// Shows a picture upright; a front camera is a mirror.
    private func show(_ image: ViewfinderPicture) {
        let isTurned = image.quarterTurns % 2 == 1
        let width = isTurned ? image.height : image.width
        let height = isTurned ? image.width : image.height
        image.withPixels { pixels in
            guard image.quarterTurns != 0 || image.isMirrored else {
                return hybrid_show_pixels(picture.pointer, pixels.baseAddress, CInt(width), CInt(height))
            }
            withUnsafeTemporaryAllocation(byteCount: width * height * 3, alignment: 1) { upright in
                for y in 0..<height {
                    for x in 0..<width {
                        let column = image.isMirrored ? width - 1 - x : x
                        let (sourceX, sourceY) = Self.source(column, y, image)
                        let source = (sourceY * image.width + sourceX) * 3
                        let target = (y * width + x) * 3
                        for color in 0..<3 { upright[target + color] = pixels[source + color] }
                    }
                }
                hybrid_show_pixels(picture.pointer, upright.baseAddress, CInt(width), CInt(height))
                SecretBytes.wipe(upright)
            }
        }
    }

    /// Returns the place in a picture that is at a place of the upright picture.
    private static func source(_ x: Int, _ y: Int, _ image: ViewfinderPicture) -> (Int, Int) {
        switch image.quarterTurns {
        case 1: (y, image.height - 1 - x)
        case 2: (image.width - 1 - x, image.height - 1 - y)
        case 3: (image.width - 1 - y, x)
        default: (x, y)
        }
    }

    /// An event on its way to the main loop.
    private final class Message {
        let event: CameraSession.Event

        init(_ event: CameraSession.Event) { self.event = event }
    }
}

extension CameraHint {
    /// The hint in the app's own words; `nil` for the usual advice.
    fileprivate var text: String? {
        switch self {
        case .noCode: nil
        case .tooDark: tr("The picture is dark. Is the camera covered?")
        case .anotherCode: tr("This is not the code of a sign-in")
        case .severalCodes: tr("There are several codes. Show one of them.")
        }
    }
}

extension CameraProblem {
    /// Creates a problem from the failure of a session.
    fileprivate init(_ error: CameraError) {
        self = error.code == "no-camera" ? .noCamera : .unusable(code: error.code, error.sentence)
    }
}
