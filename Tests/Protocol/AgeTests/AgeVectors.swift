// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridAge
import HybridCBOR
import HybridCTAP
import HybridPrimitives
import TestSupport
import Testing

/// The vectors of formats and conversations, which typage, age, rage and a reference script agree on.
enum AgeVectors {
    static let all = Result { try VectorFile.load("secrets.json") }

    static func list(_ name: String) throws -> [JSONValue] { try all.get().list(name) }

    /// Returns the first stanza in a text.
    static func stanza(_ text: String) throws -> AgeStanza {
        var input = PluginInput()
        return try #require(try input.add(text.utf8).first)
    }

    static func key(_ vector: JSONValue) throws -> PRFKey {
        let first = try #require(PRFResult(bytes: try vector.hex("first_hex")))
        let second = try #require(PRFResult(bytes: try vector.hex("second_hex")))
        return try #require(PRFKey(PRFOutput(first: first, second: second)))
    }

    static func sealed(_ text: String) throws -> SealedKey {
        guard case .sealed(let key) = try PluginIdentity(parsing: text) else { throw JSONValue.Missing.kind(text) }
        return key
    }
}

/// A phone with one passkey that answers as a vector names it: `key:` and the secret in hexadecimal, `no` or `deny`.
struct ScriptedPhone {
    let script: String

    func answer(_ question: PhoneQuestion) throws -> PhoneAnswer {
        switch script {
        case "no": return .noPasskey("this phone has no such passkey")
        case "deny": return .failed("declined on the phone")
        default:
            let secret = try #require(Hexadecimal.bytes(String(script.dropFirst("key:".count))))
            return PhoneAnswer(try response(question, secret), to: question)
        }
    }

    private func response(_ question: PhoneQuestion, _ secret: [UInt8]) throws -> [UInt8] {
        let request = question.request
        let salts = try #require(request.prf?.salts)
        let output = PRFOutput(
            first: try Self.result(salts.first, secret),
            second: try Self.result(try #require(salts.second), secret)
        )
        return try Self.response(to: question, output.unsignedExtensionOutputs)
    }

    static func result(_ salt: PRFSalt, _ secret: [UInt8]) throws -> PRFResult {
        PRFResult(HMAC<SHA256>.authenticationCode(for: salt.bytes, using: SymmetricKey(data: secret)))
    }

    static func response(
        to question: PhoneQuestion,
        flags: AuthenticatorData.Flags = [.userPresent, .userVerified],
        _ outputs: CBORMap
    ) throws -> [UInt8] {
        let assertion = GetAssertionResponse(
            credential: question.passkeys.first,
            authenticatorData: AuthenticatorData(
                relyingPartyIDHash: question.relyingPartyID.hash,
                flags: flags,
                signatureCount: 0
            ),
            signature: [1],
            unsignedExtensionOutputs: outputs
        )
        return CTAPResponse.success(assertion.encoded).encoded
    }
}
