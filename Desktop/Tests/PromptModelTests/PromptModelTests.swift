// SPDX-License-Identifier: Apache-2.0

import HybridPromptModel
import HybridQRCode
import Testing

@Suite("The state of the window")
struct PromptModelTests {
    @Test("follows the events of show-qr")
    func ceremony() throws {
        var model = try TimedModel()
        #expect(!model.model.isVisible && model.view.stage == .preparing)
        try model.receive(Line.request)
        #expect(model.model.isVisible)
        try model.receive(Line.code)
        for (state, stage) in [
            ("scan", PromptStage.scan), ("phone-found", .phoneFound), ("connecting-by-bluetooth", .connecting),
            ("connected-by-bluetooth", .connecting), ("connecting", .connecting), ("confirm", .confirm),
            ("done", .done),
        ] {
            try model.enter(state)
            #expect(model.view.stage == stage)
            #expect((model.view.code != nil) == (stage == .scan), "\(state)")
            #expect(model.view.isOver == (stage == .done))
        }
    }

    @Test("has the code of the event")
    func code() throws {
        let expected = try QRMatrix(text: codeText)
        #expect(try TimedModel(Line.code).view.code == expected)
    }

    @Test("shows no code after a phone has been found", arguments: ["phone-found", "connecting", "confirm"])
    func lateCode(state: String) throws {
        var model = try TimedModel(Line.code)
        try model.enter(state)
        try model.receive(Line.code)
        #expect(model.view.code == nil)
    }

    @Test(
        "rejects codes that are not those of a sign-in",
        arguments: [
            #""text":"HTTPS://EXAMPLE.COM/1234""#, #""text":"FIDO:/""#, #""text":"FIDO:/12a""#, #""text":7"#,
            #""other":"FIDO:/12""#, #""text":"FIDO:/\#(String(repeating: "7", count: 1500))""#,
        ]
    )
    func badCodes(member: String) {
        #expect(throws: PromptInputError.unusableCode, "\(member)") { try TimedModel(#"{"event":"qr",\#(member)}"#) }
    }

    @Test(
        "ignores lines that it does not understand",
        arguments: [
            "", "hybrid-client: scan the code", #"{"event":"weather"}"#, #"{"event":7}"#, "[]", #"{"state":"done"}"#,
            #"{"event":"state","state":"dancing"}"#, #"{"event":"state"}"#, #"{"event":"state","state":["done"]}"#,
            #"{"event":"notice","notice":"terminal-too-small","message":"m"}"#,
            #"{"event":"state","state":"done"},"#, #"{"event":"state","state":"done",}"#,
            #"{"event":"state","event":"state","state":"done"}"#,
        ]
    )
    func unknown(line: String) throws {
        let model = try TimedModel(line)
        #expect(model.view == PromptModel().view && !model.model.isVisible)
        #expect(try TimedModel(Line.request, line).view == TimedModel(Line.request).view)
    }

    @Test("counts down while the user must act, and again for the phone's prompt")
    func remaining() throws {
        var model = try TimedModel(Line.request, Line.code)
        #expect(model.view.remaining(at: model.now) == nil)
        try model.enter("scan")
        #expect(model.view.remaining(at: model.now) == "1:30")
        #expect(model.view.remaining(at: model.now + .milliseconds(200)) == "1:30")
        #expect(model.view.remaining(at: model.now + .milliseconds(81_500)) == "0:09")
        #expect(model.view.remaining(at: model.now + .seconds(100)) == "0:00")
        model.now += .seconds(60)
        try model.enter("connecting")
        #expect(model.view.remaining(at: model.now) == nil)
        try model.enter("confirm")
        #expect(model.view.remaining(at: model.now) == "1:30")
    }

    @Test("has no remaining time without a limit", arguments: ["0", "-5", "1.5", "\"9\"", "99999999999", "null"])
    func noLimit(value: String) throws {
        var model = try TimedModel(
            #"{"event":"request","operation":"sign-in","rp_id":"example.com","timeout_ms":\#(value)}"#
        )
        try model.enter("scan")
        #expect(model.view.deadline == nil)
    }

    @Test("closes shortly after success")
    func success() throws {
        var model = try TimedModel(Line.request)
        try model.enter("done")
        #expect(model.model.closing == model.now + PromptModel.successDisplay)
        model.model.endInput(at: model.now)
        #expect(model.model.closing == model.now + PromptModel.successDisplay)
    }

    @Test("closes at once at the end of the input")
    func endOfInput() throws {
        var model = try TimedModel(Line.request, Line.code)
        model.model.endInput(at: model.now)
        #expect(model.model.closing == model.now)
    }

    @Test("keeps a failure on the screen after the end of the input")
    func failure() throws {
        var model = try TimedModel(Line.request, Line.code, Line.error)
        let sentences = ["No phone was found nearby.", "Scan the code with a phone that has Bluetooth on."]
        #expect(model.view.failure == sentences)
        #expect(model.view.stage == .failed && model.view.code == nil && model.view.deadline == nil)
        model.model.endInput(at: model.now)
        #expect(model.model.closing == model.now + PromptModel.failureDisplay)
    }

