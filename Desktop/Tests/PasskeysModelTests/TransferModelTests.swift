// SPDX-License-Identifier: Apache-2.0

import HybridPasskeysModel
import HybridQRCode
import Testing

@Suite("A transfer of passkeys")
struct TransferModelTests {
    private static let text = "HYBRID:/" + String(repeating: "0123456789", count: 17)
    private static let code = #"{"event":"qr","text":"\#(text)"}"#
    private static let digits = #"{"event":"state","state":"digits","digits":"042117","peer":"Ada's \u202ephone"}"#
    private static let stored = #"{"event":"state","state":"stored","count":"3","of":"200"}"#

    private func model(isGiver: Bool = false, _ lines: String...) -> TransferModel {
        var model = TransferModel()
        model.begin(isGiver: isGiver)
        for line in lines { receive(line, &model) }
        return model
    }

    private func receive(_ line: String, _ model: inout TransferModel) {
        if let event = AuthEvent(Array(line.utf8)) { model.receive(event) }
    }

    private func state(_ name: String) -> String { #"{"event":"state","state":"\#(name)"}"# }

    @Test("follows the receiver")
    func receiver() throws {
        var model = model()
        #expect(model.stage == .connecting && model.stage.isRunning)
        receive(Self.code, &model)
        #expect(model.stage == .code(try QRMatrix(text: Self.text)))
        receive(state("scan"), &model)
        #expect(model.stage.title == "Let the other device scan this code")
        receive(state("giver-found"), &model)
        #expect(model.stage == .connecting)
        receive(Self.code, &model)
        #expect(model.stage == .connecting, "no other device may scan")
        receive(Self.digits, &model)
        #expect(model.stage.digits == "042 117")
        #expect(model.stage.advice == #"The screen of "Ada's phone" must show the same. If not, cancel."#)
        let passkey = #"{"rpId":"example.com","userName":"ada\u202e"}"#
        let list = Array(repeating: passkey, count: 10).joined(separator: ",")
        let ten = #"{"event":"passkeys","passkeys":[\#(list)],"of":200}"#
        for _ in 0..<3 { receive(ten, &model) }
        let lines = try #require(model.list).split(separator: "\n")
        #expect(lines.count == 21 && lines[0] == "example.com, ada" && lines.last == "and 180 more")
        receive(Self.stored, &model)
        #expect(model.stage == .stored(3, of: 200) && model.stage.digits == nil && model.list == nil)
        #expect(model.stage.title == "3 of 200 stored")
        let result = #"{"from":"x","added":2,"present":[{}],"different":[{}],"leftOut":[{},{}]}"#
        model.end(.success(Array(result.utf8)))
        #expect(model.stage.title == "2 passkeys received" && !model.stage.isRunning)
        #expect(model.stage.advice == "1 was here already. 3 were left out. No backup has them yet.")
        receive(Self.digits, &model)
        #expect(model.stage.digits == nil, "nothing follows the end")
    }

    @Test("follows the giver")
    func giver() {
        var model = model(isGiver: true, state("tunnel-open"), state("connected"), Self.digits)
        #expect(model.stage.digits == "042 117")
        receive(state("offered"), &model)
        #expect(model.stage == .waiting)
        model.end(.success(Array(#"{"to":"x","given":1,"deleted":0,"notStored":[],"leftOut":[]}"#.utf8)))
        #expect(model.stage.title == "1 passkey given" && model.stage.advice.isEmpty)
    }

    @Test("goes back after a cancellation, and names other failures")
    func failures() {
        for code in ["interrupted", "cancelled"] {
            var model = model(Self.code)
            let line = #"{"event":"error","code":"\#(code)","message":"m","remedy":""}"#
            guard case .failure(let failure) = AuthEvent(Array(line.utf8)) else {
                Issue.record("expected a failure")
                return
            }
            model.end(.failure(failure))
            #expect(model.stage == .idle)
        }
        var model = model(Self.code)
        model.end(.failure(.ended))
        #expect(model.stage == .failed(.ended))
    }

    @Test(
        "shows no code and no digits that are none",
        arguments: [
            #"{"event":"qr","text":"FIDO:/0123"}"#, #"{"event":"qr"}"#,
            #"{"event":"qr","text":"HYBRID:/\#(String(repeating: "7", count: 5000))"}"#,
            #"{"event":"state","state":"digits","digits":"42117","peer":"p"}"#,
            #"{"event":"state","state":"digits","digits":"04211a","peer":"p"}"#,
            #"{"event":"state","state":"digits","digits":"042117"}"#,
            #"{"event":"state","state":"stored","count":"3","of":"2"}"#,
            #"{"event":"state","state":"stored","count":"-3","of":"2"}"#,
        ]
    )
    func hostile(line: String) { #expect(model(line).stage == .connecting) }

    @Test("has no command line with a code")
    func commands() {
        #expect(AuthCommand.receive.arguments == ["receive", "--json"] && !AuthCommand.receive.usesInput)
        #expect(AuthCommand.give(id: "ab").arguments == ["give", "--json", "--", "ab", "-"])
        #expect(AuthCommand.give(id: "ab").usesInput)
    }
}
