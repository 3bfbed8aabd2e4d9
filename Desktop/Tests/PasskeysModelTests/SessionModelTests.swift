// SPDX-License-Identifier: Apache-2.0

import HybridPasskeysModel
import Testing

@Suite("A session with the passkeys")
struct SessionModelTests {
    private let list = #"{"n":1,"do":"list","hidden":true}"#

    @Test("asks for the list when it is unlocked")
    func unlock() {
        var session = PasskeySession()
        #expect(session.state == .locked(nil))
        #expect(session.show("f7380001") == nil)
        session.start()
        #expect(session.state == .unlocking)
        #expect(session.receive(line(#"{"ready":1,"vault":"/v","count":1}"#)) == [.changed, .send(list)])
        #expect(session.state == .open && !session.hasList)
        #expect(session.receive(line(#"{"n":1,"passkeys":[\#(row())],"hidden":0}"#)) == [.changed])
        #expect(session.hasList && session.passkeys.count == 1)
    }

    @Test("reads the list again after other commands")
    func again() {
        var session = openSession(row(1))
        #expect(session.list() == #"{"n":2,"do":"list","hidden":true}"#)
        #expect(session.passkeys.count == 1)
        #expect(session.receive(line(#"{"n":2,"passkeys":[\#(row(1)),\#(row(2))],"hidden":0}"#)) == [.changed])
        #expect(session.passkeys.map(\.id) == [passkeyID(1), passkeyID(2)])
    }

