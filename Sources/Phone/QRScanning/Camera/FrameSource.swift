// SPDX-License-Identifier: Apache-2.0

package import HybridPrimitives

/// A source of frames, such as a camera.
///
/// A source is used on one thread and may block that thread.
package protocol FrameSource: ~Copyable, SendableMetatype {
    /// Returns the next frame; `nil` if there was none for about 100 milliseconds.
    ///
    /// After `nil`, the caller can check for cancellation and call this method again.
    mutating func nextFrame() throws(CameraError) -> CameraFrame?
}

/// A reason why a source cannot provide frames.
package struct CameraError: ExplainedFailure, Hashable {
    /// Cause and remedy.
    package let sentence: String
    /// The exit status for an unavailable service.
    package var status: ExitStatus { .unavailable }
    /// The name of the status.
    package var code: String { status.name }

    /// Creates an error from its cause and remedy.
    package init(_ sentence: String) { self.sentence = sentence }

    /// The device does not exist.
    package static func noDevice(_ path: String) -> CameraError {
        CameraError("there is no camera at \(path); plug one in, or use --image or --screen")
    }
    /// The user lacks permission to open the device.
    package static func notPermitted(_ path: String) -> CameraError {
        CameraError("you are not permitted to use the camera \(path); join the group that owns it, usually video")
    }
    /// Another program uses the device.
    package static func busy(_ path: String) -> CameraError {
        CameraError("another program uses the camera \(path); close it and try again")
    }
    /// The device cannot be opened, or zbar does not support it.
    package static func unusable(_ path: String, reason: String) -> CameraError {
        CameraError("the camera \(path) can't be used: \(reason)")
    }
    /// The device stopped sending frames.
    package static func stopped(_ path: String) -> CameraError {
        CameraError("the camera \(path) sends no more pictures")
    }
    /// A frame cannot be decoded.
    package static func picture(_ error: PictureError) -> CameraError {
        CameraError("a picture of the camera can't be read: \(error.sentence)")
    }
}
