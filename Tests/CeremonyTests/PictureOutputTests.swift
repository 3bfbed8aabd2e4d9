// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("QR codes in picture files", .keepsEvidence, .serialized)
struct PictureOutputTests {
    private static let options = #"{"publicKey": {"rpId": "example.com", "challenge": "AAAAAAAAAAAAAAAAAAAAAA"}}"#

    @Test("contain the code, are readable by their owner only, and are removed at the end", arguments: ["png", "svg"])
    func picture(type: String) async throws {
        try await CeremonyEnvironment.run { environment in
            let path = "\(environment.folder)/code.\(type)"
            let (client, code) = try await environment.startClient(
                Self.options,

                extra: ["--qr-output", path]
            )
            _ = try await client.line { $0.contains("the code in \(path)") }
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            if type == "png" {
                let reader = try environment.start("/usr/bin/zbarimg", ["--quiet", "--raw", path])
                #expect(try await reader.ending().output == code + "\n")
            } else {
                #expect(TestFile.text(path).hasSuffix("</svg>\n"))
            }
            client.send(SIGINT)
            let end = try await client.ending()
            #expect(end.status == 130 && end.output == "", "\(end)")
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test("do not overwrite files, and need a known extension")
    func refused() async throws {
        try await CeremonyEnvironment.run { environment in
            let path = "\(environment.folder)/mine.png"
            try TestFile.write("mine", to: path)
            for (path, status, words) in [
                (path, Int32(74), "give the name of a new file with --qr-output"),
                ("\(environment.folder)/code.jpg", 64, ".png or .svg"),
                ("\(environment.folder)/png", 64, ".png or .svg"),
            ] {
                let end = try await environment.showQR(Self.options, extra: ["--qr-output", path]).ending()
                #expect(end.status == status && end.errors.contains(words), "\(end)")
            }
            #expect(TestFile.text(path) == "mine")
        }
    }
}
