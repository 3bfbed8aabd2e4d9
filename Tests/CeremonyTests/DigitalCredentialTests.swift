// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridCaBLE
import TestSupport
import Testing

/// `hybrid-client present` with the lab's phone.
@Suite("Digital credentials", .serialized)
struct DigitalCredentialTests {
    private static let request =
        #"{"digital":{"requests":[{"protocol":"openid4vp-v1-unsigned","data":{"nonce":"n"}}]}}"#

    /// Requests a credential and returns the results of both programs.
    private static func present(
        _ lab: LabProcess,
        _ script: String,
        _ options: [String] = []
    ) async throws -> LabProcess.Result {
        let variables = try lab.variables()
        let client = try RunningProgram(
            "hybrid-client",
            [
                "present", "--request", "-", "--origin", "https://shop.example", "--print-url", "--timeout", "60",
                "--cacert", variables["HYBRID_LAB_CACERT"] ?? "", "--connect-to",
                variables["HYBRID_LAB_CONNECT_TO"] ?? "",
            ] + options,
            in: lab.folder,
            environment: variables,
            input: request
        )
        let code = try await client.line { $0.hasPrefix("FIDO:/") }
        let phone = try RunningProgram(
            "hybrid-lab",
            ["phone", "--json", "--script", script, "-"],
            in: lab.folder,
            environment: variables,
            input: code + "\n"
        )
        let (left, right) = (try await client.ending(), try await phone.ending())
        return LabProcess.Result(client: left, phone: right, events: try JSONValue.lines(right.output))
    }

    private static func reply(_ lab: LabProcess, _ text: String) throws -> String {
        let file = lab.folder + "/reply-\(UUID().uuidString.prefix(8)).json"
        try TestFile.write(text, to: file)
        return "reply:\(file)"
    }

    @Test("a phone presents a credential for the origin, and accepts one")
    func presented() async throws {
        try await LabProcess.run { lab in
            let done = try await Self.present(lab, "approve")
            #expect(done.client.status == 0 && done.phone.status == 0, "\(done)")
            #expect(
                done.client.output
                    == #"{"protocol":"openid4vp-v1-unsigned","data":{"lab":"not a real credential","#
                    + #""origin":"https://shop.example","operation":"credential.get"}}"# + "\n"
            )
            #expect(!done.client.errors.contains("not a real credential"), "a credential is never logged")
            #expect(!done.phone.output.contains("not a real credential"))
            #expect(try done.events.first { try $0.text("event") == "code" }?.text("hint") == "presentCredential")
            let issued = try await Self.present(lab, "approve", ["--issue"])
            #expect(issued.client.output.contains(#""operation":"credential.create""#), "\(issued)")
            #expect(try issued.events.first { try $0.text("event") == "code" }?.text("hint") == "issueCredential")
        }
    }

    @Test("each failure has its own sentence and status")
    func failures() async throws {
        try await LabProcess.run { lab in
            for (script, status, words) in [
                ("deny", 77, "it was declined on the phone"),
                ("error:NO_CREDENTIAL", 66, "no credential that the website accepts"),
                ("error:DEVICE_ABORTED", 75, "the phone aborted the request"),
                ("error:SECRET", 69, "the phone's wallet reports an error"),
                ("no-wallet", 77, "is not able to present digital credentials"),
                ("vanish:introduction", 75, "disconnected before"),
                ("vanish:request", 75, "disconnected before"),
                ("drop:request", 75, "disconnected before"),
                ("corrupt:answer", 65, "a message can't be opened"),
            ] as [(String, Int32, String)] {
                let done = try await Self.present(lab, script)
                done.client.expect(status, words)
                #expect(!done.client.errors.contains("SECRET"))
            }
        }
    }

    @Test("a reply may have 1 MiB; hostile replies are rejected without showing them")
    func replies() async throws {
        try await LabProcess.run { lab in
            let (head, tail) = (#"{"response":{"digital":{"data":{"protocol":"p","data":""#, #""}}}}"#)
            let padding = ChannelMessage.maximumBodyLength - head.utf8.count - tail.utf8.count
            let data = String(repeating: "A", count: padding)
            let long = try await Self.present(lab, try Self.reply(lab, head + data + tail))
            #expect(long.client.output == #"{"protocol":"p","data":""# + data + "\"}\n", "\(long.client.errors)")
            // As in JSON.parse, half of a pair of surrogates is a character that can't be shown.
            let half = try await Self.present(lab, try Self.reply(lab, #"{"response":{"digital":{"data":"\ud800A"}}}"#))
            #expect(half.client.output.contains("\"\u{FFFD}A\""), "\(half.client.errors)")
            for text in [
                #"{"response":{"digital":{"data":"SECRET""#, #"{"response":{"digital":{"data":"SECRET","data":1}}}"#,
                #"["SECRET"]"#, String(repeating: "[", count: 100_000), "",
            ] {
                let done = try await Self.present(lab, try Self.reply(lab, text))
                done.client.expect(65, "the phone's reply is unusable")
                #expect(!done.client.errors.contains("SECRET"))
            }
            let longer = try Self.reply(lab, String(repeating: "A", count: ChannelMessage.maximumBodyLength + 1))
            let refused = try RunningProgram("hybrid-lab", ["phone", "--script", longer, "-"], in: lab.folder)
            let ending = try await refused.ending()
            #expect(ending.status == 64 && ending.errors.contains("longer than one message"), "\(ending)")
        }
    }

    @Test("bad requests are rejected before a code is shown")
    func badRequests() async throws {
        let padding = String(repeating: "x", count: (1 << 20) - Self.request.utf8.count)
        // The request fits into one message, but not with the origin around it.
        let long = Self.request.replacing(#""n""#, with: #""n\#(padding)""#)
        try await TestFolder.with { folder in
            for (request, origin, status, words) in [
                (long, "https://shop.example", 65, "longer than one message"),
                ("{}", "https://shop.example", 65, "no member digital"),
                (#"{"digital":{"requests":[]}}"#, "https://shop.example", 65, "digital.requests"),
                ("{", "https://shop.example", 65, "not JSON"),
                (Self.request, "http://shop.example", 64, "--origin"),
                (Self.request, "https://192.0.2.1", 64, "--origin"),
            ] as [(String, String, Int32, String)] {
                let ending = try await RunningProgram(
                    "hybrid-client",
                    ["present", "--request", "-", "--origin", origin],
                    in: folder.path,
                    input: request
                ).ending()
                ending.expect(status, words)
            }
        }
    }
}
