// SPDX-License-Identifier: Apache-2.0

import HybridPrimitives
import HybridWebAuthn
import Testing

@Suite("Digital credentials")
struct DigitalCredentialTests {
    /// A website's request; the member `origin` is only its claim.
    private static let json =
        #"{"origin":"https://other.example","#
        + #""digital":{"requests":[{"protocol":"p","data":{"n":1e400,"s":"é\u0000"}}]},"x":1}"#

    private static func request(
        _ json: String = Self.json,
        _ operation: DigitalCredentialRequest.Operation = .presentation
    ) throws -> DigitalCredentialRequest {
        try DigitalCredentialRequest(
            json: Array(json.utf8),
            operation: operation,
            origin: Origin("https://Example.com:443")
        )
    }

    private static func error(_ reply: String, to json: String = Self.json) throws -> DigitalCredentialError {
        let request = try request(json)
        return try #require(throws: DigitalCredentialError.self) {
            try DigitalCredentialResponse(reply: Array(reply.utf8), to: request)
        }
    }

    private static func output(_ data: String, to json: String = Self.json) throws -> String {
        let reply = #"{"response":{"digital":{"data":"# + data + "}}}"
        return String(
            decoding: try DigitalCredentialResponse(reply: Array(reply.utf8), to: request(json)).json,
            as: UTF8.self
        )
    }

    @Test("the message has the caller's origin, the operation and the unchanged data")
    func message() throws {
        let start = #"{"origin":"https://example.com","requestType":"credential."#
        let rest = #"","request":{"digital":{"requests":[{"protocol":"p","data":{"n":1e400,"s":"é\u0000"}}]}}}"#
        #expect(String(decoding: try Self.request().message, as: UTF8.self) == start + "get" + rest)
        let issuance = try Self.request(Self.json, .issuance)
        #expect(String(decoding: issuance.message, as: UTF8.self) == start + "create" + rest)
        let received = try DigitalCredentialRequest(message: issuance.message)
        #expect(
            received.operation == .issuance && received.origin == "https://example.com" && received.protocols == ["p"]
        )
    }

    @Test(
        "unusable requests are rejected",
        arguments: [
            "", "[]", "{}", #"{"digital":[]}"#, #"{"digital":{"requests":[]}}"#, #"{"digital":{"requests":{}}}"#,
            #"{"digital":{"requests":[{"protocol":"p"}]}}"#, #"{"digital":{"requests":[{"data":{}}]}}"#,
            #"{"digital":{"requests":[{"protocol":"","data":{}}]}}"#,
            #"{"digital":{"requests":[{"protocol":"p","data":1}]}}"#,
            #"{"digital":{"requests":[{"protocol":"p","data":{}}]},"digital":1}"#, #"{"publicKey":{}}"#,
        ]
    )
    func unusable(json: String) throws {
        let error = try #require(throws: DigitalCredentialError.self) { try Self.request(json) }
        #expect(error.code == "request-unusable" && error.status == .dataError)
    }

    @Test("a long request is rejected before it is parsed")
    func longRequest() throws {
        let json = String(repeating: " ", count: DigitalCredentialRequest.maximumBytes)
        #expect(throws: DigitalCredentialError.requestTooLong) { try Self.request(json + Self.json) }
    }

    @Test("the output has protocol and data; a bare value has the request's only protocol")
    func output() throws {
        #expect(
            try Self.output(#"{"protocol":"q","data":{"b":2.50,"a":1}}"#)
                == #"{"protocol":"q","data":{"b":2.50,"a":1}}"#
        )
        #expect(try Self.output(#"{"vp_token":"x"}"#) == #"{"protocol":"p","data":{"vp_token":"x"}}"#)
        #expect(try Self.output(#""x""#) == #"{"protocol":"p","data":"x"}"#)
        let two = #"{"digital":{"requests":[{"protocol":"p","data":{}},{"protocol":"q","data":{}}]}}"#
        #expect(try Self.output(#""x""#, to: two) == #"{"data":"x"}"#)
        #expect(try Self.output(#""\u001b[2J\u202e""#) == #"{"protocol":"p","data":"\u001b[2J\u202e"}"#)
    }

    @Test("each error has its own sentence, code and status")
    func errors() throws {
        let names = ["USER_CANCELED", "DEVICE_ABORTED", "NO_CREDENTIAL", "user_canceled"]
        let errors = try names.map { try Self.error(#"{"response":{"digital":{"error":"\#($0)"}}}"#) }
        #expect(errors == [.declined, .aborted, .noCredential, .otherRefusal])
        let all = errors + [.malformedReply("x")]
        #expect(
            Set(all.map(\.sentence)).count == 5 && Set(all.map(\.code)).count == 5 && Set(all.map(\.status)).count == 5
        )
    }

    @Test(
        "malformed replies are rejected, and no error shows a part of them",
        arguments: [
            "", "SECRET", "[]", #"{"response":"SECRET"}"#, #"{"response":{"digital":"SECRET"}}"#,
            #"{"response":{"digital":{}}}"#,
            #"{"response":{"digital":{"error":["SECRET"]}}}"#, #"{"response":{"digital":{"error":"SECRET","data":1}}}"#,
            #"{"response":{"digital":{"data":"SECRET","data":1}}}"#, #"{"response":{"digital":{"data":"SECRET"}}} x"#,
        ]
    )
    func malformed(reply: String) throws {
        let error = try Self.error(reply)
        #expect(error.code == "phone-misbehaved" && !error.sentence.contains("SECRET"))
        #expect(!(try Self.error(#"{"response":{"digital":{"error":"SECRET"}}}"#)).sentence.contains("SECRET"))
    }

    @Test("a response is never printed")
    func hidden() throws {
        let reply = #"{"response":{"digital":{"data":{"name":"SECRET"}}}}"#
        let response = try DigitalCredentialResponse(reply: Array(reply.utf8), to: try Self.request())
        var dumped = ""
        dump(response, to: &dumped)
        #expect(!"\(response)\(String(reflecting: response))\(dumped)".contains("SECRET"))
    }
}
