// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("A scan of a picture", .timeLimit(.minutes(10)))
struct PictureInputTests {
    @Test("reads its code, whatever the file is called")
    func read() async throws {
        try await Desk.with { desk in
            let path = try desk.write("code.jpg", Desk.picture([Desk.code]))
            let ending = try await desk.scan(["--image", path])
            #expect(ending.status == 69 && ending.lastLine.contains(Desk.afterReading), "\(ending)")
            #expect(!ending.errors.contains("FIDO:/"), "the code is a secret")
        }
    }

    @Test("takes the sign-in code among others, and the same one twice")
    func among() async throws {
        try await Desk.with { desk in
            let path = try desk.write("a", Desk.picture([Desk.code, "HTTPS://EXAMPLE.COM/1", Desk.code]))
            let ending = try await desk.scan(["--image", path])
            #expect(ending.status == 69 && ending.lastLine.contains(Desk.afterReading), "\(ending)")
        }
    }

    @Test("that shows none, another or several says so")
    func others() async throws {
        try await Desk.with { desk in
            let none = try await desk.scan(["--image", desk.write("none", Desk.picture([]))])
            #expect(none.status == 65 && none.lastLine.contains("no QR code was found"), "\(none)")
            let poster = try await desk.scan(["--image", desk.write("poster", Desk.picture(["HTTPS://EXAMPLE.COM/1"]))])
            #expect(poster.status == 65 && poster.lastLine.contains("not a sign-in code"), "\(poster)")
            let two = try await desk.scan(["--image", desk.write("two", Desk.picture([Desk.code, "FIDO:/123"]))])
            #expect(two.status == 65 && two.lastLine.contains("2 different sign-in codes"), "\(two)")
            let damaged = try await desk.scan(["--image", desk.write("damaged", Desk.picture(["FIDO:/12345"]))])
            #expect(damaged.status == 65 && damaged.lastLine.contains("scan it again"), "\(damaged)")
            for ending in [none, poster, two, damaged] {
                #expect(ending.errors.split(separator: "\n").count == 1, "\(ending)")
            }
        }
    }

    @Test("that is no picture, or not there, says so")
    func files() async throws {
        try await Desk.with { desk in
            let text = try await desk.scan(["--image", desk.write("a.png", Array("hello".utf8))])
            #expect(text.status == 65 && text.lastLine.contains("neither a PNG nor a JPEG"), "\(text)")
            let empty = try await desk.scan(["--image", desk.write("b.png", [])])
            #expect(empty.status == 65 && empty.lastLine.contains("the file is empty"), "\(empty)")
            let half = try await desk.scan([
                "--image", desk.write("c.png", Array(Desk.picture([Desk.code]).prefix(300))),
            ])
            #expect(half.status == 65 && half.lastLine.contains("damaged"), "\(half)")
            let missing = try await desk.scan(["--image", desk.folder + "/none.png"])
            #expect(missing.status == 66 && missing.lastLine.contains("no such file"), "\(missing)")
            let folder = try await desk.scan(["--image", desk.folder])
            #expect(folder.status == 66 && folder.lastLine.contains("not a regular file"), "\(folder)")
        }
    }

    @Test("or of anything else is one way at a time")
    func usage() async throws {
        try await Desk.with { desk in
            for arguments in [
                [], ["--screen", "-"], ["--image", "a", "--camera"], ["--url", "FIDO:/1", "--link", "FIDO:/1"],
                ["a.png"],
                ["--camera", "video0"], ["--camera", "-"],
            ] {
                let ending = try await desk.scan(arguments)
                #expect(ending.status == 64, "\(arguments): \(ending)")
            }
        }
    }

    @Test("with a camera that is not there ends at once")
    func noCamera() async throws {
        try await Desk.with { desk in
            let ending = try await desk.scan(["--camera", "/dev/no-such-camera"])
            #expect(ending.status == 69 && ending.lastLine.contains("no camera at /dev/no-such-camera"), "\(ending)")
            #expect(ending.errors.split(separator: "\n").count == 1)
        }
    }

    @Test("that is old says how old, before anything else")
    func old() async throws {
        try await Desk.with { desk in
            let ending = try await desk.run(["scan", "--tunnel-domain", "266", "-"], input: Desk.code + "\n")
            let lines = ending.errors.split(separator: "\n")
            #expect(lines.first?.contains("OLD CODE: it was made") == true, "\(ending)")
            #expect(ending.status == 69 && ending.lastLine.contains(Desk.afterReading), "\(ending)")
        }
    }
}
