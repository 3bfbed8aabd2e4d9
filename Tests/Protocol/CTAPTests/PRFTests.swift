// SPDX-License-Identifier: Apache-2.0

import HybridCBOR
import HybridCTAP
import HybridPrimitives
import Testing

@Suite("The prf extension and the preference for attestation formats")
struct PRFTests {
    private static let one: CBORValue = .bytes([UInt8](repeating: 1, count: 32))
    private static let two: CBORValue = .bytes([UInt8](repeating: 2, count: 32))

    private static func salt(_ byte: UInt8) throws -> PRFSalt {
        try #require(PRFSalt(bytes: [UInt8](repeating: byte, count: 32)))
    }

    private static func creation(_ prf: CBORValue?) throws -> MakeCredentialRequest? {
        var map = try Samples.creationMap()
        map[6] = prf.map { ["prf": $0, "unknown": 7] }
        guard case .makeCredential(let request) = try CTAPRequest(parsing: [1] + CBOREncoder.encode(map)) else {
            return nil
        }
        return request
    }

    private static func assertion(_ prf: CBORValue?) throws -> GetAssertionRequest? {
        var map = try Samples.requestMap()
        map[4] = prf.map { ["prf": $0, "unknown": 7] }
        guard case .getAssertion(let request) = try CTAPRequest(parsing: [2] + CBOREncoder.encode(map)) else {
            return nil
        }
        return request
    }

    @Test("inputs are read in every form that clients send")
    func inputs() throws {
        #expect(try Self.creation(nil)?.prf == nil)
        #expect(try Self.assertion(nil)?.prf == nil)
        let credential = try Samples.credentialID()
        let cases: [(CBORValue, PRFInput)] = [
            ([:], PRFInput()),
            (["eval": ["first": Self.one]], PRFInput(salts: PRFSalts(first: try Self.salt(1)))),
            (
                ["eval": ["first": Self.one, "second": Self.two, "third": 3]],
                PRFInput(salts: PRFSalts(first: try Self.salt(1), second: try Self.salt(2)))
            ),
            (
                ["evalByCredential": .map([.bytes(credential.bytes): ["first": Self.two]]), "later": true],
                PRFInput(saltsByCredential: [credential: PRFSalts(first: try Self.salt(2))])
            ),
        ]
        for (cbor, input) in cases {
            #expect(try Self.creation(cbor)?.prf == input)
            #expect(try Self.assertion(cbor)?.prf == input)
        }
    }

    @Test("salts for one credential take precedence over those for all")
    func choice() throws {
        let (mine, other) = (try Samples.credentialID(), try Samples.credentialID(9))
        let (all, one) = (PRFSalts(first: try Self.salt(1)), PRFSalts(first: try Self.salt(2)))
        let input = PRFInput(salts: all, saltsByCredential: [mine: one])
        #expect(input.salts(for: mine) == one)
        #expect(input.salts(for: other) == all)
        #expect(PRFInput(saltsByCredential: [mine: one]).salts(for: other) == nil)
    }

    @Test("malformed inputs are rejected with the member's name")
    func malformed() throws {
        let short: CBORValue = .bytes([UInt8](repeating: 1, count: 31))
        let long: CBORValue = .bytes([UInt8](repeating: 1, count: 64))
        let path = "extensions.prf"
        let cases: [(CBORValue, CTAPStatus, String)] = [
            (true, .cborUnexpectedType, path),
            (["eval": .bytes([])], .cborUnexpectedType, "\(path).eval"),
            (["eval": [:]], .missingParameter, "\(path).eval.first"),
            (["eval": ["first": "x"]], .cborUnexpectedType, "\(path).eval.first"),
            (["eval": ["first": short]], .invalidLength, "\(path).eval.first"),
            (["eval": ["first": long]], .invalidLength, "\(path).eval.first"),
            (["eval": ["first": Self.one, "second": short]], .invalidLength, "\(path).eval.second"),
            (["eval": ["first": Self.one, "second": .null]], .cborUnexpectedType, "\(path).eval.second"),
            (["evalByCredential": []], .cborUnexpectedType, "\(path).evalByCredential"),
            (["evalByCredential": ["id": ["first": Self.one]]], .cborUnexpectedType, "\(path).evalByCredential"),
            (["evalByCredential": .map([.bytes([1]): 1])], .cborUnexpectedType, "\(path).evalByCredential"),
            (
                ["evalByCredential": .map([.bytes([]): ["first": Self.one]])], .invalidLength,
                "\(path).evalByCredential"
            ),
            (["evalByCredential": .map([.bytes([1]): [:]])], .missingParameter, "\(path).evalByCredential.first"),
        ]
        for (prf, status, field) in cases {
            let expected = CTAPRequestError(status: status, field: field)
            var map = try Samples.creationMap()
            map[6] = ["prf": prf]
            #expect(creationRefusal(map) == expected)
            map = try Samples.requestMap()
            map[4] = ["prf": prf]
            #expect(assertionRefusal(map) == expected)
        }
    }

    @Test("outputs are canonical unsigned extension outputs and are never printed")
    func outputs() throws {
        let (first, second) = ([UInt8](repeating: 7, count: 32), [UInt8](repeating: 8, count: 32))
        func bytes(_ output: PRFOutput) -> [UInt8] { CBOREncoder.encode(output.unsignedExtensionOutputs) }
        let prf: [UInt8] = [0xA1, 0x63, 0x70, 0x72, 0x66]
        let enabled: [UInt8] = [0x67] + Array("enabled".utf8) + [0xF5]
        let results: [UInt8] = [0x67] + Array("results".utf8)
        let one: [UInt8] = [0x65] + Array("first".utf8) + [0x58, 0x20] + first
        let two: [UInt8] = [0x66] + Array("second".utf8) + [0x58, 0x20] + second
        #expect(bytes(PRFOutput(isEnabled: true)) == prf + [0xA1] + enabled)
        let (firstResult, secondResult) = try (#require(PRFResult(bytes: first)), #require(PRFResult(bytes: second)))
        let onlyFirst: [[UInt8]] = [prf, [0xA1], results, [0xA1], one]
        #expect(bytes(PRFOutput(first: firstResult)) == Array(onlyFirst.joined()))
        let all = PRFOutput(isEnabled: true, first: firstResult, second: secondResult)
        let complete: [[UInt8]] = [prf, [0xA2], enabled, results, [0xA2], one, two]
        #expect(bytes(all) == Array(complete.joined()))
        var text = "\(all) \(String(reflecting: all))"
        dump(all, to: &text)
        dump(firstResult, to: &text)
        text += "\(firstResult) \(String(reflecting: firstResult))"
        #expect(PRFResult(bytes: first.dropLast()) == nil && firstResult != secondResult)
        #expect(!text.contains("7") && !text.contains("8"))
    }

    @Test("preferred attestation formats survive the round trip under key 11")
    func formats() throws {
        var request = try Samples.creation()
        request.attestationFormats = ["packed", "none"]
        let encoded = CTAPRequest.makeCredential(request).encoded
        #expect(try CTAPRequest(parsing: encoded) == .makeCredential(request))
        #expect(try Samples.map(of: encoded.dropFirst())[11] == ["packed", "none"])
        request.attestationFormats = []
        #expect(try Samples.map(of: CTAPRequest.makeCredential(request).encoded.dropFirst())[11] == nil)
        var map = try Samples.creationMap()
        map[11] = ["packed", 7]
        #expect(creationRefusal(map)?.status == .cborUnexpectedType)
    }
}
