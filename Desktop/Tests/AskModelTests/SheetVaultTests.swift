// SPDX-License-Identifier: Apache-2.0

import HybridAskModel
import Testing

@Suite("Questions about the vault")
struct SheetVaultTests {
    @Test("the PIN for a purpose")
    func purpose() {
        let content = TimedSheet(Line.ask("pin", #""purpose":"export","path":"/home/ada/vault""#)).content
        #expect(content.question == "Write all passkeys to a file, with their keys in the clear?")
        #expect(content.heading == nil && content.details == [#""/home/ada/vault""#] && content.decline == "Cancel")
        let words = TimedSheet(Line.ask("pin", #""purpose":"later","text":"Two files\nhere","path":"p""#)).content
        #expect(words.question == "Open this vault?" && words.details == ["Two files", "here", #""p""#])
    }

    @Test(
        "every purpose has words",
        arguments: [
            "list", "show", "history", "rename", "delete", "session", "signal", "import", "export", "change-pin",
            "add-passphrase", "recovery-code", "tpm", "finger", "backup", "restore", "rekey", "accept", "forget",
            "join", "give", "receive", "hand-over", "init",
        ]
    )
    func purposes(name: String) {
        let content = TimedSheet(Line.ask("pin", #""purpose":"\#(name)","path":"p""#)).content
        #expect(content.question != "Open this vault?" && content.question.hasSuffix("?"))
    }

    @Test("a new PIN is typed twice")
    func newPIN() {
        var sheet = TimedSheet(Line.ask("new-pin", #""minimum":4,"purpose":"create-vault","path":"p""#))
        #expect(sheet.content.fields == [.newPIN, .repeatedPIN])
        #expect(sheet.agree("", "") == "Type the PIN.")
        #expect(sheet.agree("12é", "12é") == "At least 4 characters.")
        #expect(sheet.agree("1234", "1235") == "The two PINs differ.")
        #expect(sheet.content.wrongField == 1)
        #expect(sheet.agree("1234", "12345") == "The two PINs differ.")
        #expect(sheet.agree(String(repeating: "1", count: 64), "") == "That is too long.")
        #expect(sheet.agree("1234") == "That is too long.", "one field is not enough")
        #expect(sheet.answers == [])
        sheet.agree("12é4", "12é4")
        #expect(sheet.answers == [#"{"answer":1,"pin":"12é4"}"#])
    }

    @Test("a passphrase or recovery code")
    func secret() {
        var sheet = TimedSheet(Line.ask("secret", #""purpose":"join","path":"p","problem":{"code":"mistyped"}"#))
        #expect(sheet.content.problem == "The recovery code has a typo." && sheet.content.fields == [.secret])
        #expect(sheet.agree("") == "Type the passphrase or the recovery code.")
        sheet.agree("correct horse")
        #expect(sheet.answers == [#"{"answer":1,"secret":"correct horse"}"#])
    }

    @Test("a new passphrase is typed twice, and a weak one comes back")
    func newSecret() {
        var sheet = TimedSheet(Line.ask("new-secret", #""path":"p","minimumBits":60"#))
        #expect(sheet.agree("a", "b") == "The two passphrases differ.")
        #expect(sheet.agree("", "") == "Type a passphrase.")
        sheet.agree("a", "a")
        #expect(sheet.answers == [#"{"answer":1,"secret":"a"}"#])
        let problem = #","problem":{"code":"weak","bits":12}"#
        sheet.receive(Line.ask("new-secret", #""path":"p","minimumBits":60\#(problem)"#, 2))
        #expect(sheet.content.problem == "Too easy to guess: worth about 12 bits; 60 are needed.")
    }

    private static let code = #""groups":["AAAAA","BBBBB","CCCCC","DDDDD","EEEEE","FFFFF"],"path":"p""#

    @Test("a recovery code counts as written down once two groups are typed")
    func recoveryCode() {
        var sheet = TimedSheet(Line.ask("recovery-code", Self.code))
        #expect(sheet.content.groups.count == 6 && sheet.content.agree == "Written Down")
        sheet.agree()
        #expect(sheet.answers == [] && sheet.content.groups == [], "the code is not shown while it is asked for")
        #expect(sheet.content.fields == [.group(2), .group(4)] && sheet.content.offersBack)
        #expect(sheet.agree("BBBBB", "DDDDD") == nil && sheet.answers == [], "not at once")
        sheet.now += SheetModel.agreementDelay
        #expect(sheet.agree("BBBBB", "DDDDE") == "That is not group 4 of the code.")
        #expect(sheet.content.wrongField == 1)
        #expect(sheet.agree("DDDDD", "BBBBB") == "That is not group 2 of the code.")
        sheet.agree("bbbbb ", "DDddD")
        #expect(sheet.answers == [#"{"answer":1,"agree":true}"#])
    }

    @Test("a recovery code can be shown again, and declined")
    func recoveryCodeAgain() {
        var sheet = TimedSheet(Line.ask("recovery-code", Self.code))
        sheet.agree()
        sheet.model.goBack(at: sheet.now)
        #expect(sheet.content.groups.count == 6)
        sheet.now += SheetModel.agreementDelay
        sheet.agree()
        #expect(sheet.content.fields == [.group(2), .group(4)])
        sheet.decline()
        #expect(sheet.answers == [#"{"answer":1,"decline":true}"#])
    }

    @Test("a deletion is destructive")
    func deletion() {
        let members = #""rpId":"example.com","site":"domain","account":\#(Line.one),"passkey":"f738aa""#
        let content = TimedSheet(Line.ask("delete", members)).content
        #expect(content.question == "Delete the passkey of this account permanently?" && content.isDestructive)
        #expect(content.source == ["Passkey f738aa"] && content.agree == "Delete")
        let key = TimedSheet(Line.ask("delete", members + #","encryptionKey":true"#)).content
        #expect(key.question == "Delete this encryption key permanently?")
        #expect(key.details.contains("Files that only it opens are lost."))
    }

    @Test("questions in words")
    func words() {
        var sheet = TimedSheet(Line.ask("question", #""text":"Replace it?\n\nIt is old.","agree":"Replace""#))
        #expect(sheet.content.question == "Replace it?" && sheet.content.details == ["It is old."])
        #expect(sheet.content.agree == "Replace" && sheet.content.decline == "Cancel")
        sheet.agree()
        #expect(sheet.answers == [#"{"answer":1,"agree":true}"#])
    }
}
