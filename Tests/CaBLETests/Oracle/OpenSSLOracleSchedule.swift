// SPDX-License-Identifier: Apache-2.0

/// An independent implementation of key derivation and adverts.
extension OpenSSLOracle {
    /// HKDF-SHA256 whose `info` is the purpose as four little-endian bytes.
    static func derive(_ secret: [UInt8], salt: [UInt8] = [], purpose: UInt8, length: Int) throws -> [UInt8] {
        try hkdf(secret, salt: salt, info: [purpose, 0, 0, 0], length: length)
    }

    /// AES-256-ECB under the first half of the key, four bytes of HMAC under the second.
    static func advert(plaintext: [UInt8], eidKey: [UInt8]) throws -> [UInt8] {
        let block = try encryptBlock(plaintext, key: Array(eidKey.prefix(32)))
        return block + (try hmac(key: Array(eidKey.suffix(32)), block)).prefix(4)
    }
}
