// SPDX-License-Identifier: Apache-2.0

internal import CaBLE
internal import Glibc
internal import ServiceSupport

/// Where the text of the QR comes from.
enum ScanInput {
    /// One line of standard input, read no further than any code is long.
    static func standardInput() throws -> QROffer {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while line.count <= Limits.qrTextCharacters {
            let count = read(STDIN_FILENO, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1, byte != UInt8(ascii: "\n") else { break }
            line.append(byte)
        }
        guard !line.isEmpty else {
            throw CommandFailure(
                "no text on standard input; give the text of the QR code, which begins with FIDO:/",
                status: .dataError
            )
        }
        return try offer(String(decoding: line, as: UTF8.self))
    }

    /// Reads the text of a code; spaces around it don't matter.
    static func offer(_ text: String) throws -> QROffer {
        let trimmed = text.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" && $0 != "\r" }
        do {
            return try QROffer(parsing: trimmed)
        } catch {
            throw CommandFailure(sentence(for: error), status: .dataError)
        }
    }

    private static func sentence(for error: QROffer.ParseError) -> String {
        switch error {
        case .notFIDO: "this is not a sign-in code: its text does not begin with FIDO:/"
        case .damaged: "the code is damaged or incomplete; scan it again"
        case .malformed(let what):
            "the code is not one this program can use (\(what)); scan it again, or reload the page"
        }
    }
}

/// The arguments as other users see them in the process list.
enum ProcessArguments {
    /// Overwrites every argument that carries this text.
    static func wipe(_ secret: String) {
        let secret = Array(secret.utf8)
        let arguments = CommandLine.unsafeArgv
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let argument = arguments[index] else { continue }
            let length = strlen(argument)
            let bytes = UnsafeRawBufferPointer(start: argument, count: length)
            // `--url TEXT` and `--url=TEXT` both end with the text.
            if length >= secret.count, bytes.suffix(secret.count).elementsEqual(secret) {
                explicit_bzero(argument + (length - secret.count), secret.count)
            }
        }
    }
}
