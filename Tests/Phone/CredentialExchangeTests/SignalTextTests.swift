// SPDX-License-Identifier: Apache-2.0

import HybridCTAP
import HybridPrimitives
import Testing

@testable import HybridCredentialExchange

/// Signals of websites in JSON (WebAuthn Level 3 §5.1.10).
@Suite("The text of signals")
struct SignalTextTests {
    private static let site = "example.com"

    private static func read(_ json: String) throws(PasskeySignal.ReadError) -> [PasskeySignal] {
        try PasskeySignal.read(Array(json.utf8))
    }

    private static func refusal(_ json: String) -> String {
        do throws(PasskeySignal.ReadError) {
            _ = try read(json)
            return ""
        } catch {
            return error.sentence
        }
    }

    @Test("the standard's three dictionaries are read, alone and in an array; unknown members are ignored")
    func reading() throws {
        let site = try #require(RelyingPartyID(Self.site))
        let id = try #require(CredentialID(bytes: [0xFB, 0xFF]))
        let user = try #require(UserHandle(bytes: [1]))
        let texts: [(String, PasskeySignal)] = [
            (#"{"rpId":"example.com","credentialId":"-_8"}"#, .unknownCredential(site, id)),
            (
                #"{"rpId":"example.com","userId":"AQ","allAcceptedCredentialIds":["-_8","-_8"],"later":{}}"#,
                .allAcceptedCredentials(site, user, [id])
            ),
            (
                #"{"rpId":"example.com","userId":"AQ","allAcceptedCredentialIds":[]}"#,
                .allAcceptedCredentials(site, user, [])
            ),
            (
                #"{"rpId":"example.com","userId":"AQ","name":"new","displayName":""}"#,
                .currentUserDetails(site, UserEntity(id: user, name: "new", displayName: ""))
            ),
        ]
        for (text, signal) in texts { #expect(try Self.read(text) == [signal]) }
        #expect(try Self.read("[\(texts.map(\.0).joined(separator: ","))]") == texts.map(\.1))
    }

    @Test(
        "anything else is refused as a whole, with the place of the error",
        arguments: [
            ("", "it is not JSON"), ("7", "wrong type"), ("[]", "1 to 100 signals"), ("{}", "rpId is missing"),
            (#"{"rpId":7,"credentialId":"AQ"}"#, "rpId has the wrong type"),
            (#"{"rpId":"https://example.com","credentialId":"AQ"}"#, "rpId is not what"),
            (#"{"rpId":"ssh:","credentialId":"AQ"}"#, "rpId is not what"),
            (#"{"rpId":"example.com"}"#, "one of credentialId"),
            (#"{"rpId":"example.com","userId":"AQ"}"#, "one of credentialId"),
            (#"{"rpId":"example.com","userId":"AQ","displayName":"x"}"#, "one of credentialId"),
            (#"{"rpId":"example.com","userId":"AQ","credentialId":"AQ","name":"x","displayName":""}"#, "one of"),
            (#"{"rpId":"example.com","credentialId":"AQ=="}"#, "credentialId is not what"),
            (#"{"rpId":"example.com","userId":"AQ","name":"x"}"#, "displayName is missing"),
            (#"{"rpId":"example.com","userId":"AQ","name":null,"displayName":""}"#, "name is missing"),
            (#"{"rpId":"example.com","userId":"","name":"x","displayName":""}"#, "userId is not what"),
            (#"{"rpId":"example.com","allAcceptedCredentialIds":[]}"#, "userId is missing"),
            (#"{"rpId":"example.com","userId":"AQ","allAcceptedCredentialIds":"AQ"}"#, "Ids has the wrong type"),
            (#"{"rpId":"example.com","userId":"AQ","allAcceptedCredentialIds":["AQ","%"]}"#, "Ids is not what"),
            (#"[{"rpId":"example.com","credentialId":"AQ"},{}]"#, "[1].rpId is missing"),
        ]
    )
    func refused(json: String, words: String) {
        let sentence = Self.refusal(json)
        #expect(sentence.contains(words) && sentence.contains("nothing was changed"), "\(sentence)")
    }

    @Test("length, number and nesting are limited")
    func limits() throws {
        let one = #"{"rpId":"example.com","credentialId":"AQ"}"#
        let most = [String](repeating: one, count: PasskeySignal.maximumCount)
        #expect(try Self.read("[\(most.joined(separator: ","))]").count == 100)
        #expect(Self.refusal("[\((most + [one]).joined(separator: ","))]").contains("1 to 100"))
        #expect(Self.refusal(one + String(repeating: " ", count: 1 << 20)).contains("longer than 1 MiB"))
        #expect(Self.refusal(String(repeating: "[", count: 100_000)).contains("can't be used"))
    }

    @Test("an ID that no passkey has concerns none, as in browsers")
    func impossibleIDs() throws {
        let user = try #require(UserHandle(bytes: [1]))
        let site = try #require(RelyingPartyID(Self.site))
        for id in ["", Base64URL.encode([UInt8](repeating: 1, count: 1024))] {
            #expect(try Self.read(#"{"rpId":"example.com","credentialId":"\#(id)"}"#) == [])
            let accepted = #"{"rpId":"example.com","userId":"AQ","allAcceptedCredentialIds":["\#(id)"]}"#
            #expect(try Self.read(accepted) == [.allAcceptedCredentials(site, user, [])])
        }
    }
}
