// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridCBOR
import HybridPrimitives
import TestSupport

@testable import HybridCaBLE

/// Tests linking information in both messages that may contain it, and compares signature verification with an
/// independent computation.
///
/// The input is the map of linking information.
func fuzzLinking(_ input: [UInt8]) throws -> Bool {
    let news = try? ChannelMessage(parsing: [2, 0xA1, 0x01] + input)
    let first = try? PostHandshakeMessage(parsing: [0xA2, 0x01, 0x41, 0x00, 0x02] + input)
    let updated: LinkingInformation? = if case .update(let linking) = news { linking } else { nil }
    try invariant((updated == nil) == (first?.linking == nil), "both messages accept the same input")
    guard let linking = updated else { return false }
    let map = try present(try CBORDecoder.decode(input, mode: .lenient).map, "linking information is a map")
    try invariant(linking.map == first?.linking?.map, "both messages give the same value")
    try invariant(linking.map.keys.allSatisfy { linking.map[$0] == map[$0] }, "every member is preserved")
    try invariant(linking.map.count == (linking.announcesProof ? 7 : 6), "no member is missing")
    try invariant(linking.announcesProof == (map[1000] == 2), "a proof is announced by its version")
    let encoded = CBOREncoder.encode(linking.map)
    guard case .update(let again?) = try ChannelMessage(parsing: [2, 0xA1, 0x01] + encoded) else {
        throw BrokenInvariant(description: "broken: it reads back")
    }
    try invariant(again.map == linking.map, "linking information survives the round trip")
    let update = ChannelMessage.update(linking).encoded
    let length = FramePadding.pad(update).count
    try invariant(length == 512 || length > 512 && encoded.count > 508, "an update that fits has 512 bytes")
    guard case .update(let padded?) = try ChannelMessage(parsing: update) else {
        throw BrokenInvariant(description: "broken: a padded update reads back")
    }
    try invariant(padded.map == linking.map, "padding changes nothing")
    try signature(linking)
    return true
}

private func signature(_ linking: LinkingInformation) throws {
    // The seeds are signed for this key and hash.
    let clientKey = try P256.KeyAgreement.PrivateKey(rawRepresentation: [UInt8](repeating: 0x11, count: 32))
    let hash = try present(HandshakeHash(bytes: [UInt8](repeating: 0x22, count: 32)), "32 bytes are a hash")
    let shared = try clientKey.sharedSecretFromKeyAgreement(with: linking.authenticatorKey)
    let key = shared.withUnsafeBytes { SymmetricKey(data: $0) }
    let isSigned = HMAC<SHA256>.isValidAuthenticationCode(linking.signature, authenticating: hash.bytes, using: key)
    try invariant(
        linking.isAuthentic(clientKey: clientKey, handshakeHash: hash) == isSigned,
        "the signature covers this session"
    )
    let other = try present(HandshakeHash(bytes: [UInt8](repeating: 0x23, count: 32)), "32 bytes are a hash")
    try invariant(
        !isSigned || !linking.isAuthentic(clientKey: clientKey, handshakeHash: other),
        "a signature is invalid in another session"
    )
}
