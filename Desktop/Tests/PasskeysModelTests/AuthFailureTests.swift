// SPDX-License-Identifier: Apache-2.0

import HybridPasskeysModel
import Testing

/// Returns the failure that a line reports.
private func reported(_ text: String) -> AuthFailure? {
    guard case .failure(let failure) = AuthEvent(line(text)) else { return nil }
    return failure
}

@Suite("Failures of the helper")
struct AuthFailureTests {
    @Test("are read from the last line of standard error")
    func event() throws {
        let failure = try #require(
            reported(
                #"{"event":"error","elapsed_ms":5,"code":"adapter-off","message":"Bluetooth is off","remedy":"switch it on"}"#
            )
        )
        #expect(failure.code == "adapter-off")
        #expect(failure.technical == "Bluetooth is off. Switch it on.")
        #expect(failure.words.title == "Bluetooth is off" && failure.words.advice == "Turn it on, then try again.")
    }

    @Test(
        "have words of the app for each code",
        arguments: [
            "declined", "wrong-pin", "pin-wait", "not-found", "ambiguous", "no-vault", "busy", "malformed",
            "no-passkey",
            "already-registered", "client-not-nearby", "relay-unreachable", "certificate-expired", "tls-missing",
            "proxy-refused", "adapter-off", "no-adapter", "vault-unusable", "tpm-locked-out", "session-locked", "usage",
            "bad-data", "no-input", "unavailable", "not-written", "temporary", "not-permitted", "configuration",
            "internal-fault", "user-not-reachable", "not-installed", "ended",
        ]
    )
    func words(code: String) {
        let failure = AuthFailure(code: code, technical: "Run hybrid-auth again.")
        #expect(failure.words.title != "It did not work")
        #expect(!failure.sentence.contains("Run hybrid-auth"))
    }

    @Test("of an unknown code keep the helper's sentences for support only")
    func unknown() {
        let failure = AuthFailure(code: "something-new", technical: "Run it.")
        #expect(failure.words.title == "It did not work" && !failure.sentence.contains("Run it"))
    }

    @Test("say how long to wait, also if the number is a text")
    func wait() throws {
        let short = try #require(reported(#"{"event":"error","code":"pin-wait","message":"m","waitSeconds":30}"#))
        #expect(short.sentence == "Too many wrong PINs. Try again in 30 seconds.")
        let long = try #require(reported(#"{"event":"error","code":"pin-wait","message":"m","waitSeconds":"3541"}"#))
        #expect(long.sentence == "Too many wrong PINs. Try again in 60 minutes.")
        let one = AuthFailure(code: "pin-wait", waitSeconds: 1)
        #expect(one.words.advice == "Try again in 1 second.")
        for value in ["-5", "0", "null", "\"x\"", "1e40"] {
            let event = #"{"event":"error","code":"pin-wait","waitSeconds":\#(value)}"#
            #expect(reported(event)?.words.advice == "Wait a while, then try again.", "\(value)")
        }
    }

    @Test("of a helper that says nothing follow from its exit status")
    func status() {
        #expect(AuthFailure(status: 66).code == "no-input")
        #expect(AuthFailure(status: 130).isCancellation)
        #expect(AuthFailure(status: nil).code == "ended" && AuthFailure(status: 3).code == "ended")
        #expect(
            AuthFailure(status: 64, lastLine: "hybrid-auth: no\u{1B}[2J such").technical == "Hybrid-auth: no[2J such."
        )
    }

    @Test("may have an exit status in place of a code")
    func numericCode() {
        #expect(reported(#"{"event":"error","code":130,"message":"interrupted"}"#)?.isCancellation == true)
    }

    @Test(
        "have no hostile codes and texts",
        arguments: [#""code":"<b>x</b>""#, #""code":"A B""#, #""code":"""#, #""code":["declined"]"#, #""x":1"#]
    )
    func hostileCode(member: String) { #expect(reported(#"{"event":"error",\#(member)}"#)?.code == "unknown") }

    @Test("have texts of one line and bounded length")
    func hostileText() throws {
        let long = String(repeating: "x", count: 5000)
        let text = try #require(reported(#"{"event":"error","code":"busy","message":"a\nb\u202ec\#(long)"}"#)).technical
        #expect(text.hasPrefix("A bcxxx") && text.count <= 402 && text.hasSuffix("…"))
    }
}

@Suite("Events of the helper")
struct AuthEventTests {
    @Test("are states, notices and findings")
    func events() {
        #expect(
            AuthEvent(line(#"{"event":"state","elapsed_ms":3,"state":"asked","operation":"create"}"#))
                == .state("asked", operation: "create")
        )
        #expect(AuthEvent(line(#"{"event":"notice","notice":"old-code","message":"m"}"#)) == .notice("old-code"))
        guard case .finding = AuthEvent(line(#"{"event":"check","check":"adapter","state":"ok","found":"f"}"#)) else {
            Issue.record("no finding")
            return
        }
    }

    @Test(
        "are nothing else",
        arguments: [
            "", "hybrid-auth: tunnel open", "[]", "7", #"{"event":"state"}"#, #"{"event":7}"#, #"{"state":"done"}"#,
            #"{"event":"state","state":"done"} "x""#, #"{"event":"state","state":"done","state":"asked"}"#,
            #"{"event":"check","check":"adapter","state":"great"}"#, #"{"event":"check","state":"ok"}"#,
            #"{"event":"notice","notice":7}"#, #"{"event":"weather"}"#,
        ]
    )
    func others(text: String) { #expect(AuthEvent(line(text)) == nil) }
}

@Suite("Lines of output")
struct OutputLinesTests {
    @Test("are independent of the pieces in which they arrive")
    func pieces() {
        let text = "one\n\ntwo\nthree"
        for size in 1...text.utf8.count {
            var lines = OutputLines(limit: 100)
            var found: [[UInt8]] = []
            var rest = Array(text.utf8)[...]
            while !rest.isEmpty {
                found += lines.append(rest.prefix(size))
                rest = rest.dropFirst(size)
            }
            #expect(found == [line("one"), [], line("two")])
            #expect(lines.finish() == line("three"))
        }
    }

    @Test("that are too long become empty")
    func limit() {
        var lines = OutputLines(limit: 4)
        #expect(lines.append(line("four\nfives\nsix\n")) == [line("four"), [], line("six")])
        #expect(lines.append(line("fives")) == [])
        #expect(lines.finish() == nil)
        #expect(lines.append(line("a\n")) == [line("a")])
    }
}
