// SPDX-License-Identifier: Apache-2.0

private import CHybridZBar
private import Glibc

/// A camera, read through zbar's own Video4Linux layer, which knows the pixel formats of most of them.
public struct Camera: FrameSource, ~Copyable {
    /// The device that is taken where none is named.
    public static let usualDevice = "/dev/video0"

    /// A size that every camera has, and in which a code held before it has several pixels to a module.
    private static let wantedSize: (width: UInt32, height: UInt32) = (1280, 720)
    /// How long a wait for a frame may be, in milliseconds.
    private static let moment: Int32 = 100
    /// After so many moments without a frame the camera counts as gone: slow ones need a second or two to begin.
    private static let patience = 100
    /// zbar's Y800: a byte of grey to a pixel.
    private static let grey = CodeReader.grey

    private let path: String
    private let video: OpaquePointer
    private var emptyMoments = 0

    /// Opens a camera and starts it.
    ///
    /// - Parameter path: The device, such as `/dev/video0`.
    public init(path: String = Camera.usualDevice) throws(CameraError) {
        video = try Self.opened(path)
        self.path = path
    }

    private static func opened(_ path: String) throws(CameraError) -> OpaquePointer {
        try checkAccess(path)
        guard let video = zbar_video_create() else { throw .picture(.outOfMemory) }
        zbar_video_request_size(video, wantedSize.width, wantedSize.height)
        // Without a window to show frames in, zbar takes the format that it converts to grey with the least work.
        guard zbar_video_open(video, path) == 0, zbar_negotiate_format(video, nil) == 0,
            zbar_video_enable(video, 1) == 0
        else {
            let error = error(of: video, path)
            zbar_video_destroy(video)
            throw error
        }
        return video
    }

    deinit {
        zbar_video_enable(video, 0)
        zbar_video_destroy(video)
    }

    /// zbar says why a device can't be opened in words only; these causes are told apart first.
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
        case ZBAR_ERR_UNSUPPORTED: .unusable(path, reason: "zbar knows none of its picture formats")
        default: .unusable(path, reason: "zbar can't start it")
        }
    }

    /// The next frame in grey.
    public mutating func nextFrame() throws(CameraError) -> GreyPicture? {
        var descriptor = pollfd(fd: zbar_video_get_fd(video), events: Int16(POLLIN), revents: 0)
        guard descriptor.fd >= 0 else { throw .unusable(path, reason: "zbar can't wait for its pictures") }
        let ready = poll(&descriptor, 1, Self.moment)
        if descriptor.revents & Int16(POLLERR | POLLHUP | POLLNVAL) != 0 { throw .stopped(path) }
        guard ready > 0 else {
            emptyMoments += 1
            guard emptyMoments < Self.patience else { throw .stopped(path) }
            return nil
        }
        emptyMoments = 0
        guard let frame = zbar_video_next_image(video) else { throw .stopped(path) }
        defer { zbar_image_destroy(frame) }
        guard let image = zbar_image_convert(frame, Self.grey) else {
            throw .unusable(path, reason: "zbar can't read its picture format")
        }
        defer { zbar_image_destroy(image) }
        let (width, height) = (Int(zbar_image_get_width(image)), Int(zbar_image_get_height(image)))
        do throws(PictureError) {
            try GreyPicture.checkSize(width, height)
            guard let pixels = zbar_image_get_data(image), zbar_image_get_data_length(image) >= UInt(width * height)
            else { throw .damaged("it has no pixels") }
            return try GreyPicture(
                width: width,
                height: height,
                pixels: UnsafeRawBufferPointer(start: pixels, count: width * height)
            )
        } catch {
            throw .picture(error)
        }
    }
}
