// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("Pictures of codes in files", .keepsEvidence, .serialized)
struct PictureOutputTests {
    private static let options = #"{"publicKey": {"rpId": "example.com", "challenge": "AAAAAAAAAAAAAAAAAAAAAA"}}"#

    @Test("are for their owner's eyes, hold the code and are gone at the end", arguments: ["png", "svg"])
    func picture(ending: String) async throws {
        try await Stage.set { stage in
            let path = "\(stage.folder)/code.\(ending)"
            let (client, code) = try await stage.startClient(
                Self.options,
                origin: "https://example.com",
                extra: ["--qr-output", path]
            )
            _ = try await client.line { $0.contains("the code in \(path)") }
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            let picture = try Data(contentsOf: URL(fileURLWithPath: path))
            if ending == "png" {
                let reader = try RunningProgram(
                    "/usr/bin/zbarimg",
                    ["--quiet", "--raw", path],
                    in: stage.folder,
                    environment: stage.environment()
                )
                #expect(try await reader.ending().output == code + "\n")
            } else {
                #expect(String(decoding: picture, as: UTF8.self).hasSuffix("</svg>\n"))
            }
            client.send(SIGINT)
            let end = try await client.ending()
            #expect(end.status == 130 && end.output == "", "\(end)")
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test("take no other's place, and their names say what they are")
    func refused() async throws {
        try await Stage.set { stage in
            let path = "\(stage.folder)/mine.png"
            try Data("mine".utf8).write(to: URL(fileURLWithPath: path))
            for (path, status, words) in [
                (path, Int32(74), "name a new file with --qr-output"), ("\(stage.folder)/code.jpg", 64, ".png or .svg"),
                ("\(stage.folder)/png", 64, ".png or .svg"),
            ] {
                let client = try RunningProgram(
                    "hybrid-client",
                    ["show-qr", "--request", "-", "--origin", "https://example.com", "--qr-output", path],
                    in: stage.folder,
                    environment: stage.environment(),
                    input: Self.options
                )
                let end = try await client.ending()
                #expect(end.status == status && end.errors.contains(words), "\(end)")
            }
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data("mine".utf8))
        }
    }
}
