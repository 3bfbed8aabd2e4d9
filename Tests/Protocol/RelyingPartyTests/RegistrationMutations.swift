// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridCBOR
import HybridCTAP

/// Changes to the authenticator data and the attestation of a registration.
enum RegistrationMutations {
    typealias Mutation = (name: String, change: @Sendable (inout RegistrationParts) throws -> Void)

    static func all(_ authority: TestAuthority) -> [Mutation] {
        data + credential + key + statement + object + certificates(authority) + certificateSignatures(authority)
    }

    private static let data: [Mutation] = [
        ("RP ID hash other", { $0.data.replaceSubrange(0..<32, with: digest("evil.test")) }),
        ("RP ID hash of the origin", { $0.data.replaceSubrange(0..<32, with: digest("https://example.com")) }),
        ("flag UP off", { $0.data[32] &= ~0x01 }),
        ("flag UV off", { $0.data[32] &= ~0x04 }),
        ("flags UP and UV off", { $0.data[32] &= ~0x05 }),
        ("flag BE off", { $0.data[32] &= ~0x08 }),
        ("flag BS on", { $0.data[32] |= 0x10 }),
        ("flag BS on, BE off", { $0.data[32] = $0.data[32] & ~0x08 | 0x10 }),
        ("reserved flags on", { $0.data[32] |= 0x22 }),
        ("flag AT off", { $0.data[32] &= ~0x40 }),
        (
            "flag AT off, no credential",
            {
                $0.data[32] &= ~0x40
                $0.data = Array($0.data.prefix(37))
            }
        ),
        ("flag ED on without extensions", { $0.data[32] |= 0x80 }),
        (
            "flag ED on with an empty map",
            {
                $0.data[32] |= 0x80
                $0.data += [0xA0]
            }
        ),
        (
            "flag ED on with an unknown extension",
            {
                $0.data[32] |= 0x80
                $0.data += [0xA1, 0x63, 0x6E, 0x65, 0x77, 0xF5]
            }
        ),
        (
            "flag ED on with an array",
            {
                $0.data[32] |= 0x80
                $0.data += [0x80]
            }
        ),
        ("byte after the data", { $0.data += [0] }),
        ("extensions without flag ED", { $0.data += [0xA0] }),
        ("data truncated by one byte", { $0.data.removeLast() }),
        ("data of 36 bytes", { $0.data = Array($0.data.prefix(36)) }),
        ("data empty", { $0.data = [] }),
        ("counter 1", { $0.data[36] = 1 }),
        ("counter at its maximum", { $0.data.replaceSubrange(33..<37, with: [0xFF, 0xFF, 0xFF, 0xFF]) }),
    ]

    private static let credential: [Mutation] = [
        ("AAGUID of zeros", { $0.data.replaceSubrange(37..<53, with: [UInt8](repeating: 0, count: 16)) }),
        ("credential ID other than the client's", { $0.data[RegistrationParts.idOffset] ^= 1 }),
        (
            "credential ID empty",
            {
                $0.data.replaceSubrange(53..<$0.keyOffset, with: [0, 0])
                $0.id = []
            }
        ),
        ("credential ID of 1,023 bytes", { $0.replaceID(length: 1023) }),
        ("credential ID of 1,024 bytes", { $0.replaceID(length: 1024) }),
        ("credential ID longer than the data", { $0.data[53] = 0xFF }),
    ]

