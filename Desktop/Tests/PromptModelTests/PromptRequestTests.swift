// SPDX-License-Identifier: Apache-2.0

import HybridPromptModel
import Testing

@Suite("The purpose of a request")
struct PromptRequestTests {
    private func request(_ line: String) throws -> PromptRequest { try #require(try TimedModel(line).view.request) }

    @Test("names operation and relying party")
    func websites() throws {
        #expect(try request(Line.request).purpose == "Sign in to example.com")
        let create = try request(#"{"event":"request","operation":"create","rp_id":"xn--bcher-kva.example"}"#)
        #expect(create.purpose == "Create a passkey for xn--bcher-kva.example")
        #expect(create.details.isEmpty && create.timeout == nil)
        let select = try request(#"{"event":"request","operation":"select"}"#)
        #expect(select.purpose == "Use your phone as security key?")
    }

    @Test("of a digital credential names the website")
    func digitalCredentials() throws {
        let present = try request(#"{"event":"request","operation":"present","origin":"https://shop.example:8443"}"#)
        #expect(present.purpose == "Present a digital credential to https://shop.example:8443")
        let issue = try request(#"{"event":"request","operation":"issue","origin":"https://town.example"}"#)
        #expect(issue.purpose == "Receive a digital credential from https://town.example")
    }

    @Test("of a link names the key that the phone has")
    func link() throws {
        let line = #"{"event":"request","operation":"link","key":"work \u202elaptop","rp_id":"k7.invalid""#
        let request = try request(line + #","fingerprint":"\#(fingerprint)","timeout_ms":120000}"#)
        #expect(request.purpose == #"Link the phone that has ssh key "work laptop""#)
        #expect(request.details == ["Key \(fingerprint)", "Passkey of k7.invalid"])
        #expect(request.timeout == .seconds(120))
        let short = try self.request(line + "}")
        #expect(short.details == ["Passkey of k7.invalid"])
    }

    @Test(
        "says what local services want, which are no websites",
        arguments: [
            ("sign-in", "ssh:", "Use an SSH key"), ("sign-in", "ssh:work", "Use the SSH key work"),
            ("create", "ssh:", "Create an SSH key"), ("create", "ssh:work", "Create the SSH key work"),
            ("sign-in", "pam://laptop", "Confirm sudo or another login on laptop"),
            ("sign-in", "pam://laptop/sudo", "Confirm sudo on laptop"),
            ("create", "pam://laptop/su", "Enrol the phone for su on laptop"),
            ("create", "pam://laptop", "Enrol the phone for laptop"),
            ("sign-in", "ssh.example", "Sign in to ssh.example"), ("sign-in", "pam.example", "Sign in to pam.example"),
        ]
    )
    func localServices(operation: String, relyingParty: String, purpose: String) throws {
        let line = #"{"event":"request","operation":"\#(operation)","rp_id":"\#(relyingParty)"}"#
        #expect(try request(line).purpose == purpose)
    }

    @Test("of an ssh login names host, key, user and host key")
    func login() throws {
        let request = try request(Line.login(#","host":"[build.example]:2222","fingerprint":"\#(fingerprint)""#))
        #expect(request.purpose == #"Sign in to [build.example]:2222 by ssh key "laptop""#)
        #expect(request.details == [#"User "ada""#, "Host key \(fingerprint)", "Passkey of k7.invalid"])
    }

    @Test("of an ssh login without a known host does not name one")
    func unknownHost() throws {
        let known = try request(Line.login(#","fingerprint":"\#(fingerprint)""#))
        #expect(known.purpose == #"Sign in by ssh key "laptop""#)
        #expect(known.details.contains("Host key \(fingerprint)"))
        let unknown = try request(Line.login(""))
        #expect(unknown.details.contains("The host is unknown; another computer might have sent this request"))
        let forwarded = try request(Line.login(#","forwarded":true,"fingerprint":"\#(fingerprint)""#))
        #expect(forwarded.details.contains("Sent by another computer through agent forwarding"))
    }

    @Test("of an ssh login says that a host key is weak")
    func weak() throws {
        func hostKey(_ weak: String) throws -> String {
            try request(Line.login(#","fingerprint":"\#(fingerprint)","weak":\#(weak)"#)).details[1]
        }
        #expect(try hostKey("true") == "Weak host key \(fingerprint)")
        #expect(try hostKey("false") == "Host key \(fingerprint)")
    }

    @Test("of an ssh login with a certificate names its principals and its authority")
    func certificate() throws {
        let authority = "SHA256:" + String(repeating: "Zz09/", count: 8) + "abc"
        let members = #","fingerprint":"\#(fingerprint)","principals":"\"ada\", \"root\" and 1 more""#
        let request = try request(Line.login(members + #","authority":"\#(authority)""#))
        let line = #"Certificate for "ada", "root" and 1 more, of the authority \#(authority)"#
        #expect(request.details == [#"User "ada""#, "Host key \(fingerprint)", line, "Passkey of k7.invalid"])
    }

    @Test("of an ssh signature names the namespace")
    func signature() throws {
        func purpose(_ namespace: String) throws -> String {
            let members = #""rp_id":"k7.invalid","key":"laptop","namespace":"\#(namespace)""#
            return try request(#"{"event":"request","operation":"ssh-signature",\#(members)}"#).purpose
        }
        #expect(try purpose("git") == #"Sign for git by ssh key "laptop""#)
        #expect(try purpose("file") == #"Sign for "file" by ssh key "laptop""#)
    }

    @Test("shows names without control, bidirectional and invisible characters")
    func names() throws {
        let request = try request(
            #"{"event":"request","operation":"ssh-login","rp_id":"k7.invalid","user":"root\u202egro\n\u200bx\u0007","#
                + #""key":"a\" to good.example <b>"}"#
        )
        #expect(request.details.first == #"User "rootgrox""#)
        #expect(request.purpose == #"Sign in by ssh key "a' to good.example b""#)
    }

    @Test("shortens long names")
    func longNames() throws {
        let name = String(repeating: "n", count: 5000)
        let purpose = try request(
            #"{"event":"request","operation":"ssh-login","rp_id":"k7.invalid","user":"u","key":"\#(name)"}"#
        ).purpose
        #expect(purpose.count < 100 && purpose.hasSuffix("…\""))
    }

    @Test(
        "is refused if it can't be shown safely",
        arguments: [
            #""operation":"sign-in""#, #""operation":"sign-in","rp_id":"""#, #""operation":"sign-in","rp_id":7"#,
            #""operation":"sign-in","rp_id":"a b""#, #""operation":"sign-in","rp_id":"еxample.com""#,
            #""operation":"sign-in","rp_id":"a\u202eb""#, #""operation":"sign-in","rp_id":"a\nb""#,
            #""operation":"sign-in","rp_id":"\#(String(repeating: "a", count: 254))""#,
            #""operation":"delete","rp_id":"a.example""#, #""rp_id":"a.example""#,
            #""operation":"ssh-login","rp_id":"a.example","key":"k""#,
            #""operation":"ssh-login","rp_id":"a.example","user":"u""#,
            #""operation":"ssh-login","user":"u","key":"k""#,
            #""operation":"ssh-login","rp_id":"a.example","user":"u","key":"k","host":"a b""#,
            #""operation":"ssh-login","rp_id":"a.example","user":"u","key":"k","host":"""#,
            #""operation":"ssh-login","rp_id":"a.example","user":"u","key":"k","fingerprint":"SHA256:short""#,
            #""operation":"ssh-login","rp_id":"a.example","user":"u","key":"k","fingerprint":"\#(fingerprint)x""#,
            #""operation":"ssh-signature","rp_id":"a.example","key":"k""#,
            #""operation":"ssh-login","rp_id":"a.example","user":"u","key":"k","authority":"\#(fingerprint)""#,
            #""operation":"ssh-login","rp_id":"a.example","user":"u","key":"k","authority":"ca","principals":"u""#,
            #""operation":"ssh-login","rp_id":"a.example","user":"u","key":"k","authority":"\#(fingerprint)","#
                + #""principals":"u\nHost key""#,
            #""operation":"link","rp_id":"a.example""#, #""operation":"link","key":"k""#,
            #""operation":"link","rp_id":"a.example","key":"k","fingerprint":"""#,
            #""operation":"present","rp_id":"a.example""#, #""operation":"issue","origin":"https://a b""#,
        ]
    )
    func refusals(members: String) {
        #expect(throws: PromptInputError.unusableRequest, "\(members)") {
            try TimedModel(#"{"event":"request",\#(members)}"#)
        }
    }

    @Test("does not change once it is shown")
    func first() throws {
        let other = #"{"event":"request","operation":"create","rp_id":"other.example"}"#
        #expect(try TimedModel(Line.request, other).view.request?.purpose == "Sign in to example.com")
    }
}
