// SPDX-License-Identifier: Apache-2.0

public import HybridPrimitives

/// A reason why a source cannot provide frames.
public struct CameraError: ExplainedFailure, Hashable {
    /// Cause and remedy.
    public let sentence: String
    /// The exit status for an unavailable service.
    public var status: ExitStatus { .unavailable }
    /// The identifier of the cause; the name of the status for a cause without one of its own.
    public let code: String

    /// Creates an error from its cause and remedy.
    package init(_ sentence: String) {
        (self.sentence, code) = (sentence, ExitStatus.unavailable.name)
    }

    private init(_ code: String, _ sentence: String) { (self.code, self.sentence) = (code, sentence) }

    /// The device does not exist.
    package static func noDevice(_ path: String) -> CameraError {
        CameraError("no-camera", "there is no camera at \(path); plug one in, or use --image or --screen")
    }
    /// The user lacks permission to open the device.
    package static func notPermitted(_ path: String) -> CameraError {
        CameraError(
            "camera-not-permitted",
            "you are not permitted to use the camera \(path); join the group that owns it, usually video"
        )
    }
    /// Another program uses the device.
    package static func busy(_ path: String) -> CameraError {
        CameraError("camera-busy", "another program uses the camera \(path); close it and try again")
    }
    /// The device cannot be opened, or zbar does not support it.
    package static func unusable(_ path: String, reason: String) -> CameraError {
        CameraError("the camera \(path) can't be used: \(reason)")
    }
    /// The user has turned off cameras in the settings of the desktop.
    package static let turnedOff = CameraError(
        "camera-turned-off",
        "cameras are turned off in the privacy settings of this desktop; turn them on, or use --image or --screen"
    )
    /// The device stopped sending frames.
    package static func stopped(_ path: String) -> CameraError {
        CameraError("the camera \(path) sends no more pictures")
    }

    // MARK: - PipeWire

    /// The library cannot be loaded.
    static func noPipeWireLibrary(_ reason: String) -> CameraError {
        CameraError("pipewire-missing", "PipeWire's library can't be loaded (\(reason)); install libpipewire-0.3-0")
    }
    /// No daemon answers.
    static func noPipeWire(_ reason: String) -> CameraError {
        CameraError(
            "no-pipewire",
            "PipeWire can't be reached (\(reason)); start it: systemctl --user start pipewire wireplumber"
        )
    }
    /// The daemon refuses the connection.
    static let pipeWireRefuses = CameraError(
        "pipewire-not-permitted",
        "you are not permitted to use PipeWire, and so no camera; start this program in your own session"
    )
    /// The daemon does not answer.
    static let pipeWireIsSilent = CameraError(
        "pipewire-silent",
        "PipeWire does not answer; restart it: systemctl --user restart pipewire wireplumber"
    )
    /// The daemon has ended.
    static let pipeWireEnded = CameraError("pipewire-ended", "PipeWire has ended; try again")
    /// The process has no threads or descriptors left.
    static let noThread = CameraError("no thread could be started for the camera; try again")
    /// There is no camera.
    package static let noCamera = CameraError(
        "no-camera",
        "there is no camera; plug one in, or use --image or --screen"
    )
    /// There are devices of cameras, but no camera that can be used.
    package static let noCameraNode = CameraError(
        "no-camera-plugin",
        """
        PipeWire offers no camera although this device has some; install libspa-0.2-libcamera \
        (pipewire-libcamera on Debian 12) and restart wireplumber
        """
    )
    /// No camera has this name.
    static func noCamera(named name: String) -> CameraError {
        CameraError(
            "camera-not-found",
            "there is no camera \(SafeText(quoting: name)); hybrid-auth doctor lists the cameras"
        )
    }
    /// The session does not connect the camera, or they agree on no format, which old versions don't report.
    static func notStarted(_ title: String) -> CameraError {
        CameraError(
            "camera-not-started",
            """
            the camera \(SafeText(quoting: title)) does not start; it may have no picture format that is supported, \
            or WirePlumber does not run: systemctl --user restart wireplumber
            """
        )
    }
    /// The camera is started, but sends no frames.
    static func silent(_ title: String) -> CameraError {
        CameraError(
            "camera-silent",
            "the camera \(SafeText(quoting: title)) sends no pictures; close programs that use it, or choose another"
        )
    }
    /// The camera has none of the formats.
    static func noFormat(_ title: String) -> CameraError {
        CameraError(
            "camera-format",
            "the camera \(SafeText(quoting: title)) has no picture format that is supported; choose another"
        )
    }
    /// All frames are flawed.
    static func flawed(_ title: String, _ flaw: String) -> CameraError {
        CameraError(
            "camera-flawed",
            "the pictures of the camera \(SafeText(quoting: title)) can't be used: \(flaw); choose another"
        )
    }
    /// The camera was unplugged, or the session has disconnected it.
    static func unplugged(_ title: String) -> CameraError {
        CameraError("camera-unplugged", "the camera \(SafeText(quoting: title)) is gone; plug it in, or choose another")
    }
    /// The session or the camera reports a failure.
    static func failed(_ title: String, _ reason: String) -> CameraError {
        let (title, reason) = (SafeText(quoting: title), SafeText(quoting: reason))
        return CameraError(
            "camera-failed",
            "the camera \(title) can't be started: \(reason); close programs that use it"
        )
    }

    // MARK: - Frames

    /// A frame cannot be decoded.
    package static func picture(_ error: PictureError) -> CameraError {
        CameraError("a picture of the camera can't be read: \(error.sentence)")
    }
}
