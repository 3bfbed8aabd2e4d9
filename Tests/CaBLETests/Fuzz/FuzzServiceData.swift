// SPDX-License-Identifier: Apache-2.0

import Crypto
import CryptoExtras
import HybridPrimitives
import TestSupport

@testable import HybridCaBLE

/// Tests that encrypting a decrypted advert gives the received bytes.
///
/// The input is parsed as service data. Since a fuzzer cannot guess a tag, its first 16 bytes are also encrypted as the
/// plaintext of an advert, followed by a suffix of CTAP 2.3.
func fuzzServiceData(_ input: [UInt8]) throws -> Bool {
    let key = try present(QRSecret(bytes: Array(0..<16)), "16 bytes are a secret").eidKey
    let advert = Advert(serviceData: input)
    try invariant((advert != nil) == (20...254).contains(input.count), "an advert has 20 to 254 bytes")
    let isOpened = try advert.map { try opened($0, key, input) } ?? false
    return try sealed(input, key) || isOpened
}

private func opened(_ advert: Advert, _ key: EIDKey, _ input: [UInt8]) throws -> Bool {
    try invariant(advert.bytes == Array(input.prefix(20)), "an advert is the first 20 bytes")
    guard let eid = EID.open(advert, with: key, for: .linked) else {
        try invariant(
            EID.open(advert, with: key) == nil,
            "an advert that is invalid for a link is invalid after a QR code"
        )
        return false
    }
    try invariant(eid.sealed(with: key) == advert, "sealing is the inverse of opening")
    try invariant(
        (EID.open(advert, with: key) != nil) == (eid.domain != nil),
        "after a QR code the relay must be known"
    )
    return true
}

private func sealed(_ input: [UInt8], _ key: EIDKey) throws -> Bool {
    guard input.count >= 16 else { return false }
    let plaintext = Array(input.prefix(16))
    var block = plaintext
    try AES.permute(&block, key: key.encryption)
    let tag = HMAC<SHA256>.authenticationCode(for: block, using: key.authentication).prefix(4)
    let suffix = Array(input.dropFirst(16).prefix(234))
    let data: [UInt8] = block + Array(tag) + suffix
    let advert = try present(Advert(serviceData: data), "a suffix does not matter")
    let eid = EID.open(advert, with: key, for: .linked)
    try invariant((eid != nil) == (plaintext[0] == 0), "the reserved byte is zero")
    let number = UInt16(plaintext[14]) | UInt16(plaintext[15]) << 8
    let isKnown = number < 2 || number >= 256
    try invariant((EID.open(advert, with: key) != nil) == (eid != nil && isKnown), "after a QR code the relay is known")
    // One bit of the advert, chosen by the last byte.
    var damaged = advert.bytes
    let bit = Int(input.last ?? 0) % (damaged.count * 8)
    damaged[bit / 8] ^= 1 << UInt8(bit % 8)
    let other = try present(Advert(bytes: damaged), "20 bytes are an advert")
    try invariant(EID.open(other, with: key, for: .linked) == nil, "no bit may change")
    guard let eid else { return false }
    try invariant(eid.sealed(with: key) == advert, "sealing is the inverse of opening")
    try invariant(eid.plaintext == plaintext && eid.domainID == number, "the plaintext is preserved")
    try invariant(eid.routingID.bytes == Array(plaintext[11..<14]), "the routing ID follows the nonce")
    try invariant(eid.domain?.id == (isKnown ? number : nil), "numbers that are not assigned have no relay")
    return true
}
