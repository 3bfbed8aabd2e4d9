// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridCBOR

/// Changes to the authenticator data, the signature and the account of a sign-in.
enum AuthenticationMutations {
    typealias Mutation = (name: String, change: @Sendable (inout AuthenticationParts) throws -> Void)

    static let all: [Mutation] = data + counter + signature + account

    private static let data: [Mutation] = [
        ("RP ID hash other", { $0.data.replaceSubrange(0..<32, with: digest("evil.test")) }),
        ("flag UP off", { $0.data[32] &= ~0x01 }),
        ("flag UV off", { $0.data[32] &= ~0x04 }),
        ("flags UP and UV off", { $0.data[32] &= ~0x05 }),
        ("flag BE off", { $0.data[32] &= ~0x08 }),
        ("flag BE on, off at registration", { $0.storedEligibility = false }),
        ("flag BS on", { $0.data[32] |= 0x10 }),
        ("flag BS on, BE off", { $0.data[32] = $0.data[32] & ~0x08 | 0x10 }),
        (
            "flag BS on, BE off as at registration",
            {
                $0.data[32] = $0.data[32] & ~0x08 | 0x10
                $0.storedEligibility = false
            }
        ),
        ("reserved flags on", { $0.data[32] |= 0x22 }),
        ("flag AT on without a credential", { $0.data[32] |= 0x40 }),
        ("flag ED on without extensions", { $0.data[32] |= 0x80 }),
        (
            "flag ED on with an empty map",
            {
                $0.data[32] |= 0x80
                $0.data += [0xA0]
            }
        ),
        (
            "flag ED on with an integer",
            {
                $0.data[32] |= 0x80
                $0.data += [0x01]
            }
        ),
        (
            "flag ED on with a byte after the map",
            {
                $0.data[32] |= 0x80
                $0.data += [0xA0, 0x00]
            }
        ),
        ("byte after the data", { $0.data += [0] }),
        ("data of 36 bytes", { $0.data = Array($0.data.prefix(36)) }),
        ("data empty", { $0.data = [] }),
        ("data missing", { $0.changeText = { $0.response["authenticatorData"] = nil } }),
    ]

    private static func counter(_ stored: UInt32, _ new: UInt8) -> Mutation {
        (
            "counter \(new) after \(stored)",
            {
                $0.storedCount = stored
                $0.data.replaceSubrange(33..<37, with: [0, 0, 0, new])
            }
        )
    }

    private static let counter: [Mutation] = [
        counter(0, 1), counter(5, 6), counter(5, 5), counter(5, 4), counter(5, 0), counter(1, 0),
        (
            "counter at its maximum",
            {
                $0.storedCount = 0x7FFF_FFFF
                $0.data.replaceSubrange(33..<37, with: [0xFF, 0xFF, 0xFF, 0xFF])
            }
        ),
    ]

    private static let signature: [Mutation] = [
        ("signature by another key", { $0.key = P256.Signing.PrivateKey() }),
        ("signature changed", { $0.changeSignature = { $0[$0.count - 1] ^= 1 } }),
        ("signature empty", { $0.changeSignature = { $0 = [] } }),
        ("signature truncated", { $0.changeSignature = { $0.removeLast() } }),
        ("signature with a byte after it", { $0.changeSignature = { $0 += [0] } }),
        (
            "signature not in DER",
            { $0.changeSignature = { $0 = raw($0) } }
        ),
        (
            "signature with a longer form of its length",
            { $0.changeSignature = { $0 = [$0[0], 0x81, $0[1]] + $0.dropFirst(2) } }
        ),
        ("signature of zeros", { $0.changeSignature = { $0 = [0x30, 0x06, 0x02, 0x01, 0x00, 0x02, 0x01, 0x00] } }),
        ("signature over the authenticator data alone", { $0.changeSigned = { $0 = Array($0.dropLast(32)) } }),
        ("signature over other client data", { $0.changeSigned = { $0[$0.count - 1] ^= 1 } }),
        ("signature over other authenticator data", { $0.changeSigned = { $0[36] ^= 1 } }),
        ("signature missing", { $0.changeText = { $0.response["signature"] = nil } }),
        ("signature null", { $0.changeText = { $0.response["signature"] = "null" } }),
    ]

    /// Returns r ‖ s, as JSON Web Signatures have it.
    private static func raw(_ der: [UInt8]) -> [UInt8] {
        (try? P256.Signing.ECDSASignature(derRepresentation: der)).map { Array($0.rawRepresentation) } ?? []
    }

    private static let account: [Mutation] = [
        ("userHandle missing", { $0.userHandle = nil }),
        ("userHandle null", { $0.changeText = { $0.response["userHandle"] = "null" } }),
        ("userHandle of another account", { $0.userHandle = Array("handle-eve".utf8) }),
        ("userHandle empty", { $0.userHandle = [] }),
        ("userHandle of 65 bytes", { $0.userHandle = [UInt8](repeating: 1, count: 65) }),
        ("userHandle not base64url", { $0.changeText = { $0.response["userHandle"] = "\"=\"" } }),
    ]
}
