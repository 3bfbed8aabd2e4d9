// SPDX-License-Identifier: Apache-2.0

import HybridCBOR
import HybridCTAP
import HybridPrimitives
import HybridWebAuthn
import TestSupport
import Testing

@Suite("Credential lists and credProtect in requests to phones", .timeLimit(.minutes(1)))
struct ListAndProtectionTests {
    @Test("an entry whose ID no passkey has is left out, and the others stay")
    func impossibleIDs() throws {
        let long = String(repeating: "AAAA", count: 342)
        let list =
            #"[{"id":"","type":"public-key"},{"id":"yv4","type":"public-key"},{"id":"\#(long)","type":"public-key"}]"#
        #expect(
            try Fixture.requestOptions(["allowCredentials": list]).allowCredentials.map(\.id.bytes) == [[0xCA, 0xFE]]
        )
        let options = try Fixture.creationOptions(["excludeCredentials": list])
        #expect(options.excludeCredentials.map(\.id.bytes) == [[0xCA, 0xFE]])
    }

    @Test("a phone gets no IDs that are too long for it, and never an empty list instead")
    func longestID() throws {
        let list = #"[{"id":"yv4","type":"public-key"},{"id":"AAAA","type":"public-key"}]"#
        let options = try Fixture.requestOptions(["allowCredentials": list])
        let ceremony = try RequestCeremony(options, origin: Fixture.origin())
        var phone = Fixture.phone()
        phone.maximumCredentialCount = 1
        #expect(try ceremony.ctapRequest(for: phone).allowList.count == 2, "the list is not split")
        phone.maximumCredentialIDLength = 2
        #expect(try ceremony.ctapRequest(for: phone).allowList.map(\.id.bytes) == [[0xCA, 0xFE]])
        phone.maximumCredentialIDLength = 1
        #expect(throws: MissingAbility.noPossiblePasskey) { try ceremony.ctapRequest(for: phone) }
        phone.maximumCredentialIDLength = 0
        #expect(try ceremony.ctapRequest(for: phone).allowList.count == 2)
        let creation = try CreationCeremony(
            Fixture.creationOptions(["excludeCredentials": list]),
            origin: Fixture.origin()
        )
        phone.maximumCredentialIDLength = 2
        #expect(try creation.ctapRequest(for: phone).excludeList.map(\.id.bytes) == [[0xCA, 0xFE]])
    }

    @Test(
        "protection of a passkey is requested from phones that list it, and enforced on others",
        arguments: [
            ("userVerificationOptional", 1, false), ("userVerificationOptionalWithCredentialIDList", 2, true),
            ("userVerificationRequired", 3, true),
        ]
    )
    func protection(policy: String, number: Int, isEnforced: Bool) throws {
        let input = "\"credentialProtectionPolicy\":\"\(policy)\""
        let enforced = try creation("{\(input),\"enforceCredentialProtectionPolicy\":true}")
        var phone = Fixture.phone()
        if isEnforced {
            let error = #expect(throws: MissingAbility.self) { try enforced.ctapRequest(for: phone) }
            #expect(error == .credentialProtection && error?.name == .notAllowedError)
        } else {
            #expect(try enforced.ctapRequest(for: phone).extensions == nil)
        }
        #expect(try creation("{\(input)}").ctapRequest(for: phone).extensions == nil)
        phone.extensions = ["credProtect"]
        #expect(try enforced.ctapRequest(for: phone).extensions == ["credProtect": .integer(number)])
    }

    @Test("without a policy, nothing is enforced; an unknown one is a TypeError, as in browsers")
    func unknownPolicy() throws {
        let enforced = "\"enforceCredentialProtectionPolicy\":true"
        for policy in ["", "\"credentialProtectionPolicy\":null,"] {
            let ceremony = try creation("{\(policy)\(enforced)}")
            #expect(try ceremony.ctapRequest(for: Fixture.phone()).extensions == nil)
        }
        for policy in ["other", "", "userVerificationAlways", "userverificationrequired"] {
            for more in ["", "," + enforced] {
                let extensions = "{\"credentialProtectionPolicy\":\"\(policy)\"\(more)}"
                let error = optionsError(Fixture.creation(["extensions": extensions]))
                #expect(error?.name == .typeError && error?.detail.contains("policies") == true, "\(policy)")
            }
        }
    }

    @Test("extensions count the entries that are left out, too")
    func extensionsOfImpossibleIDs() throws {
        let long = Base64URL.encode([UInt8](repeating: 1, count: 1024))
        let list = #"[{"id":"\#(long)","type":"public-key"},{"id":"yv4","type":"public-key"}]"#
        let salts = #"{"prf":{"evalByCredential":{"\#(long)":{"first":"AA"},"yv4":{"first":"AA"}}}}"#
        let options = try Fixture.requestOptions(["allowCredentials": list, "extensions": salts])
        #expect(options.extensions.prf?.saltsByCredential.keys.map(\.bytes) == [[0xCA, 0xFE]])
        let error = optionsError(
            Fixture.request(["allowCredentials": list, "extensions": #"{"largeBlob":{"write":"AA"}}"#])
        )
        #expect(error?.name == .notSupportedError && error?.detail.contains("exactly one") == true)
    }

    private func creation(_ extensions: String) throws -> CreationCeremony {
        try CreationCeremony(Fixture.creationOptions(["extensions": extensions]), origin: Fixture.origin())
    }
}
