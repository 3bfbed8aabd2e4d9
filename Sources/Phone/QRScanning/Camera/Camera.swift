// SPDX-License-Identifier: Apache-2.0

private import CHybridZBar
private import Glibc

/// A camera, accessed with zbar's Video4Linux layer, which supports the pixel formats of most cameras.
package struct Camera: FrameSource, ~Copyable {
    /// The default device.
    package static let defaultDevice = "/dev/video0"

    /// The requested frame size in pixels, which is common and shows a code with several pixels per module.
    private static let wantedSize: (width: UInt32, height: UInt32) = (1280, 720)
    /// Timeout of a single wait for a frame in milliseconds.
    private static let pollInterval: Int32 = 100
    /// Number of waits without a frame before the camera counts as stopped.
    ///
    /// Slow cameras take a second or two to start.
    private static let maximumWaits = 100

    private let path: String
    private let video: OpaquePointer
    private var emptyWaits = 0

    /// Creates an instance that opens and starts a camera.
    ///
    /// - Parameter path: Path of the device, such as `/dev/video0`.
    package init(path: String = Camera.defaultDevice) throws(CameraError) {
        try Self.checkAccess(path)
        guard let video = zbar_video_create() else { throw .picture(.outOfMemory) }
        zbar_video_request_size(video, Self.wantedSize.width, Self.wantedSize.height)
        // Without a window, zbar negotiates the format that it converts to gray most efficiently.
        guard zbar_video_open(video, path) == 0, zbar_negotiate_format(video, nil) == 0,
            zbar_video_enable(video, 1) == 0
        else {
            let error = Self.error(of: video, path)
            zbar_video_destroy(video)
            throw error
        }
        self.video = video
        self.path = path
    }

    deinit {
        zbar_video_enable(video, 0)
        zbar_video_destroy(video)
    }

    /// Checks access to the device, because zbar reports the reason for a failure as text only.
    private static func checkAccess(_ path: String) throws(CameraError) {
        let descriptor = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        guard descriptor < 0 else {
            var status = stat()
            let isDevice = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFCHR
            close(descriptor)
            guard isDevice else { throw .unusable(path, reason: "it is not a device") }
            return
        }
        switch errno {
        case ENOENT, ENODEV, ENXIO, ENOTDIR: throw .noDevice(path)
        case EACCES, EPERM: throw .notPermitted(path)
        case EBUSY: throw .busy(path)
        case let code: throw .unusable(path, reason: String(cString: strerror(code)))
        }
    }

    private static func error(of video: OpaquePointer, _ path: String) -> CameraError {
        switch _zbar_get_error_code(UnsafeRawPointer(video)) {
        case ZBAR_ERR_NOMEM: .picture(.outOfMemory)
        case ZBAR_ERR_BUSY: .busy(path)
        case ZBAR_ERR_UNSUPPORTED: .unusable(path, reason: "zbar supports none of its picture formats")
        default: .unusable(path, reason: "zbar can't start it")
        }
    }

    /// Returns the next frame; `nil` if there was none for 100 milliseconds.
    package mutating func nextFrame() throws(CameraError) -> CameraFrame? {
        var descriptor = pollfd(fd: zbar_video_get_fd(video), events: Int16(POLLIN), revents: 0)
        guard descriptor.fd >= 0 else { throw .unusable(path, reason: "zbar can't wait for its pictures") }
        let ready = poll(&descriptor, 1, Self.pollInterval)
        if descriptor.revents & Int16(POLLERR | POLLHUP | POLLNVAL) != 0 { throw .stopped(path) }
        guard ready > 0 else {
            emptyWaits += 1
            guard emptyWaits < Self.maximumWaits else { throw .stopped(path) }
            return nil
        }
        emptyWaits = 0
        guard let frame = zbar_video_next_image(video) else { throw .stopped(path) }
        defer { zbar_image_destroy(frame) }
        do throws(PictureError) {
            guard let bytes = zbar_image_get_data(frame) else { throw .damaged("it has no pixels") }
            return try CameraFrame(
                format: UInt32(truncatingIfNeeded: zbar_image_get_format(frame)),
                width: Int(zbar_image_get_width(frame)),
                height: Int(zbar_image_get_height(frame)),
                bytes: UnsafeRawBufferPointer(start: bytes, count: Int(zbar_image_get_data_length(frame)))
            )
        } catch {
            throw .picture(error)
        }
    }
}
