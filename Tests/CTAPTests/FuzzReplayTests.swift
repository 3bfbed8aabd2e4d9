// SPDX-License-Identifier: Apache-2.0

import CTAP
import TestSupport
import Testing

/// The fuzzers' seeds and former crashes, through the same calls as in the fuzz targets.
@Suite("CTAP fuzz corpora")
struct CTAPFuzzReplayTests {
    @Test("Requests")
    func requests() throws {
        let inputs = try FuzzCorpus.inputs("ctap-request")
        var read = 0
        for input in inputs {
            guard let request = try? CTAPRequest(parsing: input.bytes) else { continue }
            read += 1
            #expect(try CTAPRequest(parsing: request.encoded).encoded == request.encoded, "\(input.name)")
        }
        #expect(read >= 4, "the seeds are requests that parse")
    }

    @Test("Responses, told apart by the first byte")
    func responses() throws {
        let inputs = try FuzzCorpus.inputs("ctap-response")
        var kinds: Set<UInt8> = []
        for input in inputs {
            guard let kind = input.bytes.first else { continue }
            if try readsBack(kind, Array(input.bytes.dropFirst()), name: input.name) { kinds.insert(kind) }
        }
        #expect(kinds == Set(0...6), "the seeds hold something of each kind that parses")
    }

    /// Whether the body parses; if it does, it must read back.
    private func readsBack(_ kind: UInt8, _ body: [UInt8], name: String) throws -> Bool {
        switch kind {
        case 0:
            guard let response = try? MakeCredentialResponse(parsing: body) else { return false }
            #expect(try MakeCredentialResponse(parsing: response.encoded).encoded == response.encoded, "\(name)")
        case 1:
            guard let response = try? GetAssertionResponse(parsing: body) else { return false }
            #expect(try GetAssertionResponse(parsing: response.encoded).encoded == response.encoded, "\(name)")
        case 2:
            guard let info = try? AuthenticatorInfo(parsing: body) else { return false }
            #expect(try AuthenticatorInfo(parsing: info.encoded).encoded == info.encoded, "\(name)")
        case 3:
            guard let data = try? AuthenticatorData(parsing: body) else { return false }
            #expect(data.encoded == body, "\(name)")
        case 4:
            guard let object = try? AttestationObject(parsing: body) else { return false }
            #expect(try AttestationObject(parsing: object.encoded).encoded == object.encoded, "\(name)")
        case 5:
            guard (try? COSEKey(parsing: body)) != nil else { return false }
        default:
            guard let response = try? CTAPResponse(parsing: body) else { return false }
            #expect(response.encoded == body, "\(name)")
        }
        return true
    }
}
