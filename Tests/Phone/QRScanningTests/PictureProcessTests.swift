// SPDX-License-Identifier: Apache-2.0

import Glibc
import HybridPrimitives
import TestSupport
import Testing

@testable import HybridQRScanning

/// The process's own side is tested with `hybrid-auth`; here, scripts take its place.
@Suite("The process that decodes pictures", .timeLimit(.minutes(2)))
struct PictureProcessTests {
    /// Runs a search with a shell script as the program.
    private static func search(
        _ script: String,
        _ picture: [UInt8] = PNG.signature,
        limit: Duration = .seconds(60)
    ) async throws -> Result<CodeSearch.Finding, CodeSearch.Failure> {
        try await TestFolder.with { folder in
            let program = folder.path + "/decoder"
            try await TestFile.writeProgram("#!/bin/sh\n\(script)\n", to: program)
            do throws(CodeSearch.Failure) {
                return .success(
                    try await CodeSearch.codes(
                        inPicture: picture,
                        beginningWith: "FIDO:/",
                        limit: limit,
                        program: program
                    )
                )
            } catch {
                return .failure(error)
            }
        }
    }

    private static func failure(_ script: String) async throws -> PictureError? {
        guard case .failure(.picture(let error)) = try await search(script) else { return nil }
        return error
    }

    @Test("a process that crashes or answers nonsense makes a damaged picture")
    func broken() async throws {
        for script in [
            "exit 1", "kill -SEGV $$", "cat >/dev/null; exit 0", "cat >/dev/null; printf '\\0'",
            "head -c 100000 /dev/zero",
            "printf '\\0\\4'", "printf '\\1\\3'", "printf '\\0\\0\\0'", "printf '\\0\\0\\0\\5abc'", "printf '\\2\\0'",
        ] {
            #expect(try await Self.failure(script) == .decoderFailed, "\(script)")
        }
    }

    @Test("a result and a failure arrive; control characters of a hostile one do not")
    func replies() async throws {
        let found = try await Self.search("cat >/dev/null; printf '\\0\\1\\0\\7FIDO:/1'").get()
        #expect(found.texts == ["FIDO:/1"] && found.showsOthers)
        let error = try await Self.failure("cat >/dev/null; printf '\\1\\0a\\033[31m\\nb'")
        #expect(error?.sentence == "a[31mb")
        let temporary = try await Self.failure("cat >/dev/null; printf '\\1\\1wait'")
        #expect(temporary == PictureError(reported: Array("wait".utf8), .temporary))
    }

    @Test("the program receives the beginning of wanted codes and the picture")
    func request() async throws {
        let picture = PNG.signature + [UInt8](repeating: 7, count: 3_000_000)
        let script = "[ $(wc -c) = \(7 + picture.count) ] && printf '\\0\\0\\0\\1x'"
        #expect(try await Self.search(script, picture).get().texts == ["x"])
    }

    @Test("a process that takes too long, or whose search is canceled, is killed")
    func bounded() async throws {
        let result = try await Self.search("exec sleep 600", limit: .zero)
        guard case .failure(.timedOut) = result else {
            Issue.record("\(result)")
            return
        }
        try await TestFolder.with { folder in
            let file = folder.path + "/process"
            let task = Task { try await Self.search("echo $$ >\(file).new; mv \(file).new \(file); exec sleep 600") }
            try await Waiting.until("the process") { !TestFile.text(file).isEmpty }
            task.cancel()
            guard case .failure(.cancelled) = try await task.value else {
                Issue.record("not canceled")
                return
            }
            let process = try #require(Int32(TestFile.text(file).dropLast()))
            try await Waiting.until("the end of the process") { kill(process, 0) != 0 }
        }
    }

    @Test("a file that is no picture starts no process, and a missing program is reported")
    func noProcess() async throws {
        await #expect(throws: CodeSearch.Failure.picture(.unknownFormat)) {
            try await CodeSearch.codes(inPicture: [1], beginningWith: "", limit: .seconds(1), program: "/none")
        }
        let error = await #expect(throws: CodeSearch.Failure.self) {
            try await CodeSearch.codes(
                inPicture: PNG.signature,
                beginningWith: "",
                limit: .seconds(9),
                program: "/none"
            )
        }
        #expect(error == .picture(.noProcess("No such file or directory")))
    }

    @Test("results survive the round trip")
    func roundTrip() throws {
        let texts = ["", "FIDO:/1", String(repeating: "x", count: 2953)].map { text in
            Array(text.utf8).withUnsafeBytes { ScannedText($0) }
        }
        let finding = CodeSearch.Finding(wanted: texts, showsOthers: true)
        let bytes = PictureReply.bytes(.success(finding))
        let result = try #require(bytes.withUnsafeBytes { PictureReply.result($0) }).get()
        #expect(result.texts == finding.texts && result.showsOthers)
        for length in 1..<bytes.count {
            let cut = bytes.prefix(length).withUnsafeBytes { PictureReply.result($0) }
            if case .success(let finding)? = cut { #expect(finding.wanted.count < texts.count) }
        }
        for error in [
            PictureError.outOfMemory, .tooLarge(width: 3, height: 4), .damaged("x"), .unsupportedColors,
            .unsupportedFormat,
        ] {
            let bytes = PictureReply.bytes(.failure(error))
            let result = try #require(bytes.withUnsafeBytes { PictureReply.result($0) })
            #expect(throws: error) { try result.get() }
        }
    }

    @Test("pictures for the viewfinder survive the round trip, and malformed ones are refused")
    func previews() throws {
        let picture = try ViewfinderPicture(width: 3, height: 2) { target in
            for index in target.indices { target[index] = UInt8(index) }
        }
        let bytes = PreviewReply.bytes(.success(picture))
        let result = try #require(bytes.withUnsafeBytes { PreviewReply.result($0) }).get()
        #expect(result.width == 3 && result.height == 2)
        #expect(result.withPixels { Array($0) } == (0..<18).map { UInt8($0) })
        for length in bytes.indices {
            #expect(bytes.prefix(length).withUnsafeBytes { PreviewReply.result($0) == nil }, "\(length)")
        }
        #expect((bytes + [0]).withUnsafeBytes { PreviewReply.result($0) == nil })
        #expect(([0, 0, 0, 0, 5] + [UInt8](repeating: 0, count: 9)).withUnsafeBytes { PreviewReply.result($0) == nil })
        let failure = PreviewReply.bytes(.failure(.notConfined))
        let error = try #require(failure.withUnsafeBytes { PreviewReply.result($0) })
        #expect(throws: PictureError.notConfined) { try error.get() }
    }

    @Test("a JPEG frame of a camera must have the agreed size")
    func jpegFrames() throws {
        let jpeg = try Canvas(width: 64, height: 40).colorJPEG(quality: 90)
        func frame(_ width: Int, _ height: Int) throws -> CameraFrame {
            try jpeg.withUnsafeBytes {
                try CameraFrame(format: CameraFrame.jpegFormat, width: width, height: height, bytes: $0)
            }
        }
        #expect(try frame(64, 40).grayPicture().width == 64)
        let picture = try frame(64, 40).preview(widthUpTo: 32)
        #expect(picture.width == 32 && picture.height == 20)
        for (width, height) in [(64, 41), (40, 64), (640, 400)] {
            #expect(throws: PictureError.self) { try frame(width, height).grayPicture() }
            #expect(throws: PictureError.self) { try frame(width, height).preview(widthUpTo: 32) }
        }
    }
}
