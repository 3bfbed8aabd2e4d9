// SPDX-License-Identifier: Apache-2.0

/// Where the frames of a watch come from: a camera, or a recording of one.
///
/// Used on one thread, which may block in it.
public protocol FrameSource: ~Copyable, SendableMetatype {
    /// The next frame; `nil` if none came within a moment (a tenth of a second or so), so that the caller can look
    /// whether it is still wanted.
    mutating func nextFrame() throws(CameraError) -> GreyPicture?
}

/// Why there are no frames.
public enum CameraError: Error, Hashable, Sendable {
    /// There is no such device.
    case noDevice(String)
    /// The user may not open it.
    case notPermitted(String)
    /// Another program uses it.
    case busy(String)
    /// It can't be opened, or is no camera that zbar can use; with the reason.
    case unusable(String, reason: String)
    /// It was there and stopped sending.
    case stopped(String)
    /// A frame can't be looked at.
    case picture(PictureError)

    /// One line that says the cause and the remedy.
    public var sentence: String {
        switch self {
        case .noDevice(let path): "there is no camera at \(path); plug one in, or use --image or --screen"
        case .notPermitted(let path): "you may not use the camera \(path); join the group that owns it, usually video"
        case .busy(let path): "another program uses the camera \(path); close it and try again"
        case .unusable(let path, let reason): "the camera \(path) can't be used: \(reason)"
        case .stopped(let path): "the camera \(path) sends no more pictures"
        case .picture(let error): "a picture of the camera can't be read: \(error.sentence)"
        }
    }
}
