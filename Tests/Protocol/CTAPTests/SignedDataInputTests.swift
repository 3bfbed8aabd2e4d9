// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridCBOR
import HybridCTAP
import HybridPrimitives
import Testing

@Suite("The extension signedData")
struct SignedDataInputTests {
    private static func creation(_ input: CBORValue?) throws -> [UInt8] {
        var map = try Samples.creationMap()
        map[6] = input.map { ["signedData": $0, "unknown": 7] }
        return [1] + CBOREncoder.encode(map)
    }

    private static func signIn(_ input: CBORValue?) throws -> [UInt8] {
        var map = try Samples.requestMap()
        map[4] = input.map { ["signedData": $0, "unknown": 7] }
        return [2] + CBOREncoder.encode(map)
    }

    private static func kind(_ input: CBORValue?) throws -> SignedDataKind? {
        guard case .makeCredential(let request) = try CTAPRequest(parsing: creation(input)) else { return nil }
        return request.signedDataKind
    }

    private static func data(_ input: CBORValue?) throws -> SignedDataInput? {
        guard case .getAssertion(let request) = try CTAPRequest(parsing: signIn(input)) else { return nil }
        return request.signedData
    }

    @Test("inputs are read, and are absent without the extension")
    func inputs() throws {
        #expect(try Self.kind("ssh") == .ssh)
        #expect(try Self.kind(nil) == nil)
        for bytes in [[7], [UInt8](repeating: 7, count: SignedDataInput.maximumLength)] as [[UInt8]] {
            #expect(try Self.data(.bytes(bytes))?.bytes == bytes)
        }
        #expect(try Self.data(nil) == nil)
    }

    @Test("an unknown kind, another type and a length out of range are refused")
    func refused() throws {
        let name = "extensions.signedData"
        #expect(refusal(try Self.creation("gpg")) == CTAPRequestError(status: .invalidParameter, field: name))
        for input in [true, .bytes([7]), 7] as [CBORValue] {
            #expect(refusal(try Self.creation(input)) == CTAPRequestError(status: .cborUnexpectedType, field: name))
        }
        let long = [UInt8](repeating: 7, count: SignedDataInput.maximumLength + 1)
        for bytes in [[], long] {
            #expect(refusal(try Self.signIn(.bytes(bytes))) == CTAPRequestError(status: .invalidLength, field: name))
            #expect(SignedDataInput(bytes: bytes) == nil)
        }
        #expect(refusal(try Self.signIn("ssh")) == CTAPRequestError(status: .cborUnexpectedType, field: name))
    }

    @Test("data matches its own hash only")
    func hash() throws {
        let input = try #require(SignedDataInput(bytes: [1, 2, 3]))
        let hash = Array(SHA256.hash(data: [1, 2, 3] as [UInt8]))
        #expect(input.matches(try #require(ClientDataHash(bytes: hash))))
        for index in hash.indices {
            var other = hash
            other[index] ^= 1
            #expect(!input.matches(try #require(ClientDataHash(bytes: other))))
        }
    }

    @Test("an extension is removed for authenticators that do not list it, and no other is")
    func unlisted() throws {
        let (aaguid, names) = (AAGUID.zero, Set([SignedDataInput.extensionName]))
        let known = AuthenticatorInfo(
            versions: [],
            extensions: ["prf", "signedData"],
            aaguid: aaguid,
            options: [:],
            transports: []
        )
        let other = AuthenticatorInfo(versions: [], extensions: ["prf"], aaguid: aaguid, options: [:], transports: [])
        for bytes in [try Self.creation("ssh"), try Self.signIn(.bytes([7]))] {
            let request = try CTAPRequest(parsing: bytes)
            #expect(request.without(names, unlessListedIn: known) == request)
            let rest = try CTAPRequest(parsing: request.without(names, unlessListedIn: other).encoded)
            switch rest {
            case .makeCredential(let request): #expect(request.extensions == ["unknown": 7])
            case .getAssertion(let request): #expect(request.extensions == ["unknown": 7])
            default: Issue.record("another command")
            }
        }
        var alone = try Samples.request()
        alone.extensions = nil
        var stated = alone
        stated.extensions = try #require(SignedDataInput(bytes: [7])).extensionInput
        let removed = CTAPRequest.getAssertion(stated).without(names, unlessListedIn: other)
        #expect(removed == .getAssertion(alone), "no empty map remains")
        #expect(CTAPRequest.getInfo.without(names, unlessListedIn: other) == .getInfo)
    }
}
