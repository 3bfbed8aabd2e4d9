// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridQRCode
import TestSupport
import Testing

/// zbarimg, an independent QR code reader (Debian: zbar-tools).
enum Reader {
    static let program = "/usr/bin/zbarimg"

    static var isInstalled: Bool { access(program, X_OK) == 0 }

    struct Failure: Error {
        let step: String
    }

    /// Returns the text that zbarimg reads from an image; the file extension determines the format.
    static func read(_ picture: [UInt8], ending: String) async throws -> String {
        var template = Array("/tmp/qrcode-tests-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Failure(step: "mkdtemp") }
        let folder = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        let (input, output) = ("\(folder)/code.\(ending)", "\(folder)/text")
        defer {
            unlink(input)
            unlink(output)
            rmdir(folder)
        }
        guard let file = fopen(input, "wb") else { throw Failure(step: "fopen") }
        let written = fwrite(picture, 1, picture.count, file)
        guard fclose(file) == 0, written == picture.count else { throw Failure(step: "fwrite") }
        let reading = try SpawnedProcess(
            [program, "--raw", "--quiet", input],
            environment: ProcessInfo.processInfo.environment,
            output: output
        )
        guard try await reading.end() == 0 else { throw Failure(step: "zbarimg") }
        return try text(of: output)
    }

    private static func text(of path: String) throws -> String {
        guard let file = fopen(path, "rb") else { throw Failure(step: "fopen") }
        defer { fclose(file) }
        var buffer = [UInt8](repeating: 0, count: 8192)
        let count = fread(&buffer, 1, buffer.count, file)
        return String(decoding: buffer.prefix(count).filter { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }
}

extension QRMatrix {
    /// Returns a grayscale image with four pixels per module and a border of 4 modules.
    var pgm: [UInt8] {
        let side = (size + 8) * 4
        var picture = Array("P5\n\(side) \(side)\n255\n".utf8)
        for y in 0..<side {
            for x in 0..<side { picture.append(isDark(column: x / 4 - 4, row: y / 4 - 4) ? 0 : 255) }
        }
        return picture
    }
}
