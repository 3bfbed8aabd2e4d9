// SPDX-License-Identifier: Apache-2.0

import HybridPromptModel
import Testing

@Suite("The window of a transfer from another device")
struct TransferTests {
    private static let request = #"{"event":"request","operation":"receive","timeout_ms":120000}"#
    private static let code = #"{"event":"qr","text":"HYBRID:/\#(String(repeating: "0123456789", count: 17))"}"#

    private static func digits(_ digits: String) -> String {
        #"{"event":"state","state":"digits","digits":\#(digits),"peer":"Ada's \u202ephone"}"#
    }
    private static func counted(_ state: String, _ member: String, _ count: String, of total: String) -> String {
        #"{"event":"state","state":"\#(state)","\#(member)":"\#(count)","of":"\#(total)"}"#
    }

    @Test(
        "says what it is for",
        arguments: [
            ("receive", "Receive passkeys from a person nearby"), ("join", "Join a vault that another device has"),
        ]
    )
    func purpose(operation: String, purpose: String) throws {
        let view = try TimedModel(#"{"event":"request","operation":"\#(operation)"}"#).view
        #expect(view.request?.purpose == purpose && view.request?.details == [])
    }

    @Test("follows the events of hybrid-auth receive")
    func transfer() throws {
        var model = try TimedModel(Self.request, Self.code)
        try model.enter("scan")
        #expect(model.view.code != nil && model.view.remaining(at: model.now) == "2:00")
        #expect(model.view.stageText == "Scan this code with hybrid-auth give")
        try model.enter("giver-found")
        #expect(model.view.code == nil && model.view.stageText == "Device found")
        try model.enter("connecting")
        #expect(model.view.stageText == "Connecting to the device")
        try model.receive(Self.digits(#""012345""#))
        #expect(model.view.digits == "012 345" && model.view.offer == nil && model.view.deadline == nil)
        #expect(model.view.stageText == #"The screen of "Ada's phone" must show the same digits"#)
        let passkey = #"{"rpId":"example.com","userName":"ada\u202e\nbob"}"#
        let list = Array(repeating: passkey, count: 10).joined(separator: ",")
        let ten = #"{"event":"passkeys","passkeys":[\#(list)],"of":200}"#
        for _ in 0..<3 { try model.receive(ten) }
        try model.receive(#"{"event":"passkeys","passkeys":[],"of":\#(Int.min)}"#)
        let lines = model.view.passkeyList.split(separator: "\n")
        #expect(lines.count == 21 && lines.last == "and 180 more")
        #expect(lines[0].hasPrefix(#""example.com", account "ada"#))
        try model.receive(Self.counted("stored", "count", "3", of: "200"))
        #expect(model.view.stageText == "3 of 200 stored" && model.view.digits == nil && model.view.passkeyList == "")
        try model.receive(Self.counted("waiting-for-files", "arrived", "0", of: "7"))
        #expect(model.view.stageText == "Waiting for the files of the vault: 0 of 7")
        try model.enter("done")
        #expect(model.model.closing == model.now + PromptModel.resultDisplay)
    }

    @Test(
        "keeps what was left out until the end",
        arguments: ["left-out", "different", "history-not-written", "partly-received", "not-confirmed"]
    )
    func results(notice: String) throws {
        var model = try TimedModel(Self.request, #"{"event":"notice","notice":"\#(notice)","message":"left out: one"}"#)
        try model.receive(Self.counted("stored", "count", "1", of: "2"))
        try model.enter("done")
        #expect(model.view.note == "Left out: one.")
    }

    @Test(
        "shows nothing that is no six digits",
        arguments: [#""12345""#, #""1234567""#, #""12345a""#, #""٠٤٢١١٧""#, "123456", #""12 345""#, "null"]
    )
    func badDigits(digits: String) throws {
        #expect(try TimedModel(Self.request, Self.digits(digits)).view == TimedModel(Self.request).view)
    }

    @Test(
        "shows no impossible progress",
        arguments: [("-1", "5"), ("6", "5"), ("", "5"), ("1", "x"), ("1", "99999999999999999999")]
    )
    func badCounts(count: String, total: String) throws {
        let line = Self.counted("stored", "count", count, of: total)
        #expect(try TimedModel(Self.request, line).view == TimedModel(Self.request).view)
    }
}
