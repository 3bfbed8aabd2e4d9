// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridCBOR
import HybridCTAP
import HybridSecurityKey
import TestSupport
import Testing

@Suite("Silent probes")
struct ProbeTests {
    private static let getNext: [UInt8] = [0x08]
    private static let hashOfZeros = Array(SHA256.hash(data: [UInt8](repeating: 0, count: 32)))

    /// Sends a probe and reads all answers, as Firefox does.
    private static func confirmed(_ fixture: inout KeyFixture, _ probe: [UInt8]) throws -> [[UInt8]]? {
        guard let first = try fixture.send(probe), first.status == .success else { return nil }
        var ids = [try GetAssertionResponse(parsing: first.body)]
        let count = try #require(ids[0].numberOfCredentials)
        while ids.count < count {
            let next = try #require(try fixture.send(getNext))
            #expect(next.status == .success)
            ids.append(try GetAssertionResponse(parsing: next.body))
            #expect(ids.last?.numberOfCredentials == nil)
        }
        #expect(try fixture.send(getNext) == .failure(.notAllowed))
        #expect(fixture.key.actions == [], "no window opens")
        return ids.compactMap(\.credential?.id.bytes)
    }

    @Test("for a domain, every credential of the list is confirmed", arguments: [1, 2, 3, 64])
    func domain(count: Int) throws {
        for otherKeyExists in [false, true] {
            var fixture = try KeyFixture(otherKeyExists: otherKeyExists)
            let ids = (0..<count).map { [UInt8($0), 7] }
            for hash in [SampleKey.hashOfNothing, Self.hashOfZeros] {
                #expect(try Self.confirmed(&fixture, SampleKey.probe("example.com", ids, hash: hash)) == ids)
            }
        }
    }

    @Test("an answer is an assertion without presence, signed by a key that belongs to no credential")
    func shape() throws {
        var fixture = try KeyFixture()
        let response = try #require(try fixture.send(SampleKey.probe("example.com", [[1]])))
        let map = try response.map()
        #expect(map[1] == ["id": .bytes([1]), "type": "public-key"])
        let hash = Array(SHA256.hash(data: Array("example.com".utf8)))
        #expect(map[2] == .bytes(hash + [0, 0, 0, 0, 0]))
        #expect(throws: Never.self) { try P256.Signing.ECDSASignature(derRepresentation: map[3]?.bytes ?? []) }
        #expect(map[5] == 1)
        #expect(map.count == 4)
    }

    @Test("more credentials than getInfo allows are refused")
    func tooMany() throws {
        var fixture = try KeyFixture()
        let ids = (0..<65).map { [UInt8($0)] }
        #expect(try fixture.send(SampleKey.probe("example.com", ids)) == .failure(.limitExceeded))
    }

    @Test("entries of an unknown type are not confirmed")
    func unknownTypes() throws {
        var fixture = try KeyFixture()
        let list: CBORValue = [["id": .bytes([1]), "type": "other"], ["id": .bytes([2]), "type": "public-key"]]
        let probe = SampleKey.assertion(
            "example.com",
            hash: SampleKey.hashOfNothing,
            [3: list, 5: ["up": false]]
        )
        #expect(try Self.confirmed(&fixture, probe) == [[2]])
    }

    @Test("an empty list, with which ssh-keygen searches for keys, has no credentials")
    func emptyList() throws {
        var fixture = try KeyFixture()
        for name in ["ssh:", "example.com"] {
            let probe = SampleKey.assertion(name, hash: Self.hashOfZeros, [5: ["up": false]])
            #expect(try fixture.send(probe) == .failure(.noCredentials))
        }
        #expect(fixture.key.actions == [])
    }

    @Test("a real signature without presence is refused", arguments: ["example.com", "ssh:"])
    func realSignature(name: String) throws {
        var fixture = try KeyFixture()
        let request = SampleKey.assertion(name, [[1]], hash: SampleKey.realHash, [5: ["up": false]])
        #expect(try fixture.send(request) == .failure(.unsupportedOption))
        #expect(fixture.key.actions == [])
    }

    /// pam_u2f sends a random hash and verifies the signature of the real request only.
    @Test("pam_u2f's probe has any hash")
    func pam() throws {
        var fixture = try KeyFixture()
        let probe = SampleKey.probe("pam://host", [[1]], hash: SampleKey.realHash)
        #expect(try Self.confirmed(&fixture, probe) == [[1]])
    }

    @Test("local credentials are confirmed if they are known, or if no other key exists")
    func local() throws {
        for name in ["ssh:", "ssh:work", "pam://host"] {
            var fixture = try KeyFixture(otherKeyExists: true)
            let probe = SampleKey.probe(name, [[1], [2]])
            #expect(try Self.confirmed(&fixture, probe) == nil)
            #expect(try fixture.send(probe) == .failure(.noCredentials))
            let id = try #require(RelyingPartyID(name, accepting: Set(RelyingPartyID.Kind.allCases)))
            let known = fixture.key.key.memory.note(
                try #require(CredentialID(bytes: [2])),
                of: id,
                key: try SampleKey.installationKey()
            )
            #expect(known)
            #expect(try Self.confirmed(&fixture, probe) == [[2]], "a real key keeps its own")
            fixture.key.key.otherKeyExists = false
            #expect(try Self.confirmed(&fixture, probe) == [[1], [2]])
        }
    }

    @Test("the remaining answers belong to their channel and last 30 seconds")
    func channels() throws {
        var fixture = try KeyFixture()
        let probe = SampleKey.probe("example.com", [[1], [2], [3]])
        #expect(try fixture.send(Self.getNext) == .failure(.notAllowed))
        #expect(try fixture.send(probe)?.status == .success)
        #expect(try fixture.send(Self.getNext, on: fixture.second) == .failure(.notAllowed))
        _ = try fixture.key.advance(by: .milliseconds(29_999))
        #expect(try fixture.send(Self.getNext)?.status == .success)
        _ = try fixture.key.advance(by: .seconds(30))
        #expect(try fixture.send(Self.getNext) == .failure(.notAllowed))
    }

    @Test("any other command drops the remaining answers", arguments: [[0x04], [0x06, 0xA0], SampleKey.assertion()])
    func dropped(command: [UInt8]) throws {
        var fixture = try KeyFixture()
        #expect(try fixture.send(SampleKey.probe("example.com", [[1], [2]]))?.status == .success)
        _ = try fixture.send(command)
        _ = try fixture.key.endWindow(by: .closing)
        #expect(try fixture.send(Self.getNext) == .failure(.notAllowed))
    }

    @Test("probes, getInfo and PING are answered on every channel while the phone is asked")
    func whileWaiting() throws {
        var fixture = try KeyFixture()
        #expect(try fixture.send(SampleKey.assertion()) == nil)
        #expect(try fixture.send([0x04], on: fixture.second)?.status == .success)
        #expect(try fixture.send(SampleKey.probe("example.com", [[1]]), on: fixture.second)?.status == .success)
        #expect(try fixture.key.receive(fixture.second, 0x01, [9]).map(\.payload) == [[9]])
        #expect(try fixture.key.receive(fixture.second, 0x11, []) == [])
        for command in [SampleKey.assertion(), SampleKey.creation(), [0x0B]] {
            #expect(try fixture.key.receive(fixture.second, 0x10, command).map(\.payload) == [[0x06]])
        }
        #expect(fixture.key.actions.count == 1)
    }
}
