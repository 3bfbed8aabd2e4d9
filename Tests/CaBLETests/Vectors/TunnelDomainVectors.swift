// SPDX-License-Identifier: Apache-2.0

import Crypto
import TestSupport
import Testing

@testable import HybridCaBLE

enum TunnelDomainVectors {
    static func domains(_ value: JSONValue) throws -> Int {
        var checked = 0
        for vector in try value.elements {
            let id = try #require(UInt16(exactly: try vector.number("encoded")))
            if vector["le_bytes"] != nil {
                #expect(try vector.hex("le_bytes") == [UInt8(id & 0xFF), UInt8(id >> 8)])
            }
            if vector["domain"] == nil {
                #expect(TunnelDomain(id: id) == nil, "\(id)")
            } else {
                let host = try vector.text("domain")
                #expect(TunnelDomain(id: id)?.host == host, "\(id)")
                #expect(TunnelDomain(host: host)?.id == id, "\(id)")
            }
            checked += 1
        }
        return checked
    }

    static func labelLengths(_ value: JSONValue) throws -> Int {
        var lengths: [Int: Int] = [:]
        for id in TunnelDomain.firstHashed...UInt16.max {
            let host = try #require(TunnelDomain(id: id)?.host)
            let labels = host.split(separator: ".", omittingEmptySubsequences: false)
            try #require(labels.count == 3 && labels[0] == "cable")
            lengths[labels[1].utf8.count, default: 0] += 1
        }
        for (length, count) in try value.entries {
            #expect(lengths[try #require(Int(length))].map(JSONValue.number) == count, "\(length) characters")
        }
        #expect(lengths.count == (try value.entries.count))
        #expect(lengths.values.reduce(0, +) == 65536 - 256)
        return 1
    }

    /// Derives the host from the published hash step by step.
    static func hashInput(_ value: JSONValue) throws -> Int {
        let id = try #require(UInt16(exactly: try value.number("encoded")))
        let input = try value.hex("hash_input")
        #expect(input == Array("caBLEv2 tunnel server domain".utf8) + [UInt8(id & 0xFF), UInt8(id >> 8), 0])
        let digest = try value.hex("sha256")
        #expect(Array(SHA256.hash(data: input)) == digest)
        var number = digest.prefix(8).reversed().reduce(UInt64(0)) { $0 * 256 + UInt64($1) }
        let topLevel = ["com", "org", "net", "info"][Int(number % 4)]
        number /= 4
        var label = ""
        while number > 0 {
            label.append(Array("abcdefghijklmnopqrstuvwxyz234567")[Int(number % 32)])
            number /= 32
        }
        #expect(TunnelDomain(id: id)?.host == "cable.\(label).\(topLevel)")
        return 1
    }
}
