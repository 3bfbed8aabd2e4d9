// SPDX-License-Identifier: Apache-2.0

import HybridPromptModel
import Testing

@Suite("The request of another host for a website")
struct RemoteRequestTests {
    private func request(_ line: String) throws -> PromptRequest { try #require(try TimedModel(line).view.request) }

    /// Returns a request with these hosts, written as JSON, and further members.
    private func request(hosts: String, _ members: String = "") throws -> PromptRequest {
        let required = #""operation":"remote-sign-in","rp_id":"shop.example""#
        return try request(#"{"event":"request",\#(required),"hosts":[\#(hosts)]\#(members)}"#)
    }

    private static let condition = """
        Continue only if you have shop.example open in a browser on web1.example; this computer can't check that
        """
    private static let proximity = "Your phone proves that it is near this computer, not near web1.example"

    @Test(
        "names operation, site and host, and what this computer can't know",
        arguments: [
            ("remote-sign-in", "Sign in to shop.example, requested by web1.example"),
            ("remote-create", "Create a passkey for shop.example, requested by web1.example"),
        ]
    )
    func purpose(operation: String, purpose: String) throws {
        let request = try request(Line.remote(operation: operation))
        #expect(request.purpose == purpose)
        #expect(request.details.isEmpty && request.cautions == [Self.condition, Self.proximity])
        #expect(request.timeout == .seconds(100) && request.isRemote)
    }

    @Test("names the hosts on the way, nearest first, and counts those that do not fit")
    func path() throws {
        func way(_ names: [String]) throws -> String {
            let hosts = (names + ["web1.example"]).map { "\"\($0)\"" }.joined(separator: ",")
            let request = try request(hosts: hosts)
            #expect(request.purpose.hasSuffix("requested by web1.example"))
            return request.details.joined(separator: "\n")
        }
        #expect(try way(["bastion.example"]) == "Through bastion.example")
        #expect(try way(["[a.example]:2222", "b"]) == "Through [a.example]:2222, then b")
        #expect(try way([fingerprint]) == "Through the host with key \(fingerprint)")
        let four = ["a", "b", "c", "d"]
        #expect(try way(four) == "Through a, then b, then c, then d")
        #expect(try way(four + ["e", "f"]) == "Through a, then b, then c, then d, and 2 more")
        #expect(try way(four + (0..<11).map { "h\($0)" }) == "Through a, then b, then c, then d, and 11 more")
    }

    @Test("names a page of another domain")
    func page() throws {
        let asked = try request(hosts: #""web1.example""#, #","origin":"https://shop.example.org""#)
        #expect(asked.details == ["For the page https://shop.example.org"])
    }

    @Test("of a host without a name has its fingerprint once")
    func fingerprintAsName() throws {
        let request = try request(hosts: "\"\(fingerprint)\"", #","secret":true"#)
        #expect(request.purpose == "Sign in to shop.example, requested by the host with key \(fingerprint)")
        #expect(!(request.details + request.cautions).contains { $0.contains("SHA256:") })
        #expect(request.cautions[1].contains("anyone who controls that host can then read"))
    }

    @Test("says that the site also gets a secret, and who can read it")
    func secret() throws {
        let secret = try request(Line.remote(#","secret":true"#)).cautions
        let text = """
            The site also gets a secret of the passkey; \
            anyone who controls web1.example can then read what the site encrypts with it
            """
        #expect(secret == [Self.condition, text, Self.proximity])
        #expect(try request(Line.remote(#","secret":false"#)).cautions == [Self.condition, Self.proximity])
    }

    @Test("shows its cautions until the code needs their room, and not while the phone's user decides")
    func cautions() throws {
        var model = try TimedModel(Line.remote())
        #expect(model.view.cautions == [Self.condition, Self.proximity])
        try model.enter("use-phone")
        #expect(model.view.cautions == [Self.condition, Self.proximity])
        try model.receive(Line.code)
        for state in ["scan", "phone-found", "confirm", "done"] {
            try model.enter(state)
            #expect(model.view.cautions.isEmpty)
        }
        #expect(try TimedModel(Line.remote(), Line.code).view.cautions.isEmpty)
        #expect(try TimedModel(Line.request).view.cautions.isEmpty)
    }

    @Test("asks with Continue, which Enter never accepts")
    func question() throws {
        var model = try TimedModel(Line.remote())
        try model.enter("use-phone")
        #expect(model.view.offer == .proceed && model.view.offerText == "Continue")
        #expect(model.view.lastingOffer == nil && model.view.remaining(at: model.now) == "1:40")
        let early = model.answers(.proceed)
        model.now += PromptModel.offerDelay
        #expect(!model.view.isOfferDefault, "its user may be typing into a session on that host")
        let (always, first, second) = (
            model.answers(.proceedAlways), model.answers(.proceed), model.answers(.proceed)
        )
        #expect(!early && !always && first && !second)
        try model.receive(Line.code)
        try model.enter("scan")
        #expect(model.view.code != nil && model.view.offer == nil)
    }

    @Test("offers to agree always if the request may be permanent, with the delay of other offers and one answer")
    func permanent() throws {
        func asked() throws -> TimedModel {
            var model = try TimedModel(Line.remote(#","permanent":true"#))
            let unasked = model.answers(.proceedAlways)
            #expect(model.view.lastingOffer == nil && !unasked)
            try model.enter("use-phone")
            #expect(model.view.offer == .proceed && model.view.lastingOffer == .proceedAlways)
            let early = model.answers(.proceedAlways)
            #expect(!early)
            model.now += PromptModel.offerDelay
            return model
        }
        for (given, other) in [(PromptAnswer.proceedAlways, PromptAnswer.proceed), (.proceed, .proceedAlways)] {
            var model = try asked()
            let isAccepted = model.answers(given)
            #expect(isAccepted && model.view.offer == nil && model.view.lastingOffer == nil)
            let (again, otherOne) = (model.answers(given), model.answers(other))
            #expect(!again && !otherOne, "only one answer counts")
        }
        var over = try asked()
        try over.enter("scan")
        let late = over.answers(.proceedAlways)
        #expect(!late && over.view.lastingOffer == nil)
        #expect(PromptAnswer.proceedAlways.rawValue == "proceed-always")
    }

    @Test(
        "does not offer that for a new passkey, nor without the member",
        arguments: [
            Line.remote(#","permanent":true"#, operation: "remote-create"), Line.remote(#","permanent":false"#),
            Line.remote(), #"{"event":"request","operation":"sign-in","rp_id":"shop.example","permanent":true}"#,
        ]
    )
    func once(line: String) throws {
        var model = try TimedModel(line)
        try model.enter("use-phone")
        model.now += PromptModel.offerDelay
        #expect(model.view.lastingOffer == nil)
        let always = model.answers(.proceedAlways)
        let once = model.answers(.proceed)
        #expect(!always && once)
    }

    @Test("leaves the buttons of other questions as they are")
    func otherQuestions() throws {
        var model = try TimedModel(Line.request)
        try model.enter("use-phone")
        #expect(model.view.isOfferDefault && model.view.offerText == "Use Phone")
        try model.enter("contacting")
        #expect(model.view.isOfferDefault && model.view.offerText == "Show a Code")
        var linked = try TimedModel(Line.remote(), #"{"event":"linked-phone","phone":"Pixel"}"#)
        try linked.enter("scan")
        #expect(!linked.view.isOfferDefault && linked.view.offerText == #"Use "Pixel""#)
    }

    @Test(
        "is refused if it can't be shown safely",
        arguments: [
            #""rp_id":"shop.example""#, #""hosts":["h"]"#, #""rp_id":"shop.example","hosts":[]"#,
            #""rp_id":"shop.example","hosts":"h""#, #""rp_id":"shop.example","hosts":null"#,
            #""rp_id":"shop.example","hosts":{"0":"h"}"#, #""rp_id":"shop.example","hosts":[7]"#,
            #""rp_id":"shop.example","hosts":["h",null]"#, #""rp_id":"shop.example","hosts":[["h"]]"#,
            #""rp_id":"shop.example","hosts":[""]"#, #""rp_id":"shop.example","hosts":["a b"]"#,
            #""rp_id":"shop.example","hosts":["a\nb"]"#, #""rp_id":"shop.example","hosts":["a\u202eb"]"#,
            #""rp_id":"shop.example","hosts":["еxample"]"#, #""rp_id":"shop.example","hosts":["a b","h"]"#,
            #""rp_id":"shop.example","hosts":["SHA256:short"]"#, #""rp_id":"shop.example","hosts":["a+b"]"#,
            #""rp_id":"shop.example","hosts":["\#(fingerprint)x"]"#,
            #""rp_id":"shop.example","hosts":["\#(String(repeating: "a", count: 254))"]"#,
            #""rp_id":"shop.example","hosts":["h"\#(String(repeating: #","h""#, count: 16))]"#,
            #""rp_id":"ssh:","hosts":["h"]"#, #""rp_id":"pam://laptop","hosts":["h"]"#,
            #""rp_id":"shop.example:8443","hosts":["h"]"#, #""rp_id":"a b","hosts":["h"]"#,
            #""rp_id":"еxample.com","hosts":["h"]"#, #""rp_id":"","hosts":["h"]"#, #""rp_id":7,"hosts":["h"]"#,
            #""rp_id":"shop.example","hosts":["h"],"secret":1"#, #""rp_id":"shop.example","hosts":["h"],"secret":null"#,
            #""rp_id":"shop.example","hosts":["h"],"secret":"true""#,
            #""rp_id":"shop.example","hosts":["h"],"permanent":"yes""#,
        ]
    )
    func refusals(members: String) {
        for operation in ["remote-sign-in", "remote-create"] {
            #expect(throws: PromptInputError.unusableRequest, "\(members)") {
                try TimedModel(#"{"event":"request","operation":"\#(operation)",\#(members)}"#)
            }
        }
    }

    @Test("has at most sixteen hosts")
    func mostHosts() throws {
        let request = try request(hosts: Array(repeating: #""h""#, count: 16).joined(separator: ","))
        #expect(request.details.first == "Through h, then h, then h, then h, and 11 more")
    }
}
