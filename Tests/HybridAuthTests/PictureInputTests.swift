// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport
import Testing

@Suite("Scanning a picture", .timeLimit(.minutes(10)))
struct PictureInputTests {
    @Test("Reads the code, whatever the file's name")
    func read() async throws {
        try await ScanFixture.with { fixture in
            let path = try fixture.write("code.jpg", ScanFixture.picture([ScanFixture.code]))
            let ending = try await fixture.scan(["--image", path])
            #expect(ending.status == 69 && ending.lastLine.contains(ScanFixture.afterReading), "\(ending)")
            #expect(!ending.errors.contains("FIDO:/"), "the code is a secret")
        }
    }

    @Test("Finds the sign-in code among others, also if it appears twice")
    func among() async throws {
        try await ScanFixture.with { fixture in
            let path = try fixture.write(
                "a",
                ScanFixture.picture([ScanFixture.code, "HTTPS://EXAMPLE.COM/1", ScanFixture.code])
            )
            let ending = try await fixture.scan(["--image", path])
            #expect(ending.status == 69 && ending.lastLine.contains(ScanFixture.afterReading), "\(ending)")
        }
    }

    @Test("Reports pictures without a code, with another code or with several")
    func others() async throws {
        try await ScanFixture.with { fixture in
            let none = try await fixture.scan(["--image", fixture.write("none", ScanFixture.picture([]))])
            #expect(none.status == 65 && none.lastLine.contains("no QR code found"), "\(none)")
            let poster = try await fixture.scan([
                "--image", fixture.write("poster", ScanFixture.picture(["HTTPS://EXAMPLE.COM/1"])),
            ])
            #expect(poster.status == 65 && poster.lastLine.contains("not a sign-in code"), "\(poster)")
            let two = try await fixture.scan([
                "--image", fixture.write("two", ScanFixture.picture([ScanFixture.code, "FIDO:/123"])),
            ])
            #expect(two.status == 65 && two.lastLine.contains("2 different sign-in codes"), "\(two)")
            let damaged = try await fixture.scan([
                "--image", fixture.write("damaged", ScanFixture.picture(["FIDO:/12345"])),
            ])
            #expect(damaged.status == 65 && damaged.lastLine.contains("scan it again"), "\(damaged)")
            for ending in [none, poster, two, damaged] {
                #expect(ending.errors.split(separator: "\n").count == 1, "\(ending)")
            }
        }
    }

    @Test("Reports files that are missing or not pictures")
    func files() async throws {
        try await ScanFixture.with { fixture in
            let text = try await fixture.scan(["--image", fixture.write("a.png", Array("hello".utf8))])
            #expect(text.status == 65 && text.lastLine.contains("neither a PNG nor a JPEG"), "\(text)")
            let empty = try await fixture.scan(["--image", fixture.write("b.png", [])])
            #expect(empty.status == 65 && empty.lastLine.contains("the file is empty"), "\(empty)")
            let half = try await fixture.scan([
                "--image", fixture.write("c.png", Array(ScanFixture.picture([ScanFixture.code]).prefix(300))),
            ])
            #expect(half.status == 65 && half.lastLine.contains("damaged"), "\(half)")
            let missing = try await fixture.scan(["--image", fixture.folder + "/none.png"])
            #expect(missing.status == 66 && missing.lastLine.contains("no such file"), "\(missing)")
            let folder = try await fixture.scan(["--image", fixture.folder])
            #expect(folder.status == 66 && folder.lastLine.contains("not a regular file"), "\(folder)")
        }
    }

    @Test("Decodes pictures in a process that can't open files or connections")
    func confined() async throws {
        try await ScanFixture.with { fixture in
            try await fixture.checkConfinement(of: "--search-picture")
            let path = try fixture.write("code.png", ScanFixture.picture([ScanFixture.code]))
            let ending = try await fixture.scan(["--image", path])
            #expect(ending.status == 69 && ending.lastLine.contains(ScanFixture.afterReading), "\(ending)")
        }
    }

    @Test("Accepts exactly one source")
    func usage() async throws {
        try await ScanFixture.with { fixture in
            for arguments in [
                [], ["--screen", "-"], ["--image", "a", "--camera"], ["--url", "FIDO:/1", "--link", "FIDO:/1"],
                ["a.png"],
                ["--camera", "-"], ["--camera", "a", "b"], ["--from-link"], ["--from-link", "--url", "FIDO:/1"],
            ] {
                let ending = try await fixture.scan(arguments)
                #expect(ending.status == 64, "\(arguments): \(ending)")
            }
        }
    }

    @Test("Reports a missing camera at once")
    func noCamera() async throws {
        try await ScanFixture.with { fixture in
            let ending = try await fixture.scan(["--camera", "/dev/no-such-camera"])
            #expect(ending.status == 69 && ending.lastLine.contains("no camera at /dev/no-such-camera"), "\(ending)")
            #expect(ending.errors.split(separator: "\n").count == 1)
        }
    }

    @Test("Warns about an old code first")
    func old() async throws {
        try await ScanFixture.with { fixture in
            let ending = try await fixture.run(["scan", "--tunnel-domain", "266", "-"], input: ScanFixture.code + "\n")
            let lines = ending.errors.split(separator: "\n")
            #expect(lines.first?.contains("OLD CODE: it was made") == true, "\(ending)")
            #expect(ending.status == 69 && ending.lastLine.contains(ScanFixture.afterReading), "\(ending)")
        }
    }
}
