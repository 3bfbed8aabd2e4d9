// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridCBOR
import HybridPrimitives
import TestSupport

@testable import HybridCaBLE

/// Tests requests of clients to linked phones, and compares the verification of the proof with an independent
/// computation.
///
/// The input is a client payload, as bytes or in hexadecimal digits.
func fuzzContactRequest(_ input: [UInt8]) throws -> Bool {
    let text = ClientPayload(hexDigits: input[...])
    try invariant(text.map { $0.hex.utf8.elementsEqual(lowercased(input)) } ?? true, "digits survive the round trip")
    try invariant(
        (ClientPayload(bytes: input) != nil) == (1...256).contains(input.count),
        "a payload has a limited length"
    )
    guard let payload = text ?? ClientPayload(bytes: input), let request = ContactRequest(parsing: payload) else {
        return false
    }
    let map = try present(try CBORDecoder.decode(payload.bytes, mode: .strict).map, "a request is a map")
    try invariant(
        map[1]?.bytes == request.linkID.bytes && map[2]?.bytes == request.nonce.bytes,
        "members are preserved"
    )
    try invariant(map[3]?.text == request.hint.rawValue, "the hint is preserved")
    let again = try present(ContactRequest(parsing: request.payload), "a request survives the round trip")
    try invariant(again.payload == request.payload, "a request has one spelling")
    let known: [CBORValue] = [1, 2, 3, 4]
    let isKnown = map.keys.allSatisfy { known.contains($0) }
    try invariant((request.payload == payload) == isKnown, "exactly the unknown members are dropped")
    // The seeds are made with this secret, for this host.
    let secret = try present(LinkSecret(bytes: [UInt8](repeating: 0x11, count: 32)), "32 bytes are a secret")
    let key = HKDF<SHA256>.deriveKey(
        inputKeyMaterial: SymmetricKey(data: [UInt8](repeating: 0x11, count: 32)),
        salt: request.nonce.bytes,
        info: Array("hybrid wake v2".utf8),
        outputByteCount: 32
    )
    let claims = Array(map[4]?.bytes?.prefix(18) ?? [])
    let covered = claims + Array("\(request.hint.rawValue)cable.example".utf8)
    let code = HMAC<SHA256>.authenticationCode(for: covered, using: key)
    let isKnownForm = claims.count == 18 && claims[0] == 2 && claims[1] < 2
    let isProved = isKnownForm && map[4]?.bytes == claims + Array(code.prefix(16))
    let proven = request.provenClaims(secret: secret, host: "cable.example")
    try invariant((proven != nil) == isProved, "the proof covers the request")
    try invariant(proven.map { $0.bytes == claims } ?? true, "claims survive the round trip")
    try invariant(
        request.provenClaims(secret: secret, host: "cable.test") == nil || !isProved,
        "a proof is invalid at another host"
    )
    return true
}

private func lowercased(_ text: [UInt8]) -> [UInt8] {
    text.map { (UInt8(ascii: "A")...UInt8(ascii: "F")).contains($0) ? $0 + 0x20 : $0 }
}
