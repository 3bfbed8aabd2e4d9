// SPDX-License-Identifier: Apache-2.0

import Crypto
import SSHTestSupport
import TestSupport
import Testing

@testable import HybridSSHAgent

@Suite("Signatures")
struct SignatureTests {
    let passkey: TestPasskey
    let message = messageData()

    init() throws { passkey = try TestPasskey() }

    @Test("Assertions become the signatures that sshd and ssh-keygen accepted")
    func recordedSignatures() throws {
        let recording = try Recording()
        let json = recording.json
        var assertions = try json.list("flags").map(Assertion.init)
        for kind in ["logins", "messages"] {
            assertions += try json.list(kind).map { try Assertion($0.value("assertion")) }
        }
        for kind in ["forwardedLogin", "forwardedMessage"] {
            assertions += try json.value(kind).list("assertions").map(Assertion.init)
        }
        #expect(assertions.count == 22)
        for assertion in assertions {
            let data = try SignedData(parsing: assertion.data, for: recording.key)
            #expect(data.hash == Array(SHA256.hash(data: assertion.data)))
            let signature = try SSHSignature(
                derSignature: assertion.der,
                authenticatorData: assertion.authenticatorData,
                by: recording.key,
                over: data
            )
            #expect(signature.encoded == assertion.signature)
        }
        // Flags UP, UV, BE and BS, and the largest counter, as phones send them.
        #expect(Set(assertions.map { $0.authenticatorData[32] }) == [0x01, 0x05, 0x0D, 0x1D])
    }

    @Test("Flags, counter and numbers of any size keep their encoding")
    func encoding() throws {
        for round in 0..<Thoroughness.rounds(200, thorough: 5000) {
            let (authenticatorData, der) = try passkey.assertion(message, flags: 0x1D)
            let signature = try signature(authenticatorData, der)
            let numbers = try P256.Signing.ECDSASignature(derRepresentation: der).rawRepresentation
            var expected = Wire.string("sk-ecdsa-sha2-nistp256@openssh.com")
            var pair: [UInt8] = []
            for half in [numbers.prefix(32), numbers.suffix(32)] {
                let magnitude = Array(half.drop { $0 == 0 })
                pair += Wire.string((magnitude[0] >= 0x80 ? [0] : []) + magnitude)
            }
            expected += Wire.string(pair) + [0x1D, 0, 0, 0, 7]
            #expect(signature.encoded == expected, "round \(round)")
        }
    }

    @Test("An assertion without user presence is refused")
    func userPresence() throws {
        let (authenticatorData, der) = try passkey.assertion(message, flags: 0x04)
        #expect(throws: SSHSignatureError.userNotPresent) { try signature(authenticatorData, der) }
    }

    @Test("An assertion with a credential or extension outputs is refused", arguments: [0x45, 0x85, 0xC5] as [UInt8])
    func furtherData(flags: UInt8) throws {
        for tail in [[], [0xA0]] as [[UInt8]] {
            let (authenticatorData, der) = try passkey.assertion(message, flags: flags, appending: tail)
            #expect(throws: SSHSignatureError.flags) { try signature(authenticatorData, der) }
        }
    }

    @Test("Authenticator data of another length is refused")
    func lengths() throws {
        let (authenticatorData, der) = try passkey.assertion(message, appending: [0])
        #expect(throws: SSHSignatureError.authenticatorData) { try signature(authenticatorData, der) }
        for damaged in Damage.truncations(of: Array(authenticatorData.dropLast())) {
            #expect(throws: SSHSignatureError.authenticatorData) { try signature(damaged, der) }
        }
    }

    @Test("An assertion for another relying party ID is refused")
    func otherApplication() throws {
        let other = try #require(SSHApplication("other.example.org"))
        let (authenticatorData, der) = try passkey.assertion(message, application: other)
        #expect(throws: SSHSignatureError.application) { try signature(authenticatorData, der) }
    }

    @Test("An assertion by another key or over other data is refused")
    func otherKeyOrData() throws {
        let (authenticatorData, der) = try TestPasskey().assertion(message)
        #expect(throws: SSHSignatureError.notValid) { try signature(authenticatorData, der) }
        let (otherData, otherSignature) = try passkey.assertion(messageData(namespace: "file"))
        #expect(throws: SSHSignatureError.notValid) { try signature(otherData, otherSignature) }
    }

    @Test("A damaged assertion is refused")
    func damaged() throws {
        let (authenticatorData, der) = try passkey.assertion(message)
        for damaged in Damage.truncations(of: der) + Damage.bitFlips(of: der) + [der + [0]] {
            #expect(throws: SSHSignatureError.self) { try signature(authenticatorData, damaged) }
        }
        for damaged in Damage.bitFlips(of: authenticatorData) {
            #expect(throws: SSHSignatureError.self) { try signature(damaged, der) }
        }
    }

    @Test(
        "Only strict DER is accepted",
        arguments: [
            [0x30, 0x07, 0x02, 0x02, 0x00, 0x01, 0x02, 0x01, 0x01],  // a superfluous zero
            [0x30, 0x06, 0x02, 0x01, 0x00, 0x02, 0x01, 0x01],  // zero
            [0x30, 0x06, 0x02, 0x01, 0xFF, 0x02, 0x01, 0x01],  // a negative number
            [0x30, 0x05, 0x02, 0x00, 0x02, 0x01, 0x01],  // no number
            [0x30, 0x09, 0x02, 0x01, 0x01, 0x02, 0x01, 0x01, 0x02, 0x01, 0x01],  // three numbers
            [0x30, 0x81, 0x06, 0x02, 0x01, 0x01, 0x02, 0x01, 0x01],  // a long length
            [0x31, 0x06, 0x02, 0x01, 0x01, 0x02, 0x01, 0x01],  // a set
            [0x30, 0x28, 0x02, 0x21] + [UInt8](repeating: 0x41, count: 33) + [0x02, 0x03, 1, 1, 1],  // 33 bytes
        ] as [[UInt8]]
    )
    func strictEncoding(der: [UInt8]) throws {
        let (authenticatorData, _) = try passkey.assertion(message)
        #expect(throws: SSHSignatureError.encoding) { try signature(authenticatorData, der) }
    }

    private func signature(_ authenticatorData: [UInt8], _ der: [UInt8]) throws -> SSHSignature {
        let key = try passkey.publicKey
        return try SSHSignature(
            derSignature: der,
            authenticatorData: authenticatorData,
            by: key,
            over: try SignedData(parsing: message, for: key)
        )
    }
}
