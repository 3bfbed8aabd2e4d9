// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridCBOR

@testable import HybridCaBLE

/// Linking information, in both places where a phone may put it, is taken by the same rule; its signature is true
/// exactly if another computation of it says so.
///
/// The input is the map inside.
func fuzzLinking(_ input: [UInt8]) throws -> Bool {
    let news = try? ChannelMessage(parsing: [2, 0xA1, 0x01] + input)
    let first = try? PostHandshakeMessage(parsing: [0xA2, 0x01, 0x41, 0x00, 0x02] + input)
    let updated: LinkingInformation? = if case .update(let linking) = news { linking } else { nil }
    try invariant((updated == nil) == (first?.linking == nil), "both places take the same")
    guard let linking = updated else { return false }
    let map = try present(try CBORDecoder.decode(input, mode: .lenient).map, "linking information is a map")
    try invariant(linking.map == first?.linking?.map, "both places read the same")
    try invariant(linking.map.keys.allSatisfy { linking.map[$0] == map[$0] }, "every member is what was sent")
    try invariant(linking.map.count == 6, "no member is missing")
    let encoded = CBOREncoder.encode(linking.map)
    guard case .update(let again?) = try ChannelMessage(parsing: [2, 0xA1, 0x01] + encoded) else {
        throw BrokenInvariant(description: "broken: it reads back")
    }
    try invariant(again.map == linking.map, "it reads back")
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
        "the signature is over this session"
    )
    let other = try present(HandshakeHash(bytes: [UInt8](repeating: 0x23, count: 32)), "32 bytes are a hash")
    try invariant(
        !isSigned || !linking.isAuthentic(clientKey: clientKey, handshakeHash: other),
        "a signature is of no use in another session"
    )
}