    private static let key: [Mutation] = [
        ("key without algorithm", { try $0.replaceKey { $0[3] = nil } }),
        ("key without type", { try $0.replaceKey { $0[1] = nil } }),
        ("key of type OKP", { try $0.replaceKey { $0[1] = 1 } }),
        ("key on P-384", { try $0.replaceKey { $0[-1] = 2 } }),
        ("key without curve", { try $0.replaceKey { $0[-1] = nil } }),
        ("key without y", { try $0.replaceKey { $0[-3] = nil } }),
        ("key with compressed y", { try $0.replaceKey { $0[-3] = true } }),
        ("key off the curve", { try $0.replaceKey { $0[-3] = .bytes([UInt8](repeating: 7, count: 32)) } }),
        ("key with x of 31 bytes", { try $0.replaceKey { $0[-2] = .bytes(Array(($0[-2]?.bytes ?? []).dropLast())) } }),
        ("key with x of 33 bytes", { try $0.replaceKey { $0[-2] = .bytes([0] + ($0[-2]?.bytes ?? [])) } }),
        ("key with another parameter", { try $0.replaceKey { $0[-70000] = 1 } }),
        ("key for ES384", { try $0.replaceKey { $0[3] = -35 } }),
        ("key for an unknown algorithm", { try $0.replaceKey { $0[3] = -7000 } }),
        (
            "key for ES384, without attestation",
            {
                let point = Array(P384.Signing.PrivateKey().publicKey.rawRepresentation)
                $0.attestation = .none
                try $0.replaceKey {
                    $0 = [1: 2, 3: -35, -1: 2, -2: .bytes(Array(point[..<48])), -3: .bytes(Array(point[48...]))]
                }
            }
        ),
        (
            "key for EdDSA, without attestation",
            {
                let point = Array(Curve25519.Signing.PrivateKey().publicKey.rawRepresentation)
                $0.attestation = .none
                try $0.replaceKey { $0 = [1: 1, 3: -8, -1: 6, -2: .bytes(point)] }
            }
        ),
        (
            "key for EdDSA of 31 bytes, without attestation",
            {
                $0.attestation = .none
                try $0.replaceKey { $0 = [1: 1, 3: -8, -1: 6, -2: .bytes([UInt8](repeating: 1, count: 31))] }
            }
        ),
        (
            "key of two bytes for RS256, without attestation",
            {
                $0.attestation = .none
                try $0.replaceKey { $0 = [1: 3, 3: -257, -1: .bytes([0xC0, 0x01]), -2: .bytes([1, 0, 1])] }
            }
        ),
        (
            "key off the curve, without attestation",
            {
                $0.attestation = .none
                try $0.replaceKey { $0[-3] = .bytes([UInt8](repeating: 7, count: 32)) }
            }
        ),
        (
            "key with its members in another order",
            {
                // The canonical order is 1, 3, -1, -2, -3: the last two members have 35 bytes each.
                let (head, tail) = ($0.data.prefix($0.data.count - 70), $0.data.suffix(70))
                $0.data = Array(head + tail.suffix(35) + tail.prefix(35))
            }
        ),
        (
            "key with a repeated member",
            {
                $0.data[$0.keyOffset] += 1
                $0.data += $0.data.suffix(35)
            }
        ),
        (
            "key as a map of indefinite length",
            {
                $0.data[$0.keyOffset] = 0xBF
                $0.data += [0xFF]
            }
        ),
    ]

    private static let statement: [Mutation] = [
        ("no attestation", { $0.attestation = .none }),
        (
            "no attestation, but a statement",
            {
                $0.attestation = .none
                $0.changeStatement = { $0["alg"] = -7 }
            }
        ),
        (
            "no attestation, but an unknown member",
            {
                $0.attestation = .none
                $0.changeStatement = { $0["new"] = 1 }
            }
        ),
        ("format None", { $0.format = "None" }),
        ("format unknown", { $0.format = "new" }),
        ("format empty", { $0.format = "" }),
        ("format none with a packed statement", { $0.format = "none" }),
        ("format fido-u2f with a packed statement", { $0.format = "fido-u2f" }),
        ("format a byte string", { $0.format = .bytes(Array("packed".utf8)) }),
        ("statement empty", { $0.changeStatement = { $0 = [:] } }),
        ("statement without sig", { $0.changeStatement = { $0["sig"] = nil } }),
        ("statement without alg", { $0.changeStatement = { $0["alg"] = nil } }),
        ("statement with alg RS256", { $0.changeStatement = { $0["alg"] = -257 } }),
        ("statement with alg as text", { $0.changeStatement = { $0["alg"] = "ES256" } }),
        ("statement with an unknown member", { $0.changeStatement = { $0["new"] = 1 } }),
        ("statement with ecdaaKeyId", { $0.changeStatement = { $0["ecdaaKeyId"] = .bytes([1]) } }),
        ("statement with an empty x5c", { $0.changeStatement = { $0["x5c"] = [] } }),
        ("statement with x5c null", { $0.changeStatement = { $0["x5c"] = .null } }),
        ("statement with x5c of texts", { $0.changeStatement = { $0["x5c"] = ["a"] } }),
        ("statement with x5c of garbage", { $0.changeStatement = { $0["x5c"] = [.bytes([1, 2, 3])] } }),
        ("statement with sig empty", { $0.changeStatement = { $0["sig"] = .bytes([]) } }),
        ("statement with a changed sig", { $0.changeStatement = { $0["sig"] = .bytes(changed($0["sig"]?.bytes)) } }),
        (
            "statement with a byte after sig",
            { $0.changeStatement = { $0["sig"] = .bytes(($0["sig"]?.bytes ?? []) + [0]) } }
        ),
        (
            "statement signed by another key",
            {
                let signature = try P256.Signing.PrivateKey().signature(for: $0.data).derRepresentation
                $0.changeStatement = { $0["sig"] = .bytes(Array(signature)) }
            }
        ),
        (
            "client data changed after the attestation",
            {
                let (_, statement) = try $0.statement()
                $0.changeStatement = { $0 = statement }
                $0.clientData["new"] = "1"
            }
        ),
        (
            "credential ID changed after the attestation",
            {
                let (_, statement) = try $0.statement()
                $0.changeStatement = { $0 = statement }
                $0.data[RegistrationParts.idOffset] ^= 1
                $0.id[0] ^= 1
            }
        ),
    ]

