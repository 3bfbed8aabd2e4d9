// SPDX-License-Identifier: Apache-2.0

public import HybridPrimitives

/// A source of frames, such as a camera.
///
/// A source is used on one thread and may block that thread.
public protocol FrameSource: ~Copyable, SendableMetatype {
    /// Returns the next frame; `nil` if there was none for about 100 milliseconds.
    ///
    /// After `nil`, the caller can check for cancellation and call this method again.
    mutating func nextFrame() throws(CameraError) -> GrayPicture?
}

/// A reason why a source cannot provide frames.
public struct CameraError: ExplainedFailure, Hashable {
    /// Cause and remedy.
    public let sentence: String
    /// The exit status for an unavailable service.
    public var status: ExitStatus { .unavailable }
    /// The name of the status.
    public var code: String { status.name }

    /// Creates an error from its cause and remedy.
    public init(_ sentence: String) { self.sentence = sentence }

    /// The device does not exist.
    public static func noDevice(_ path: String) -> CameraError {
        CameraError("there is no camera at \(path); plug one in, or use --image or --screen")
    }
    /// The user lacks permission to open the device.
    public static func notPermitted(_ path: String) -> CameraError {
        CameraError("you may not use the camera \(path); join the group that owns it, usually video")
    }
    /// Another program uses the device.
    public static func busy(_ path: String) -> CameraError {
        CameraError("another program uses the camera \(path); close it and try again")
    }
    /// The device cannot be opened, or zbar does not support it.
    public static func unusable(_ path: String, reason: String) -> CameraError {
        CameraError("the camera \(path) can't be used: \(reason)")
    }
    /// The device stopped sending frames.
    public static func stopped(_ path: String) -> CameraError {
        CameraError("the camera \(path) sends no more pictures")
    }
    /// A frame cannot be decoded.
    public static func picture(_ error: PictureError) -> CameraError {
        CameraError("a picture of the camera can't be read: \(error.sentence)")
    }
}
