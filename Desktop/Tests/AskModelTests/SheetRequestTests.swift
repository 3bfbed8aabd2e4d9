// SPDX-License-Identifier: Apache-2.0

import HybridAskModel
import Testing

@Suite("Questions of a request")
struct SheetRequestTests {
    @Test("the PIN comes with the site, the question and the sender")
    func pin() {
        var sheet = TimedSheet(Line.pin())
        #expect(sheet.model.isVisible)
        #expect(sheet.content.heading == "example.com" && sheet.content.subject == [])
        #expect(sheet.content.question == "Sign in to this site?")
        let source = ["From the code you scanned, made 4 seconds ago", "Through the relay cable.example"]
        #expect(sheet.content.source == source)
        #expect(sheet.content.fields == [.pin] && sheet.content.accounts == [] && sheet.content.warnings == [])
        #expect(sheet.content.decline == "Decline" && sheet.content.problem == nil)
        #expect(sheet.view.remaining(at: sheet.now) == "1:00")
        sheet.agree("12345")
        #expect(sheet.answers == [#"{"answer":1,"pin":"12345"}"#])
        #expect(sheet.view.number == 0)
    }

    @Test(
        "a PIN is written as JSON, whatever it contains",
        arguments: [
            ("a\"b\\c", #"a\"b\\c"#), ("ä€😀", "ä€😀"), ("\u{1}\n", #"\u0001\u000a"#), ("}\u{7F}", "}\u{7F}"),
        ]
    )
    func escaping(pin: String, written: String) {
        var sheet = TimedSheet(Line.pin())
        sheet.agree(pin)
        #expect(sheet.answers == [#"{"answer":1,"pin":"\#(written)"}"#])
    }

    @Test("an empty or very long PIN is not an answer")
    func unusablePIN() {
        var sheet = TimedSheet(Line.pin())
        #expect(sheet.agree("") == "Type the PIN.")
        #expect(sheet.agree(String(repeating: "1", count: 256)) == "That is too long.")
        #expect(sheet.answers == [])
        #expect(sheet.agree(String(repeating: "1", count: 255)) == nil)
        #expect(sheet.answers.count == 1)
    }

    @Test(
        "the reason of a repeated question is shown",
        arguments: [
            (#"{"code":"wrong","attemptsLeft":2}"#, "Wrong PIN. 2 attempts are left before a delay."),
            (#"{"code":"wrong","attemptsLeft":1}"#, "Wrong PIN. 1 attempt is left before a delay."),
            (#"{"code":"key-replaced"}"#, "The vault has a new key now. Type the PIN."),
            (#"{"code":"empty"}"#, "Type the PIN."),
            (#"{"code":"finger","message":"the sensor is gone"}"#, "The sensor is gone."),
            (#"{"code":"later"}"#, "Try again."),
        ]
    )
    func problems(problem: String, text: String) {
        #expect(TimedSheet(Line.pin(#""problem":\#(problem)"#)).content.problem == text)
    }

    @Test(
        "the heading of a local service can't be that of a site",
        arguments: [
            ("ssh:work", "ssh", #","local":"work""#, "SSH key", #""work""#, "Sign with this SSH key?"),
            (
                "pam://studio", "pam", #","local":"studio""#, "Login to a computer", #""studio""#,
                "Log in to this computer?"
            ),
            ("k7.invalid", "encryption-key", "", "Encryption key", "k7.invalid", "Give the other device this key?"),
        ]
    )
    func localServices(id: String, site: String, members: String, heading: String, subject: String, question: String) {
        let members = #""rpId":"\#(id)","site":"\#(site)","operation":"sign-in"\#(members)"#
        let content = TimedSheet(Line.ask("pin", members)).content
        #expect(content.heading == heading && content.subject == [subject] && content.question == question)
    }

    @Test("the service of a login is named")
    func service() {
        let members = #""rpId":"pam://a/sudo","site":"pam","operation":"sign-in","local":"a","service":"sudo""#
        let content = TimedSheet(Line.ask("pin", members)).content
        #expect(content.subject == [#""a""#, "The service that asks:", #""sudo""#])
        #expect(content.question == "Confirm this service?" && content.details == [])
    }

    @Test(
        "the question fits the operation",
        arguments: [
            ("create", "", "Create a passkey for this site?"), ("create", #","forSSH":true"#, "Create an SSH key?"),
            ("ssh-login", "", "Log in to an SSH server?"), ("ssh-message", "", "Sign a message with an SSH key?"),
        ]
    )
    func operations(operation: String, members: String, question: String) {
        let members = #""rpId":"example.com","site":"domain","operation":"\#(operation)"\#(members)"#
        #expect(TimedSheet(Line.ask("pin", members)).content.question == question)
    }

    @Test("a secret for the other side is mentioned")
    func secrets() {
        #expect(TimedSheet(Line.pin(#""givesSecret":true"#)).content.details == ["The site also gets a secret."])
        let other = TimedSheet(Line.pin(#""givesSecret":true,"forSSH":true"#)).content.details
        #expect(other == ["The other device also gets a secret."])
    }

    @Test("a linked computer, Bluetooth and a link code are named")
    func senders() {
        let members = #""rpId":"a.example","site":"domain","operation":"create","bluetooth":true,"computer":"studio","#
        let content = TimedSheet(Line.ask("pin", members + #""linkCode":"042117""#)).content
        let source = ["From your linked computer", #""studio""#, "By Bluetooth alone", "Link code 042 117"]
        #expect(content.source == source)
    }

    @Test("warnings are above everything else, also those of later versions")
    func warnings() {
        let content = TimedSheet(Line.pin(#""warnings":["virtual-radio","old-code","new"]"#)).content
        let warnings = [
            "Virtual radio: nothing proves that the other device is near.",
            "Old code, made 4 seconds ago. Continue only if you just asked for it yourself.", "Warning: new",
        ]
        #expect(content.warnings == warnings)
    }

    @Test("one account is only agreed to")
    func oneAccount() {
        var sheet = TimedSheet(Line.account(Line.one))
        #expect(sheet.content.question == "Sign in as this account?" && sheet.content.agree == "Sign In")
        #expect(sheet.content.accounts == [SheetAccount(#""ada""#, note: #""Ada""#)])
        sheet.agree()
        #expect(sheet.answers == [#"{"answer":1,"account":0}"#])
    }

    @Test("one of several accounts is chosen")
    func severalAccounts() {
        var sheet = TimedSheet(Line.account(Line.two))
        #expect(sheet.content.accounts.map(\.name) == [#""ada""#, #""bob""#])
        #expect(sheet.agree() == "Choose one.")
        #expect(sheet.agree(account: 2) == "Choose one.")
        #expect(sheet.answers == [])
        sheet.agree(account: 1)
        #expect(sheet.answers == [#"{"answer":1,"account":1}"#])
    }

    @Test("the last use of an account is known")
    func lastUse() {
        let account = #"{"name":"","displayName":"","lastUsed":1700000000}"#
        let content = TimedSheet(Line.account(account)).content
        #expect(content.accounts.first?.lastUsed == 1_700_000_000)
        #expect(content.accounts.first?.name == "an account without a name")
    }

    @Test("data that SSH signs is shown")
    func statedData() {
        let key = "SHA256:" + String(repeating: "aB3+/", count: 8) + "xyz"
        let login = #"{"kind":"login","user":"root","hostKey":"\#(key)","weak":true}"#
        let content = TimedSheet(Line.account(Line.one, #","data":\#(login)"#)).content
        #expect(content.question == "Log in to an SSH server as this user?")
        #expect(content.details == [#""root""#, "Weak host key of the server:", key, "With this key:"])
        let unnamed = TimedSheet(Line.account(Line.two, #","data":{"kind":"login","user":"a"}"#)).content.details
        #expect(unnamed == [#""a""#, "The request does not name the server.", "With which key?"])
        let certificate = #""certificate":{"principals":"ada,root","authority":"\#(key)"}"#
        let certified = #","data":{"kind":"login","user":"a","hostKey":"\#(key)",\#(certificate)}"#
        let lines = ["Certificate for:", #""ada,root""#, "Of the authority:", key, "With this key:"]
        #expect(TimedSheet(Line.account(Line.one, certified)).content.details.suffix(5) == lines[...])
        let git = TimedSheet(Line.account(Line.one, #","data":{"kind":"message","namespace":"git"}"#)).content
        #expect(git.question == "Sign for git?")
        let file = TimedSheet(Line.account(Line.one, #","data":{"kind":"message","namespace":"file"}"#)).content
        #expect(file.details == ["Its purpose:", #""file""#, "With this key:"])
    }

    @Test("a new passkey, and one that replaces others")
    func creation() {
        let create = Line.site.replacing("sign-in", with: "create")
        var sheet = TimedSheet(Line.ask("create", #"\#(create),"account":\#(Line.one)"#))
        #expect(sheet.content.question == "Save a passkey for this account?" && !sheet.content.isDestructive)
        sheet.agree()
        #expect(sheet.answers == [#"{"answer":1,"agree":true}"#])
        let replaces = #","account":\#(Line.one),"replaces":[\#(Line.two)]"#
        let content = TimedSheet(Line.ask("create", create + replaces)).content
        #expect(content.question == "Replace 2 passkeys?" && content.isDestructive && content.agree == "Replace")
        #expect(content.details == ["The old ones are deleted permanently.", "Deleted:", #""bob""#])
        let many = (0..<7).map { #"{"name":"user\#($0)","displayName":""}"# }.joined(separator: ",")
        let members = #"\#(create),"account":\#(Line.one),"replaces":[\#(many)]"#
        #expect(TimedSheet(Line.ask("create", members)).content.details.suffix(2) == [#""user3""#, "and 3 more"])
    }

    @Test(
        "notices have one button",
        arguments: [
            ("no-passkey", "This device has no passkey that this site accepts."),
            ("already-registered", "This device already has a passkey for this site."),
            ("data-not-stated", "The other device did not say what is signed."),
        ]
    )
    func notices(notice: String, text: String) {
        var sheet = TimedSheet(Line.ask("notice", #"\#(Line.site),"notice":"\#(notice)""#))
        #expect(sheet.content.question == text && sheet.content.decline == nil && sheet.content.agree == "OK")
        sheet.agree()
        #expect(sheet.answers == [#"{"answer":1,"agree":true}"#])
    }

    @Test("links name the relay")
    func links() {
        let link = TimedSheet(Line.ask("link", #""relay":"cable.example""#)).content
        #expect(link.details.first?.hasSuffix("through the relay cable.example.") == true && link.agree == "Link")
        let members = #""relay":"cable.example","codeAge":500,"warnings":["old-code"]"#
        let opened = TimedSheet(Line.ask("opened-link", members)).content
        #expect(opened.fields == [])
        #expect(opened.details.contains("The code was made 8 minutes ago.") && opened.warnings.count == 1)
    }
}

@Suite("The name of a linked computer")
struct ComputerNameTests {
    private var sheet: TimedSheet { TimedSheet(Line.ask("link", #""relay":"cable.example""#)) }

    @Test("is optional, and the keyboard does not cover the question")
    func optional() {
        var sheet = sheet
        #expect(sheet.content.fields == [.computerName] && SheetField.computerName.isOptional)
        #expect(SheetField.computerName.isVisible && !SheetField.pin.isOptional)
        sheet.agree("")
        #expect(sheet.answers == [#"{"answer":1,"agree":true}"#])
    }

    @Test("is part of the agreement, escaped")
    func typed() {
        var sheet = sheet
        sheet.agree(#"the "big" one"#)
        #expect(sheet.answers == [#"{"answer":1,"agree":true,"name":"the \"big\" one"}"#])
    }

    @Test("has at most 128 bytes")
    func long() {
        var sheet = sheet
        #expect(sheet.agree(String(repeating: "é", count: 65)) == "That is too long.")
        #expect(sheet.answers == [])
        sheet.agree(String(repeating: "é", count: 64))
        #expect(sheet.answers.count == 1)
    }
}

extension SheetAccount {
    init(_ name: String, note: String?) { self.init(name: name, note: note, lastUsed: nil) }
}
