// SPDX-License-Identifier: Apache-2.0

/// A source of frames, such as a camera.
///
/// A source is used on one thread and may block that thread.
package protocol FrameSource: ~Copyable, SendableMetatype {
    /// Returns the next frame; `nil` if there was none for about 100 milliseconds.
    ///
    /// After `nil`, the caller can check for cancellation and call this method again.
    mutating func nextFrame() throws(CameraError) -> CameraFrame?
}
