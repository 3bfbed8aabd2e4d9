// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridQRCode
import TestSupport
import Testing

/// zbarimg, an independent QR code reader (Debian: zbar-tools).
enum Reader {
    static let program = "/usr/bin/zbarimg"

    static var isInstalled: Bool { access(program, X_OK) == 0 }

    /// zbarimg has found no code.
    struct Failure: Error {}

    /// Returns the text that zbarimg reads from an image; the file extension determines the format.
    static func read(_ picture: [UInt8], ending: String) async throws -> String {
        let folder = try TestFolder()
        defer { try? folder.remove() }
        let (input, output) = ("\(folder.path)/code.\(ending)", "\(folder.path)/text")
        try Data(picture).write(to: URL(fileURLWithPath: input))
        let reading = try SpawnedProcess(
            [program, "--raw", "--quiet", input],
            environment: ProcessInfo.processInfo.environment,
            output: output
        )
        guard try await reading.end() == 0 else { throw Failure() }
        return TestFile.text(output).filter { $0 != "\n" }
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
