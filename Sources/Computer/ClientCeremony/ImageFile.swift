// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridQRCode

/// A file with an image of the QR code, which only its owner can read and which exists only during a ceremony.
package final class ImageFile: Sendable {
    /// The format, which the file name extension determines.
    package enum Format: String {
        case png
        case svg

        /// Creates the format for a path; `nil` if it does not end with `.png` or `.svg`.
        package init?(path: String) {
            guard path.utf8.suffix(4).first == UInt8(ascii: ".") else { return nil }
            self.init(rawValue: String(path.suffix(3)))
        }
    }

    let path: String
    private let format: Format
    private let descriptor: Int32

    /// Creates the file.
    ///
    /// Symbolic links and existing files are rejected, because the file is removed at the end.
    init(_ path: String) throws {
        guard let format = Format(path: path) else {
            throw CommandFailure("\(path) must end in .png or .svg, which selects the format", status: .usage)
        }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw CommandFailure(
                "\(path) can't be written: \(String(cString: strerror(errno))); give the name of a new file with "
                    + "--qr-output",
                status: .ioError
            )
        }
        self.path = path
        self.format = format
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// Writes the image.
    ///
    /// Write errors are ignored: an incomplete image can't be scanned, so the user notices.
    ///
    /// - Throws: ``QRCodeError``.
    func write(_ code: QRMatrix) throws(QRCodeError) {
        var rest: ArraySlice<UInt8>
        switch format {
        case .png: rest = try code.png()[...]
        case .svg: rest = Array(code.svg().utf8)[...]
        }
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// Removes the file.
    func remove() { unlink(path) }
}
