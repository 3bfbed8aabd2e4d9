// SPDX-License-Identifier: Apache-2.0

internal import CaBLE
internal import Glibc
internal import ServiceSupport

/// Where the text of the QR comes from.
enum ScanInput {
    /// The text given as an argument; it is wiped from the process list.
    static func argument(_ url: String) throws -> QROffer {
        ProcessArguments.wipe(url)
        return try offer(url)
    }

    /// One line of standard input.
    static func standardInput() throws -> QROffer {
        guard let line = readLine(strippingNewline: true) else {
            throw CommandFailure(
                "no text on standard input; give the text of the QR code, which begins with FIDO:/",
                status: .dataError
            )
        }
        return try offer(line)
    }

    private static func offer(_ text: String) throws -> QROffer {
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