    private static func changed(_ bytes: [UInt8]?) -> [UInt8] {
        guard let bytes, let last = bytes.last else { return [] }
        return bytes.dropLast() + [last ^ 1]
    }

    private static let object: [Mutation] = [
        ("object with a byte after it", { $0.changeObject = { $0 += [0] } }),
        ("object truncated", { $0.changeObject = { $0.removeLast() } }),
        ("object empty", { $0.changeObject = { $0 = [] } }),
        ("object not base64url", { $0.changeText = { $0.response["attestationObject"] = "\"{}\"" } }),
        ("object missing", { $0.changeText = { $0.response["attestationObject"] = nil } }),
        ("object an empty map", { $0.changeObject = { $0 = [0xA0] } }),
        ("object an array", { $0.changeObject = { $0 = [0x80] } }),
        ("object of indefinite length", { $0.changeObject = { $0 = [0xBF] + $0.dropFirst() + [0xFF] } }),
        ("object with a tag", { $0.changeObject = { $0 = [0xD9, 0xD9, 0xF7] + $0 } }),
        (
            "object with an unknown member",
            { $0.changeObject = { $0 = [$0[0] + 1] + $0.dropFirst() + CBOREncoder.encode("zzzzzzzzz") + [1] } }
        ),
        (
            "object with a repeated fmt",
            {
                $0.changeObject = {
                    $0 = [$0[0] + 1] + $0.dropFirst() + CBOREncoder.encode("fmt") + CBOREncoder.encode("packed")
                }
            }
        ),
        (
            "object with fmt at its end",
            {
                $0.changeObject = {
                    // fmt is the shortest name and therefore the first: 4 and 7 bytes.
                    $0 = [$0[0]] + $0.dropFirst(12) + $0.dropFirst().prefix(11)
                }
            }
        ),
        (
            "object with a longer form of a length",
            { $0.changeObject = { $0 = [$0[0], 0x78, 0x03] + $0.dropFirst(2) } }
        ),
        ("transports missing", { $0.changeText = { $0.response["transports"] = nil } }),
        ("transports unknown", { $0.changeText = { $0.response["transports"] = #"["new"]"# } }),
        ("transports a text", { $0.changeText = { $0.response["transports"] = "\"usb\"" } }),
        ("publicKey of another credential", { $0.changeText = { $0.response["publicKey"] = "\"AAAA\"" } }),
        ("publicKeyAlgorithm other", { $0.changeText = { $0.response["publicKeyAlgorithm"] = "-257" } }),
        ("authenticatorData other", { $0.changeText = { $0.response["authenticatorData"] = "\"AAAA\"" } }),
    ]

    private static func certificates(_ authority: TestAuthority) -> [Mutation] {
        TestAuthority.Variant.allCases.map { variant -> Mutation in
            let change: @Sendable (inout RegistrationParts) throws -> Void = {
                let issued = try authority.issue(variant, aaguid: Array($0.data[37..<53]))
                $0.attestation = .chain(issued.chain, issued.key)
            }
            return ("certificate \(variant.rawValue)", change)
        }
    }

    private static func certificateSignatures(_ authority: TestAuthority) -> [Mutation] {
        [
            (
                "certificate, signed by another key",
                {
                    let issued = try authority.issue(.genuine, aaguid: Array($0.data[37..<53]))
                    $0.attestation = .chain(issued.chain, P256.Signing.PrivateKey())
                }
            ),
            (
                "certificate, signed by the credential",
                {
                    let issued = try authority.issue(.genuine, aaguid: Array($0.data[37..<53]))
                    $0.attestation = .chain(issued.chain, $0.key)
                }
            ),
            (
                "certificate, alg of another key type",
                {
                    let issued = try authority.issue(.genuine, aaguid: Array($0.data[37..<53]))
                    $0.attestation = .chain(issued.chain, issued.key)
                    $0.changeStatement = { $0["alg"] = -257 }
                }
            ),
            (
                "certificate truncated",
                {
                    let issued = try authority.issue(.genuine, aaguid: Array($0.data[37..<53]))
                    $0.attestation = .chain([Array(issued.chain[0].dropLast())], issued.key)
                }
            ),
        ]
    }
}

extension RegistrationParts {
    /// Replaces the credential ID by one of another length.
    mutating func replaceID(length: Int) {
        let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
        data.replaceSubrange(53..<keyOffset, with: [UInt8(length >> 8), UInt8(length & 0xFF)] + bytes)
        id = bytes
    }
}
