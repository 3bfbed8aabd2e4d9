// SPDX-License-Identifier: Apache-2.0

internal import CHybridXCB
internal import Glibc
internal import HybridQRScanning

/// The screen of an X server, captured repeatedly.
///
/// A browser shows the QR code of a sign-in in a separate window. Neither pages nor browser drivers can capture that
/// window, but a client of the X server can.
struct XDisplay: FrameSource, ~Copyable {
    private let connection: OpaquePointer
    private let name: String
    private let root: xcb_window_t
    private var last: [UInt8]

    /// The time between two captures, in microseconds.
    private static let captureInterval: UInt32 = 150_000

    /// Creates an instance that is connected to a display; `nil` means the display that `DISPLAY` names.
    init(name: String?) throws(CameraError) {
        let shownName = name ?? getenv("DISPLAY").map { String(cString: $0) } ?? "DISPLAY"
        var number: Int32 = 0
        guard let connection = xcb_connect(name, &number) else { throw Self.unreadable(shownName, "no memory") }
        guard xcb_connection_has_error(connection) == 0, let setup = xcb_get_setup(connection) else {
            xcb_disconnect(connection)
            throw Self.unreadable(shownName, "no X server answers there")
        }
        var screens = xcb_setup_roots_iterator(setup)
        for _ in 0..<max(0, number) where screens.rem > 1 { xcb_screen_next(&screens) }
        guard screens.rem > 0, let screen = screens.data else {
            xcb_disconnect(connection)
            throw Self.unreadable(shownName, "it has no such screen")
        }
        // After the last throw, because Swift 6.2 would destroy the properties twice.
        self.name = shownName
        root = screen.pointee.root
        self.connection = connection
        last = []
    }

    deinit { xcb_disconnect(connection) }

    private static func unreadable(_ name: String, _ reason: String) -> CameraError {
        CameraError("the display \(name) can't be read: \(reason)")
    }

    /// Returns the contents of the screen; `nil` if they have not changed since the last call.
    mutating func nextFrame() throws(CameraError) -> CameraFrame? {
        usleep(Self.captureInterval)
        guard let geometry = xcb_get_geometry_reply(connection, xcb_get_geometry(connection, root), nil) else {
            throw CameraError("the display \(name) is gone")
        }
        let (width, height) = (geometry.pointee.width, geometry.pointee.height)
        free(geometry)
        let format = UInt8(XCB_IMAGE_FORMAT_Z_PIXMAP.rawValue)
        let cookie = xcb_get_image(connection, format, root, 0, 0, width, height, .max)
        guard let image = xcb_get_image_reply(connection, cookie, nil) else {
            throw CameraError("the display \(name) is gone")
        }
        defer { free(image) }
        let count = Int(width) * Int(height)
        guard let data = xcb_get_image_data(image), Int(xcb_get_image_data_length(image)) == count * 4 else {
            throw Self.unreadable(name, "it does not have 32 bits per pixel; start it with a depth of 24")
        }
        let grey = Self.grey(data, count, isLittleEndian: xcb_get_setup(connection).pointee.image_byte_order == 0)
        guard grey != last else { return nil }
        last = grey
        do throws(PictureError) {
            return try grey.withUnsafeBytes { pixels in
                Result { () throws(PictureError) in
                    try CameraFrame(width: Int(width), height: Int(height), gray: pixels)
                }
            }.get()
        } catch {
            throw .picture(error)
        }
    }

    /// Returns the picture in grayscale, one byte per pixel.
    ///
    /// The input has four bytes per pixel: blue, green, red and padding, or padding, red, green and blue.
    private static func grey(_ data: UnsafePointer<UInt8>, _ count: Int, isLittleEndian: Bool) -> [UInt8] {
        let (red, blue) = isLittleEndian ? (2, 0) : (1, 3)
        let green = isLittleEndian ? 1 : 2
        return [UInt8](unsafeUninitializedCapacity: count) { pixels, filled in
            for index in 0..<count {
                let pixel = data + index * 4
                let light = Int(pixel[red]) * 77 + Int(pixel[green]) * 150 + Int(pixel[blue]) * 29
                pixels[index] = UInt8(light >> 8)
            }
            filled = count
        }
    }
}
