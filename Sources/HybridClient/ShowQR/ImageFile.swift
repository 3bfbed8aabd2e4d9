// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridQRCode

/// An image of the code that only its owner can read, for the duration of a ceremony.
final class ImageFile: Sendable {
    /// The format, given by the extension of the file's name.
    enum Format: String {
        case png
        case svg

        /// Creates the format of a file of this name; `nil` for another extension.
        init?(path: String) {
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
                "\(path) can't be written: \(String(cString: strerror(errno))); name a new file with --qr-output",
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
    /// One that a full disk truncates can't be scanned, which users notice at once.
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
