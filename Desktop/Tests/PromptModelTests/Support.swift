// SPDX-License-Identifier: Apache-2.0

import HybridPrimitives
import HybridPromptModel

/// The text of a code: version 5, like those of real sign-ins.
let codeText = "FIDO:/" + String(repeating: "0123456789", count: 17)
/// A host key's fingerprint as OpenSSH prints it.
let fingerprint = "SHA256:" + String(repeating: "aB3+/", count: 8) + "xyz"

extension SecretBytes {
    /// Creates a copy of a text in UTF-8.
    convenience init(_ text: String) {
        self.init(copying: Array(text.utf8))
    }

    /// Creates a copy of an array.
    convenience init(copying bytes: [UInt8]) {
        self.init(count: bytes.count)
        memory.copyBytes(from: bytes)
    }

    /// The content as text.
    var text: String { String(decoding: memory, as: UTF8.self) }
}

/// A model with the time that its tests set.
struct TimedModel {
    var model = PromptModel()
    var now = ContinuousClock.now

    var view: PromptView { model.view }

    /// Creates a model and applies lines.
    init(_ lines: String...) throws {
        for line in lines { try receive(line) }
    }

    mutating func receive(_ line: String) throws { try model.receive(SecretBytes(line), at: now) }

    /// Applies an answer; returns true if it is to be reported.
    mutating func answers(_ answer: PromptAnswer) -> Bool { model.answer(answer, at: now) }

    /// Applies the event of a state.
    mutating func enter(_ state: String) throws { try receive(#"{"event":"state","state":"\#(state)"}"#) }
}

/// Lines of a sign-in at a website.
enum Line {
    static let request = #"{"event":"request","operation":"sign-in","rp_id":"example.com","timeout_ms":90000}"#
    static let code = #"{"event":"qr","elapsed_ms":8,"text":"\#(codeText)"}"#
    static let error = """
        {"event":"error","code":"phone-not-nearby","message":"no phone was found nearby",\
        "remedy":"scan the code with a phone that has Bluetooth on"}
        """
    /// Returns the request of a host for a website, with further members.
    static func remote(_ members: String = "", operation: String = "remote-sign-in") -> String {
        let members = #""rp_id":"shop.example","hosts":["web1.example"],"timeout_ms":100000\#(members)"#
        return #"{"event":"request","operation":"\#(operation)",\#(members)}"#
    }
    /// Returns the request of an ssh login with further members.
    static func login(_ members: String) -> String {
        #"{"event":"request","operation":"ssh-login","rp_id":"k7.invalid","key":"laptop","user":"ada"\#(members)}"#
    }
}
