// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridQRScanning
internal import HybridThreads

/// The source of the QR codes that the lab's phone reads.
enum CodeSource: Sendable {
    /// A text on the command line.
    case text(String)
    /// Standard input, with one code per line.
    case standardInput
    /// A PNG or JPEG picture.
    case image(path: String)
    /// The screen of an X server; `nil` means the server that `DISPLAY` names.
    case screen(display: String?)
}

/// A reader that returns one QR code after the other, and each code on the screen only once.
final class CodeReader: Sendable {
    private let source: CodeSource
    private let read = Locked<[ScannedText]>([])

    private static let pictureTimeout = Duration.seconds(60)

    init(_ source: CodeSource) { self.source = source }

    /// Reads the next code.
    ///
    /// - Parameter timeout: The time limit for finding a code on the screen.
    /// - Throws: ``CommandFailure``, `CancellationError`.
    func next(timeout: Duration) async throws -> QROffer {
        switch source {
        case .text(let text): return try Self.offer(text)
        case .standardInput: return try Self.nextLine()
        case .image(let path): return try await Self.image(path)
        case .screen(let display): return try await screen(display, timeout)
        }
    }

    private func screen(_ display: String?, _ timeout: Duration) async throws -> QROffer {
        guard display != nil || !(ProcessEnvironment.variables["DISPLAY"] ?? "").isEmpty else {
            throw CommandFailure("DISPLAY is not set; use --display or xvfb-run", status: .unavailable)
        }
        let code: ScannedText
        do throws(CameraCodeScanner.Failure) {
            code = try await CameraCodeScanner.firstCode(
                from: { () throws(CameraError) in try XDisplay(name: display) },
                limit: timeout,
                beginningWith: Self.signInStart,
                where: { [read] code in !read.withLock { $0.contains { $0.matches(code) } } },
                hint: { _ in }
            )
        } catch {
            switch error {
            case .camera(let error): throw CommandFailure(error)
            case .timedOut:
                let sentence =
                    "no sign-in code was on the screen in time; check that the page has asked for a passkey, and that the "
                    + "browser shows the whole code"
                throw CommandFailure(sentence, code: "no-code", status: .temporary)
            case .cancelled: throw CancellationError()
            }
        }
        // The code remains on the screen for a while and must not be answered again.
        read.withLock { $0 = ($0 + [code]).suffix(64) }
        return try Self.offer(code)
    }

    private static func image(_ path: String) async throws -> QROffer {
        let bytes: [UInt8]
        do throws(FileReadError) {
            bytes = try readWholeFile(path, atMost: GrayPicture.maximumFileBytes)
        } catch {
            throw CommandFailure("\(path): \(error.sentence)", status: .noInput)
        }
        let finding: CodeSearch.Finding
        do throws(CodeSearch.Failure) {
            finding = try await CodeSearch.codes(
                inPicture: bytes,
                beginningWith: signInStart,
                limit: pictureTimeout
            )
        } catch {
            switch error {
            case .picture(let error): throw CommandFailure("\(path): \(error.sentence)", status: .dataError)
            case .timedOut: throw CommandFailure("\(path): the search took too long", status: .dataError)
            case .cancelled: throw CancellationError()
            }
        }
        guard finding.wanted.count == 1, let code = finding.wanted.first else {
            let found =
                finding.wanted.isEmpty
                ? "there is no sign-in code"
                : "there are \(finding.wanted.count) sign-in codes"
            throw CommandFailure("\(path): \(found) in it; one is needed", status: .dataError)
        }
        return try offer(code)
    }

    /// Reads the code on the next line of standard input.
    private static func nextLine() throws -> QROffer {
        guard let line = StandardInput.textLine(atMost: Limits.qrTextCharacters + 4) else {
            throw CommandFailure("no text of a code on standard input", status: .dataError)
        }
        return try offer(String(decoding: line, as: UTF8.self))
    }

    private static func offer(_ code: ScannedText) throws -> QROffer {
        try code.withBytes { try offer(String(decoding: $0, as: UTF8.self)) }
    }

    private static func offer(_ text: String) throws -> QROffer {
        do throws(QROffer.ParseError) {
            return try QROffer(line: text)
        } catch {
            throw CommandFailure(error)
        }
    }

    /// The beginning of sign-in codes.
    private static let signInStart = "FIDO:/"
}