    @Test("has thousands of passkeys on one line")
    func manyPasskeys() {
        var session = PasskeySession()
        session.start()
        _ = session.receive(line(#"{"ready":1}"#))
        let rows = (0..<10_000).map { row().replacing("f7380001", with: "f738\(100_000 + $0)") }
        _ = session.receive(line(#"{"n":1,"passkeys":[\#(rows.joined(separator: ","))]}"#))
        #expect(session.passkeys.count == 10_000)
    }

    @Test("shows details with the history, the newest use first")
    func details() throws {
        var session = openSession(row())
        #expect(session.show(passkeyID(1)) == #"{"n":2,"do":"show","passkey":"f7380001"}"#)
        let history = """
            {"at":10,"rpId":"example.com","operation":"create","outcome":"done","passkey":"f7380001"},\
            {"at":30,"operation":"sign-in","outcome":"declined"},{"at":20,"operation":"sign","outcome":"client-gone"},\
            {"operation":"sign-in"},7,{"at":5,"operation":"dance","outcome":"sung"}
            """
        let shown = row(more: #","lastUsed":1795940000,"history":[\#(history)]"#)
        #expect(session.receive(line(#"{"n":2,"passkey":\#(shown)}"#)) == [.shown(passkeyID(1))])
        let uses = try #require(session.histories[passkeyID(1)])
        #expect(uses.map(\.operationText) == ["Sign-in", "SSH signature", "Created", "Request"])
        #expect(uses.map(\.outcomeText) == ["Declined", "Connection lost", "Done", "Failed"])
        #expect(session.passkey(passkeyID(1))?.summary(clock) == "Used today")
    }

    @Test("opens the page of a website, and nothing else")
    func manage() {
        var session = openSession(row(), row(2, site: "ssh:laptop"))
        #expect(session.manage(passkeyID(2)) == nil && session.manage("f7380009") == nil)
        #expect(session.manage(passkeyID(1)) == #"{"n":2,"do":"manage","passkey":"f7380001"}"#)
        let page = "https://example.com/passkeys"
        #expect(session.receive(line(#"{"n":2,"manage":"\#(page)"}"#)) == [.open(page)])
        for other in ["http://example.com/", "file:///etc/passwd", "javascript:1"] {
            session = openSession(row())
            _ = session.manage(passkeyID(1))
            #expect(session.receive(line(#"{"n":2,"manage":"\#(other)"}"#)) == [])
        }
    }

    @Test("renames, and undoes that with the earlier names")
    func rename() throws {
        var session = openSession(row(name: "ada", display: "Ada", more: #","lastUsed":1795940000"#))
        let before = try #require(session.passkeys.first)
        let command = #"{"n":2,"do":"rename","passkey":"f7380001","name":"countess","displayName":"Ada L."}"#
        #expect(session.rename(before.id, name: "countess", displayName: "Ada L.") == command)
        let effects = session.receive(line(#"{"n":2,"passkey":\#(row(name: "countess", display: "Ada L."))}"#))
        let after = try #require(session.passkeys.first)
        #expect(after.userName == "countess" && after.lastUsed == before.lastUsed)
        guard case .renamed(let renamed, before: before) = effects.last else {
            Issue.record("\(effects)")
            return
        }
        #expect(renamed.userName == "countess")
        #expect(
            session.undoRename(to: before)
                == #"{"n":3,"do":"rename","passkey":"f7380001","name":"ada","displayName":"Ada"}"#
        )
    }

    @Test("leaves out a second name that stays, which may be longer than users can choose")
    func longSecondName() {
        let long = String(repeating: "x", count: 5000)
        var session = openSession(row(display: long))
        #expect(
            session.rename(passkeyID(1), name: "countess", displayName: long)
                == #"{"n":2,"do":"rename","passkey":"f7380001","name":"countess"}"#
        )
    }

    @Test(
        "refuses names that can't be seen or do not fit",
        arguments: ["", " ", "\u{200B}", String(repeating: "x", count: 1025)]
    )
    func badNames(name: String) {
        var session = openSession(row())
        #expect(session.rename(passkeyID(1), name: name, displayName: "") == nil)
        #expect(session.rename(passkeyID(1), name: "ada", displayName: String(repeating: "x", count: 1025)) == nil)
    }

    @Test("has commands that fit a line of the helper, also with names that are escaped")
    func longestCommand() throws {
        var session = openSession(row())
        let name = String(repeating: "\u{202E}x", count: 256)
        let line = session.rename(passkeyID(1), name: name, displayName: name)
        let command = try #require(line)
        #expect(command.utf8.count <= 8192)
    }

    @Test("deletes after the helper has asked")
    func delete() throws {
        var session = openSession(row(1), row(2))
        let deleted = try #require(session.passkey(passkeyID(2)))
        #expect(session.delete(deleted.id) == #"{"n":2,"do":"delete","passkey":"f7380002"}"#)
        #expect(session.passkeys.count == 2)
        #expect(session.receive(line(#"{"n":2,"passkey":\#(row(2))}"#)) == [.changed, .deleted(deleted)])
        #expect(session.passkeys.map(\.id) == [passkeyID(1)])
    }

    @Test("keeps the passkey if the deletion was declined, and says so")
    func declined() {
        var session = openSession(row())
        _ = session.delete(passkeyID(1))
        let result = #"{"n":2,"error":{"code":"declined","message":"you declined","remedy":""}}"#
        #expect(
            session.receive(line(result)) == [
                .changed, .refused(AuthFailure(code: "declined", technical: "You declined.")),
            ]
        )
        #expect(session.passkeys.count == 1 && session.state == .open)
    }

    @Test("ignores results of commands that it has not given")
    func foreignResults() {
        var session = openSession(row())
        for text in [
            #"{"n":9,"passkeys":[]}"#, #"{"passkeys":[]}"#, #"{"n":"1","passkeys":[]}"#, #"{"n":1,"passkeys":[]}"#,
        ] {
            #expect(session.receive(line(text)) == [])
        }
        #expect(session.passkeys.count == 1)
    }

    @Test("changes no other passkey than those of the list")
    func otherPasskey() {
        var session = openSession(row())
        _ = session.show(passkeyID(1))
        _ = session.receive(line(#"{"n":2,"passkey":\#(row(7))}"#))
        #expect(session.passkeys.map(\.id) == [passkeyID(1)])
    }

    @Test(
        "locks at its end and forgets the passkeys",
        arguments: [
            (#"{"end":"idle"}"#, PasskeySession.LockReason.idle), (#"{"end":"locked"}"#, .screenLocked),
            (#"{"end":"new"}"#, nil), ("garbage", .failed(AuthFailure(code: "malformed"))),
            ("", .failed(AuthFailure(code: "malformed"))),
        ] as [(String, PasskeySession.LockReason?)]
    )
    func end(text: String, reason: PasskeySession.LockReason?) {
        var session = openSession(row())
        _ = session.show(passkeyID(1))
        #expect(session.receive(line(text)) == [.locked])
        #expect(session.state == .locked(reason) && session.passkeys.isEmpty && session.histories.isEmpty)
        #expect(session.end(status: 0) == [])
        #expect(session.state == .locked(reason))
        #expect(session.show(passkeyID(1)) == nil)
    }

    @Test("says why it could not begin")
    func failedStart() {
        var session = PasskeySession()
        session.start()
        session.receiveDiagnostic(line("hybrid-auth: ignored: /v/x: not a slot"))
        session.receiveDiagnostic(line(#"{"event":"error","code":"pin-wait","message":"m","waitSeconds":30}"#))
        #expect(session.end(status: 77) == [.locked])
        guard case .locked(let reason?) = session.state else {
            Issue.record("\(session.state)")
            return
        }
        #expect(reason.text == "Too many wrong PINs. Try again in 30 seconds.")
    }

    @Test("does not explain what the user did", arguments: ["declined", "interrupted"])
    func declinedStart(code: String) {
        var session = PasskeySession()
        session.start()
        session.receiveDiagnostic(line(#"{"event":"error","code":"\#(code)","message":"m"}"#))
        #expect(session.end(status: 77) == [.locked])
        #expect(session.state == .locked(nil))
    }

    @Test("ends with the helper")
    func killed() {
        var session = openSession(row())
        #expect(session.end(status: nil) == [.locked])
        #expect(session.state == .locked(.failed(.ended)))
    }

    @Test("is not open before the helper is ready")
    func notReady() {
        var session = PasskeySession()
        session.start()
        #expect(session.receive(line("")) == [])
        #expect(session.receive(line(#"{"n":1,"passkeys":[]}"#)) == [.locked])
    }
}