    @Test("does not change after the end", arguments: [#"{"event":"state","state":"done"}"#, Line.error])
    func afterTheEnd(last: String) throws {
        var model = try TimedModel(Line.request, last)
        let view = model.view
        for line in [Line.code, Line.error, #"{"event":"state","state":"scan"}"#] { try model.receive(line) }
        #expect(model.view == view)
    }

    @Test("reports cancel until the end")
    func cancel() throws {
        var model = try TimedModel(Line.request)
        let isReported = model.answers(.cancel)
        #expect(isReported)
        try model.receive(Line.error)
        let isReportedLater = model.answers(.cancel)
        #expect(!isReportedLater, "there is nothing to cancel")
    }

    @Test(
        "offers an answer in its state only, and once",
        arguments: [("use-phone", PromptAnswer.proceed), ("contacting", .showCode)]
    )
    func offers(state: String, answer: PromptAnswer) throws {
        var model = try TimedModel(Line.request)
        let early = model.answers(answer)
        try model.enter(state)
        #expect(model.view.offer == answer)
        model.now += PromptModel.offerDelay
        let other = model.answers(answer == .proceed ? .showCode : .proceed)
        let (first, second) = (model.answers(answer), model.answers(answer))
        #expect(!early && !other && first && !second)
        try model.enter(state)
        try model.enter("scan")
        #expect(model.view.offer == nil)
    }

    @Test("offers a linked phone beside the code, by name, and not by Enter")
    func linkedPhone() throws {
        var model = try TimedModel(Line.request, #"{"event":"linked-phone","phone":"Ada's \u202ephone"}"#, Line.code)
        try model.enter("scan")
        #expect(model.view.linkedPhone == #""Ada's phone""# && model.view.offer == .proceed)
        #expect(!model.view.isOfferDefault)
        let early = model.answers(.proceed)
        model.now += PromptModel.offerDelay
        let (first, second) = (model.answers(.proceed), model.answers(.proceed))
        #expect(!early && first && !second)
        try model.enter("contacting")
        #expect(model.view.code != nil && model.view.offer == nil, "the code can be scanned meanwhile")
        try model.receive(#"{"event":"state","state":"link-failed","message":"it could not be reached"}"#)
        try model.enter("scan")
        #expect(model.view.offer == nil)
        var found = try TimedModel(Line.request, #"{"event":"linked-phone","phone":"Pixel"}"#, Line.code)
        try found.enter("phone-found")
        #expect(found.view.offer == nil)
        #expect(try TimedModel(#"{"event":"linked-phone"}"#).view == PromptModel().view)
    }

    @Test("does not accept an offer that has just appeared")
    func offerDelay() throws {
        var model = try TimedModel(Line.request)
        try model.enter("use-phone")
        model.now += PromptModel.offerDelay - .milliseconds(1)
        let early = model.answers(.proceed)
        #expect(!early && model.view.offer == .proceed)
        let isCancelled = model.answers(.cancel)
        #expect(isCancelled)
        model.now += .milliseconds(1)
        let isAccepted = model.answers(.proceed)
        #expect(isAccepted)
    }

    @Test("names a phone that is contacted")
    func contacting() throws {
        var model = try TimedModel(#"{"event":"state","state":"contacting","phone":"Ada's \u202ephone"}"#)
        #expect(model.view.stageText == #"Waiting for "Ada's phone""#)
        try model.enter("contacting")
        #expect(model.view.stageText == "Waiting for your phone")
    }

    @Test("shows the reason why a linked phone was not used, beside the code")
    func linkFailed() throws {
        var model = try TimedModel(Line.request)
        try model.enter("contacting")
        try model.enter("phone-notified")
        #expect(model.view.offer == .showCode)
        try model.enter("phone-found")
        try model.receive(Line.code)
        #expect(model.view.code == nil)
        try model.receive(#"{"event":"state","state":"link-failed","message":"it could not be reached"}"#)
        #expect(model.view.note == "It could not be reached." && model.view.stage == .preparing)
        try model.receive(Line.code)
        try model.enter("scan")
        #expect(model.view.note == "It could not be reached." && model.view.offer == nil && model.view.code != nil)
        try model.enter("phone-found")
        #expect(model.view.note == nil)
    }

    @Test("keeps warnings, and removes notes with their state")
    func notices() throws {
        var model = try TimedModel(
            Line.request,
            #"{"event":"notice","notice":"virtual-radio","message":"VIRTUAL RADIO: no proximity proof"}"#
        )
        try model.enter("scan")
        try model.receive(#"{"event":"notice","notice":"radio-lost","message":"Bluetooth is off; waiting for it"}"#)
        #expect(model.view.note == "Bluetooth is off; waiting for it.")
        try model.receive(#"{"event":"notice","notice":"radio-back","message":"Bluetooth is back"}"#)
        #expect(model.view.note == nil)
        try model.receive(#"{"event":"notice","notice":"radio-lost","message":"gone again"}"#)
        try model.enter("phone-found")
        #expect(model.view.note == nil)
        #expect(model.view.warnings == ["VIRTUAL RADIO: no proximity proof."])
        for _ in 0..<50 { try model.receive(#"{"event":"notice","notice":"virtual-radio","message":"again"}"#) }
        #expect(model.view.warnings.count <= 4)
    }

    @Test(
        "shows which link is offered, with its code and the condition",
        arguments: [
            (#","link_code":"042 117","evidence":"verified""#, " only if it shows the link code 042 117"),
            (#","evidence":"verified""#, ""),
            (
                #","link_code":"042 117","evidence":"website""#,
                " only if it shows the link code 042 117, and only if the website accepted this sign-in"
            ),
            (#","evidence":"website""#, " only if the website accepted this sign-in"),
            ("", " only if the website accepted this sign-in"),
        ]
    )
    func linkOffer(members: String, condition: String) throws {
        var model = try TimedModel(Line.request, Line.code)
        try model.enter("confirm")
        try model.receive(#"{"event":"notice","notice":"link-offer","phone":"Ada's \u202e\nphone"\#(members)}"#)
        let question = #"Link "Ada's phone", so that it needs no code next time?"#
        #expect(model.view.note == "\(question)\nAnswer yes\(condition), in the program that asks.")
        #expect(model.view.stage == .linkOffer && model.view.stageText == "Link this phone?")
        #expect(model.view.offer == nil && model.view.deadline == nil && model.view.code == nil)
        #expect(!model.view.isOver)
        try model.enter("done")
        #expect(model.view.note == nil)
    }

    @Test(
        "shows that no link was made, with the reason, until it can be read",
        arguments: [
            "the phone has offered no link, or has not signed in with a passkey that the request names",
            "the answer was not yes",
        ]
    )
    func notLinked(reason: String) throws {
        let offer = #"{"event":"notice","notice":"link-offer","phone":"Pixel","evidence":"verified"}"#
        for lines in [[Line.request], [Line.request, offer]] {
            var model = try TimedModel()
            for line in lines { try model.receive(line) }
            try model.receive(#"{"event":"notice","notice":"not-linked","message":"not linked: \#(reason)"}"#)
            try model.enter("done")
            #expect(model.view.stage == .done && model.view.note == "Not linked: \(reason).")
            #expect(model.model.closing == model.now + PromptModel.resultDisplay)
        }
        var linked = try TimedModel(Line.request, offer)
        try linked.enter("done")
        #expect(linked.model.closing == linked.now + PromptModel.successDisplay)
    }

    @Test("shows why no linked phone is contacted, beside the code", arguments: ["link-skipped", "session-locked"])
    func noContact(notice: String) throws {
        var model = try TimedModel(Line.request, #"{"event":"notice","notice":"\#(notice)","message":"it is locked"}"#)
        try model.receive(Line.code)
        try model.enter("scan")
        #expect(model.view.note == "It is locked." && model.view.code != nil)
    }

    @Test(
        "does not show an offer without a phone, or with a code that is none",
        arguments: [
            "", #","phone":7"#, #","phone":"p","link_code":"042117""#, #","phone":"p","link_code":"042 11a""#,
            #","phone":"p","link_code":"042 1178""#, #","phone":"p","link_code":42117"#,
            #","phone":"p","link_code":"042 117 ""#, #","phone":"p","link_code":"٠٤٢ ١١٧""#,
        ]
    )
    func badLinkOffer(members: String) throws {
        let line = #"{"event":"notice","notice":"link-offer","evidence":"verified"\#(members)}"#
        #expect(try TimedModel(Line.request, line).view == TimedModel(Line.request).view)
    }

    @Test("shows messages on one line, shortened, and without characters that change their direction")
    func messages() throws {
        let long = String(repeating: "m", count: 3000)
        let model = try TimedModel(
            #"{"event":"error","message":"issued by \u202eevil\n\u001b[2J","remedy":"\#(long)"}"#
        )
        #expect(model.view.failure.first == "Issued by ?evil??[2J.")
        #expect((model.view.failure.last?.count ?? 0) <= 402)
    }

    @Test("has a text for an error without a message")
    func emptyError() throws {
        let model = try TimedModel(#"{"event":"error"}"#)
        #expect(model.view.failure.isEmpty && model.view.stageText == "It did not work")
    }

    @Test("never prints the code")
    func secrecy() throws {
        let model = try TimedModel(Line.request, Line.code)
        var dumped = ""
        dump(model.model, to: &dumped)
        #expect(!dumped.contains("0123456789") && !"\(model.view)".contains("0123456789"))
        #expect("\(model.view)".contains("QRMatrix(version"))
    }
}
