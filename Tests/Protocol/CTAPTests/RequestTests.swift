// SPDX-License-Identifier: Apache-2.0

import HybridCBOR
import HybridCTAP
import Testing

@Suite("Requests")
struct RequestTests {
    @Test("a creation request survives the round trip")
    func creationRoundTrip() throws {
        let request = CTAPRequest.makeCredential(try Samples.creation())
        #expect(try CTAPRequest(parsing: request.encoded) == request)
        #expect(request.encoded.first == 0x01)
    }

    @Test("a request to sign in survives the round trip")
    func assertionRoundTrip() throws {
        var sample = try Samples.request()
        #expect(try CTAPRequest(parsing: CTAPRequest.getAssertion(sample).encoded) == .getAssertion(sample))
        sample.userPresence = false
        sample.allowList = []
        sample.extensions = nil
        #expect(try CTAPRequest(parsing: CTAPRequest.getAssertion(sample).encoded) == .getAssertion(sample))
    }

    @Test("requests are encoded canonically")
    func canonical() throws {
        for request in [CTAPRequest.makeCredential(try Samples.creation()), .getAssertion(try Samples.request())] {
            let body = Array(request.encoded.dropFirst())
            #expect(CBOREncoder.encode(try CBORDecoder.decode(body, mode: .strict)) == body)
        }
    }

    @Test("names that phones require are sent even if empty")
    func emptyNames() throws {
        var creation = try Samples.creation()
        creation.relyingParty.name = ""
        creation.user.name = ""
        creation.user.displayName = ""
        let map = try Samples.map(of: CTAPRequest.makeCredential(creation).encoded.dropFirst())
        #expect(map[2]?.map?["name"] == "")
        #expect(map[3]?.map?["name"] == "")
        #expect(map[3]?.map?["displayName"] == "")
    }

    @Test("absent names are read as empty")
    func absentNames() throws {
        var map = try Samples.creationMap()
        map[2] = ["id": "example.com"]
        map[3] = ["id": .bytes([1])]
        guard case .makeCredential(let request) = try CTAPRequest(parsing: [1] + CBOREncoder.encode(map)) else {
            Issue.record("unexpected command")
            return
        }
        #expect(request.relyingParty.name.isEmpty)
        #expect(request.user.name.isEmpty && request.user.displayName.isEmpty)
    }

    @Test("names are kept byte for byte; overlong ones are truncated between scalars")
    func longNames() throws {
        // The same letter in two canonically equivalent encodings.
        let kept = ["e\u{301}\u{e9}", String(repeating: "é", count: 5000), String(repeating: "x", count: 1 << 16)]
        let cut = [
            (String(repeating: "é", count: 1 << 15) + "é", 1 << 16),
            ("x" + String(repeating: "é", count: 1 << 15), 65535),
            ("e" + String(repeating: "\u{301}", count: 1 << 16), 65535),
        ]
        for (name, bytes) in kept.map({ ($0, $0.utf8.count) }) + cut {
            var map = try Samples.creationMap()
            map[3] = ["id": .bytes([1]), "name": .text(name), "displayName": .text(name)]
            guard case .makeCredential(let request) = try CTAPRequest(parsing: [1] + CBOREncoder.encode(map)) else {
                Issue.record("unexpected command")
                return
            }
            for read in [request.user.name, request.user.displayName] {
                #expect(read.utf8.count == bytes)
                #expect(read.utf8.elementsEqual(name.utf8.prefix(bytes)))
            }
        }
    }

    @Test("getInfo and selection are a single byte")
    func bare() throws {
        #expect(try CTAPRequest(parsing: [0x04]) == .getInfo)
        #expect(try CTAPRequest(parsing: [0x0B]) == .selection)
        #expect(CTAPRequest.getInfo.encoded == [0x04])
        #expect(refusal([0x04, 0xA0])?.status == .invalidLength)
        #expect(refusal([0x0B, 0x00])?.status == .invalidLength)
    }

    @Test("an empty request has no command")
    func empty() {
        #expect(refusal([])?.status == .invalidLength)
    }

    @Test("unknown command bytes are rejected")
    func unknownCommands() {
        for byte in UInt8.min...UInt8.max where CTAPCommand(rawValue: byte) == nil {
            #expect(refusal([byte, 0xA0])?.status == .invalidCommand)
        }
    }

    @Test("every truncation is rejected as malformed CBOR")
    func truncations() throws {
        for request in [CTAPRequest.makeCredential(try Samples.creation()), .getAssertion(try Samples.request())] {
            for length in 1..<request.encoded.count {
                #expect(refusal(Array(request.encoded.prefix(length)))?.status == .invalidCBOR)
            }
        }
    }

    @Test("no single changed byte crashes the reader")
    func mutations() throws {
        for request in [CTAPRequest.makeCredential(try Samples.creation()), .getAssertion(try Samples.request())] {
            var seen = 0
            for index in request.encoded.indices {
                for value in [0x00, 0x18, 0x1B, 0x40, 0x5B, 0x7B, 0x9B, 0xA0, 0xBB, 0xBF, 0xC0, 0xF6, 0xFF] as [UInt8] {
                    var bytes = request.encoded
                    guard bytes[index] != value else { continue }
                    bytes[index] = value
                    if refusal(bytes) != nil { seen += 1 }
                }
            }
            #expect(seen > request.encoded.count)
        }
    }

    @Test("trailing bytes, a repeated key and an indefinite length are malformed")
    func malformed() throws {
        let bytes = CTAPRequest.getAssertion(try Samples.request()).encoded
        #expect(refusal(bytes + [0x00])?.status == .invalidCBOR)
        #expect(refusal([0x02, 0xA2, 0x01, 0x61, 0x61, 0x01, 0x61, 0x61])?.status == .invalidCBOR)
        #expect(refusal([0x02, 0xBF, 0xFF])?.status == .invalidCBOR)
    }

    @Test("a length of 2^63 is rejected without an allocation")
    func hugeLengths() {
        let huge: [UInt8] = [0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]
        for initial in [0x5B, 0x7B, 0x9B, 0xBB] as [UInt8] {
            #expect(refusal([0x01, initial] + huge)?.status == .invalidCBOR)
            #expect(refusal([0x02, 0xA1, 0x01, initial] + huge)?.status == .invalidCBOR)
        }
    }

    @Test("a message beyond the decoder's bound is a limit, not a crash")
    func tooLarge() {
        let bytes = [0x01] + CBOREncoder.encode(.bytes([UInt8](repeating: 0, count: 2 << 20)))
        #expect(refusal(bytes)?.status == .limitExceeded)
    }

    @Test("parameters other than a map have the wrong type")
    func notAMap() {
        #expect(refusal([0x01, 0x80])?.status == .cborUnexpectedType)
        #expect(refusal([0x02, 0x00])?.status == .cborUnexpectedType)
    }

    @Test("map keys in any order are accepted, and unknown keys ignored")
    func lenient() throws {
        // rpId after clientDataHash, an integer in long form, key 99.
        var bytes: [UInt8] = [0x02, 0xA3, 0x18, 0x63, 0xF6, 0x02, 0x58, 0x20]
        bytes += try Samples.hash().bytes + [0x18, 0x01, 0x6B] + Array("example.com".utf8)
        guard case .getAssertion(let request) = try CTAPRequest(parsing: bytes) else {
            Issue.record("unexpected command")
            return
        }
        #expect(request.relyingPartyID.text == "example.com")
        #expect(request.userPresence && !request.userVerification)
    }
}
