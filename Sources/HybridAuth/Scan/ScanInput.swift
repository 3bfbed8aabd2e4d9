// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridDesktopPortal
internal import HybridPrimitives
internal import HybridProgram
internal import HybridQRScanning

/// A source of the text of a QR code.
enum ScanInput: Sendable {
    /// Text on the command line.
    case text(String)
    /// One line of standard input.
    case standardInput
    /// A PNG or JPEG file.
    case image(path: String)
    /// A camera, by its name or the path of its device; the best one if `nil`.
    case camera(name: String?, timeout: Duration)
    /// The screen, through the desktop's portal.
    case screen

    /// Time limit for the search in a picture.
    private static let pictureTimeout = Duration.seconds(60)
    /// Time limit for the user to allow a screenshot.
    private static let portalTimeout = Duration.seconds(120)

    /// True if reading may take long, so that signals must be handled meanwhile.
    ///
    /// Reading from standard input blocks, and signals keep their default effect.
    var isSlow: Bool {
        switch self {
        case .text, .standardInput: false
        case .image, .camera, .screen: true
        }
    }

    /// Reads a code of a kind and reports progress.
    ///
    /// - Throws: ``CommandFailure``; `CancellationError` if the task is canceled.
    func code<Code>(_ kind: ScannedCodeKind<Code>, _ progress: AnswerProgress) async throws -> Code {
        switch self {
        case .text(let text): try kind.parse(text)
        case .standardInput: try Self.standardInput(kind)
        case .image(let path): try await Self.image(path, named: path, kind)
        case .camera(let name, let timeout): try await Self.camera(name, timeout, kind, progress)
        case .screen: try await Self.screen(kind, progress)
        }
    }
}

// MARK: - Text

extension ScanInput {
    /// Reads one line of standard input, up to the maximum length of a code.
    private static func standardInput<Code>(_ kind: ScannedCodeKind<Code>) throws -> Code {
        guard let line = StandardInput.textLine(atMost: Limits.qrTextCharacters + 4) else {
            throw CommandFailure(
                "no text on standard input; give the text of the QR code, which begins with \(kind.start)",
                status: .dataError
            )
        }
        return try kind.parse(String(decoding: line, as: UTF8.self))
    }
}

// MARK: - Pictures

extension ScanInput {
    private static func image<Code>(
        _ path: String,
        named name: String,
        _ kind: ScannedCodeKind<Code>
    ) async throws -> Code {
        let bytes: [UInt8]
        do throws(FileReadError) {
            bytes = try readWholeFile(path, atMost: GrayPicture.maximumFileBytes)
        } catch {
            throw CommandFailure("\(name): \(error.sentence)", status: error == .tooLarge ? .dataError : .noInput)
        }
        let finding: CodeSearch.Finding
        do throws(CodeSearch.Failure) {
            finding = try await CodeSearch.codes(
                inPicture: bytes,
                beginningWith: kind.start,
                limit: pictureTimeout
            )
        } catch {
            switch error {
            case .picture(let error): throw CommandFailure("\(name): \(error.sentence)", status: error.status)
            case .timedOut:
                throw CommandFailure("\(name): the search took too long; crop it around the code", status: .dataError)
            case .cancelled: throw CancellationError()
            }
        }
        return try only(finding, name, kind)
    }

    /// Returns the only code of a kind in a picture.
    private static func only<Code>(
        _ finding: CodeSearch.Finding,
        _ name: String,
        _ kind: ScannedCodeKind<Code>
    ) throws -> Code {
        guard let code = finding.wanted.first else {
            throw CommandFailure(
                finding.showsOthers
                    ? "\(name): its QR code is not a \(kind.name), whose text begins with \(kind.start)"
                    : "\(name): no QR code found; use a sharper, larger picture that includes the white margin",
                status: .dataError
            )
        }
        guard finding.wanted.count == 1 else {
            throw CommandFailure(
                "\(name): there are \(finding.wanted.count) different \(kind.name)s; crop it so that only one is left",
                status: .dataError
            )
        }
        return try kind.parse(code)
    }

    private static func screen<Code>(
        _ kind: ScannedCodeKind<Code>,
        _ progress: AnswerProgress
    ) async throws -> Code {
        let environment = ProcessEnvironment.variables
        let file: ScreenshotFile
        do throws(PortalError) {
            guard let bus = SessionBus.address(environment) else { throw .noSessionBus }
            // The portal refuses callers that it cannot inspect. There is no secret yet.
            file = try await ProcessMemory.whileInspectable { () throws(PortalError) in
                try await ScreenshotPortal.take(on: bus, within: portalTimeout)
            }
        } catch {
            switch error {
            case .interrupted: throw CancellationError()
            case .declined: throw CommandFailure(error.sentence, status: .notPermitted)
            case .timedOut: throw CommandFailure(error.sentence, status: .temporary)
            default: throw CommandFailure(error.sentence, status: .unavailable)
            }
        }
        // The file shows the whole desktop, and the code is secret.
        defer {
            if !file.removeIfTemporary(environment), access(file.path, F_OK) == 0 {
                progress.notify("screenshot-kept", "the desktop keeps the screenshot as \(file.path)")
            }
        }
        return try await image(file.path, named: "the screenshot", kind)
    }
}

// MARK: - Camera

extension ScanInput {
    private static func camera<Code>(
        _ name: String?,
        _ timeout: Duration,
        _ kind: ScannedCodeKind<Code>,
        _ progress: AnswerProgress
    ) async throws -> Code {
        if await camerasAreOff { throw CameraError.turnedOff }
        let code: ScannedText
        do throws(CameraCodeScanner.Failure) {
            code = try await CameraCodeScanner.firstCode(
                from: { () throws(CameraError) in try ScanCamera(named: name) },
                limit: timeout,
                beginningWith: kind.start,
                hint: { progress.notify("camera", $0.sentence) }
            )
        } catch {
            switch error {
            case .camera(let error): throw error
            case .timedOut:
                throw CommandFailure(
                    "the camera saw no \(kind.name) in time; try again with more light",
                    status: .temporary
                )
            case .cancelled: throw CancellationError()
            }
        }
        return try kind.parse(code)
    }

    /// True if the user has turned off cameras in the settings of the desktop.
    static var camerasAreOff: Bool {
        get async {
            guard let bus = SessionBus.address(ProcessEnvironment.variables) else { return false }
            // The portal refuses callers that it cannot inspect. There is no secret yet.
            return await ProcessMemory.whileInspectable {
                await DesktopPrivacy.hasTurnedOffCameras(on: bus, within: .seconds(5))
            }
        }
    }
}
