// SPDX-License-Identifier: Apache-2.0

import HybridAskModel
import Testing

@Suite("Hostile lines")
struct HostileLineTests {
    @Test(
        "are ignored if they are not objects that the sheet knows",
        arguments: [
            "", "null", "[]", "7", "hybrid-auth: hello", #"{"ask":1"#, #"{"ask":1,"ask":2,"kind":"pin"}"#,
            #"{"ask":"1","kind":"pin"}"#, #"{"state":7}"#, #"{"state":"dancing"}"#, #"{"ask":-1,"kind":"pin"}"#,
            #"{"ask":0,"kind":"question","text":"a","agree":"b"}"#, #"{"event":"state"}"#, "\u{1B}[2J",
            String(repeating: "[", count: 5000), #"{"withdraw":9}"#, #"{"notice":{}}"#,
        ]
    )
    func ignored(line: String) {
        let sheet = TimedSheet(line)
        #expect(sheet.answers == [] && !sheet.model.isVisible && sheet.model.closing == nil)
        #expect(sheet.view == TimedSheet().view)
        #expect(TimedSheet(Line.pin(), line).content == TimedSheet(Line.pin()).content)
    }

    @Test(
        "that ask in an unknown or unsafe way are declined",
        arguments: [
            ("dance", ""), ("new-pin", #""path":"p""#), ("new-pin", #""minimum":0"#), ("pin", #""rpId":"example.com""#),
            ("pin", #""rpId":"example.com","site":"planet","operation":"sign-in""#),
            ("pin", #""rpId":"exam\u202eple.com","site":"domain","operation":"sign-in""#),
            ("pin", #""rpId":"Sign in to a.example","site":"domain","operation":"sign-in""#),
            ("pin", #""rpId":"ex\u00e4mple.com","site":"domain","operation":"sign-in""#),
            ("pin", #""rpId":"","site":"domain","operation":"sign-in""#),
            ("pin", #""rpId":7,"site":"domain","operation":"sign-in""#),
            ("pin", #""rpId":"a.example","site":"domain","operation":"dance""#),
            ("pin", #""rpId":"a.example","site":"domain","operation":"sign-in","givesSecret":"no""#),
            ("pin", #""rpId":"a.example","site":"domain","operation":"sign-in","linkCode":"1234567""#),
            ("pin", #""rpId":"a.example","site":"domain","operation":"sign-in","warnings":["a","b","c","d","e"]"#),
            ("account", #""rpId":"a.example","site":"domain","operation":"sign-in","accounts":[]"#),
            ("account", #""rpId":"a.example","site":"domain","operation":"sign-in","accounts":[{"name":"a"}]"#),
            ("account", #""accounts":[{"name":"a","displayName":""}]"#),
            ("account", #"\#(Line.site),"accounts":[\#(Line.one)],"data":{"kind":"login"}"#),
            ("account", #"\#(Line.site),"accounts":[\#(Line.one)],"data":{"kind":"login","user":"a","hostKey":"a b"}"#),
            ("link", #""relay":"a.example and b""#), ("pin", #"\#(Line.site),"warnings":["a b"]"#),
            ("create", Line.site), ("notice", #"\#(Line.site),"notice":"weather""#), ("link", ""), ("opened-link", ""),
            ("delete", Line.site), ("recovery-code", #""groups":["A"]"#), ("recovery-code", #""groups":["A","a b"]"#),
            ("question", #""text":"a""#), ("question", #""text":" ","agree":"b""#), ("new-secret", #""path":"p""#),
        ]
    )
    func declined(kind: String, members: String) {
        let sheet = TimedSheet(Line.ask(kind, members, 3))
        #expect(sheet.answers == [#"{"answer":3,"decline":true}"#], "\(kind) \(members)")
        #expect(!sheet.model.isVisible)
    }

    @Test("that have unknown members are understood")
    func unknownMembers() {
        #expect(TimedSheet(Line.pin(#""later":[1,{"a":null}]"#)).content == TimedSheet(Line.pin()).content)
    }

    @Test(
        "have names that stay names",
        arguments: [
            (#"<b>a</b>&amp;"#, #""ba/bamp;""#), (#"a\u202egnp"#, #""agnp""#),
            (#"a\nSign in to b"#, #""aSign in to b""#),
            (#"a\" or \"b"#, #""a' or 'b""#), (#"{name}"#, #""{name}""#),
        ]
    )
    func names(name: String, shown: String) {
        let content = TimedSheet(Line.account(#"{"name":"\#(name)","displayName":""}"#)).content
        #expect(content.accounts.map(\.name) == [shown])
        let computer = TimedSheet(Line.pin(#""computer":"\#(name)""#)).content
        #expect(computer.source.prefix(2) == ["From your linked computer", shown], "a line of its own")
    }

    @Test("have names of bounded length")
    func longNames() {
        let long = String(repeating: "a", count: 10_000)
        let content = TimedSheet(Line.account(#"{"name":"\#(long)","displayName":"\#(long)"}"#)).content
        #expect(content.accounts.allSatisfy { $0.name.utf8.count < 200 })
        let words = TimedSheet(Line.ask("question", #""text":"\#(long)","agree":"\#(long)""#)).content
        #expect(words.question.utf8.count < 2010 && words.agree.utf8.count <= 40)
    }

    @Test("have texts without characters that change their appearance")
    func texts() {
        let words = TimedSheet(Line.ask("question", #""text":"a\u202eb\tc\n\u001b[2J","agree":"o\u200dk""#)).content
        #expect(words.question == "a?b?c" && words.details == ["?[2J"] && words.agree == "o?k")
        var sheet = TimedSheet(Line.pin())
        sheet.receive(#"{"end":"failed","message":"a\u202eb\nc"}"#)
        #expect(sheet.view.stage == .failure(["A?b c."]))
    }

    @Test("may be many accounts, but not more than 64")
    func manyAccounts() {
        let account = #"{"name":"a","displayName":"b"}"#
        let many = Array(repeating: account, count: 64).joined(separator: ",")
        #expect(TimedSheet(Line.account(many)).content.accounts.count == 64)
        #expect(TimedSheet(Line.account("\(many),\(account)")).answers == [#"{"answer":1,"decline":true}"#])
    }

    @Test("do not stop the sheet, however many they are")
    func flood() {
        var sheet = TimedSheet()
        for number in 1...3000 { sheet.receiveNow(Line.pin("", number)) }
        sheet.now += SheetModel.agreementDelay
        sheet.agree("1234")
        #expect(sheet.answers == [#"{"answer":3000,"pin":"1234"}"#])
    }
}
