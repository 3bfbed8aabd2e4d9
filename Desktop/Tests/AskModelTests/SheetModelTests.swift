// SPDX-License-Identifier: Apache-2.0

import HybridAskModel
import Testing

@Suite("The state of the sheet")
struct SheetModelTests {
    @Test("appears with the first question")
    func appearance() {
        var sheet = TimedSheet()
        for state in ["tunnel-open", "advertising", "connected", "asked"] { sheet.receive(#"{"state":"\#(state)"}"#) }
        #expect(!sheet.model.isVisible && sheet.view.stage == .waiting("One moment…"))
        sheet.receive(Line.pin())
        #expect(sheet.model.isVisible)
    }

    @Test("ignores agreement for half a second, after each question")
    func delay() {
        var sheet = TimedSheet()
        for number in 1...2 {
            sheet.receiveNow(Line.pin("", number))
            #expect(!sheet.view.isAgreeable(at: sheet.now))
            sheet.agree("1234")
            sheet.now += .milliseconds(499)
            sheet.agree("1234")
            #expect(sheet.answers.count == number - 1)
            sheet.now += .milliseconds(1)
            #expect(sheet.view.isAgreeable(at: sheet.now))
            sheet.agree("1234")
            #expect(sheet.answers.count == number)
        }
    }

    @Test("declines at once, and disappears")
    func decline() {
        var sheet = TimedSheet()
        sheet.receiveNow(Line.account(Line.two))
        sheet.decline()
        #expect(sheet.answers == [#"{"answer":1,"decline":true}"#])
        #expect(!sheet.model.isVisible && sheet.model.closing == nil)
        sheet.agree(account: 0)
        #expect(sheet.answers.count == 1, "a declined question has its answer")
        sheet.receive(#"{"end":"declined"}"#)
        #expect(sheet.model.closing != nil)
    }

    @Test("closes if it is declined while there is no question")
    func declineWithoutQuestion() {
        var sheet = TimedSheet(Line.pin())
        sheet.agree("1234")
        sheet.decline()
        #expect(sheet.answers.count == 1 && sheet.model.closing == sheet.now)
    }

    @Test("answers each question once")
    func once() {
        var sheet = TimedSheet(Line.pin())
        sheet.agree("1234")
        sheet.agree("1234")
        sheet.receive(Line.pin())
        sheet.agree("1234")
        #expect(sheet.answers.count == 1, "an old number is not a question")
    }

    @Test(
        "shows why a question was withdrawn",
        arguments: [
            ("touched", SheetStage.success("Fingerprint recognized")), ("timed-out", .waiting("The time is over")),
            ("finger-failed", .waiting("One moment…")), ("interrupted", .waiting("One moment…")),
        ]
    )
    func withdrawal(reason: String, stage: SheetStage) {
        var sheet = TimedSheet(Line.pin(#""finger":true"#))
        #expect(sheet.content.note == "Touch the fingerprint sensor, or type the PIN.")
        sheet.receive(#"{"withdraw":2,"because":"\#(reason)"}"#)
        #expect(sheet.view.number == 1, "another question is withdrawn")
        sheet.receive(#"{"withdraw":1,"because":"\#(reason)"}"#)
        #expect(sheet.view.stage == stage && sheet.view.number == 0 && sheet.view.deadline == nil)
        sheet.agree("1234")
        #expect(sheet.answers == [])
    }

    @Test("shows notices of the sensor in the question for the PIN")
    func notices() {
        var sheet = TimedSheet(Line.pin())
        sheet.receive(#"{"notice":"finger-not-matched","message":"m"}"#)
        #expect(sheet.content.note == "The finger did not match.")
        sheet.receive(#"{"notice":"weather","message":"m"}"#)
        #expect(sheet.content.note == "The finger did not match.")
    }

    @Test("shows success shortly, and a failure until it is closed")
    func end() {
        var sheet = TimedSheet(Line.pin())
        sheet.agree("1234")
        sheet.receive(#"{"state":"answered"}"#)
        #expect(sheet.view.stage == .waiting("Answered"))
        sheet.receiveNow(#"{"end":"done"}"#)
        #expect(sheet.view.stage == .success("Done") && sheet.model.closing == sheet.now + .milliseconds(700))
        sheet.model.endInput(at: sheet.now)
        #expect(sheet.model.closing == sheet.now + .milliseconds(700))

        sheet = TimedSheet(Line.pin())
        sheet.receiveNow(#"{"end":"failed","code":"c","message":"the relay is gone","remedy":"try again"}"#)
        #expect(sheet.view.stage == .failure(["The relay is gone.", "Try again."]))
        sheet.model.endInput(at: sheet.now)
        #expect(sheet.model.closing == sheet.now + .seconds(300))
        sheet.decline()
        #expect(sheet.model.closing == sheet.now && sheet.answers == [])
    }

    @Test("counts the time before an agreement from the appearance of the window")
    func windowAppearance() {
        var sheet = TimedSheet()
        sheet.receiveNow(Line.pin())
        let late = sheet.now + .seconds(2)
        #expect(sheet.view.isAgreeable(at: late))
        sheet.model.appear(at: late)
        #expect(!sheet.view.isAgreeable(at: late + .milliseconds(400)))
        #expect(sheet.view.isAgreeable(at: late + .milliseconds(500)))
        var closed = TimedSheet()
        closed.model.appear(at: late)
        #expect(!closed.view.isAgreeable(at: late + .seconds(1)))
    }

    @Test("closes with the input, and without a question")
    func endOfInput() {
        var sheet = TimedSheet(Line.pin())
        sheet.model.endInput(at: sheet.now)
        #expect(sheet.model.closing == sheet.now)
        sheet = TimedSheet(#"{"end":"failed","message":"m"}"#)
        #expect(sheet.model.isVisible && sheet.view.stage == .failure(["M."]), "no other program shows it")
        #expect(sheet.model.closing.map { $0 > sheet.now + .seconds(290) } == true)
        sheet = TimedSheet(Line.pin())
        sheet.decline()
        sheet.receiveNow(#"{"end":"failed","message":"m"}"#)
        #expect(!sheet.model.isVisible && sheet.model.closing == sheet.now, "the user has closed it")
    }

    @Test("counts down")
    func countdown() {
        var sheet = TimedSheet()
        sheet.receiveNow(Line.pin())
        #expect(sheet.view.remaining(at: sheet.now + .milliseconds(100)) == "1:00")
        #expect(sheet.view.remaining(at: sheet.now + .milliseconds(50_500)) == "0:10")
        #expect(sheet.view.remaining(at: sheet.now + .seconds(100)) == "0:00")
        #expect(sheet.content.problem == nil && sheet.view.number == 1, "the limit is hybrid-auth's")
    }
}
