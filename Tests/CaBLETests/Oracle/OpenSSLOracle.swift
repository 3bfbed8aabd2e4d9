// SPDX-License-Identifier: Apache-2.0

import CHybridOpenSSL

/// An independent implementation of the primitives.
///
/// It is based on the protocol's description and libcrypto, and shares no code with the modules under test.
enum OpenSSLOracle {
    enum Refusal: Error, Equatable {
        /// A call of libcrypto failed that cannot fail for valid input.
        case library(String)
        /// A point is not on the curve.
        case invalidPoint
        /// A tag does not verify.
        case notAuthentic
    }

    static func sha256(_ data: [UInt8]) throws -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        try check(EVP_Digest(data, data.count, &digest, nil, EVP_sha256(), nil), "EVP_Digest")
        return digest
    }

    static func hmac(key: [UInt8], _ message: [UInt8]) throws -> [UInt8] {
        var code = [UInt8](repeating: 0, count: 32)
        var length: UInt32 = 0
        guard HMAC(EVP_sha256(), key, Int32(key.count), message, message.count, &code, &length) != nil, length == 32
        else { throw Refusal.library("HMAC") }
        return code
    }

    /// RFC 5869, extract and expand.
    static func hkdf(_ material: [UInt8], salt: [UInt8], info: [UInt8], length: Int) throws -> [UInt8] {
        let extracted = try hmac(key: salt.isEmpty ? [UInt8](repeating: 0, count: 32) : salt, material)
        var (output, block): ([UInt8], [UInt8]) = ([], [])
        var counter: UInt8 = 0
        while output.count < length {
            counter += 1
            block = try hmac(key: extracted, block + info + [counter])
            output += block
        }
        return Array(output.prefix(length))
    }

    /// AES-256 of one block.
    static func encryptBlock(_ block: [UInt8], key: [UInt8]) throws -> [UInt8] {
        let context = EVP_CIPHER_CTX_new()
        defer { EVP_CIPHER_CTX_free(context) }
        var output = [UInt8](repeating: 0, count: 32)
        var written: Int32 = 0
        try check(EVP_EncryptInit_ex(context, EVP_aes_256_ecb(), nil, key, nil), "EVP_EncryptInit_ex")
        try check(EVP_CIPHER_CTX_set_padding(context, 0), "EVP_CIPHER_CTX_set_padding")
        try check(EVP_EncryptUpdate(context, &output, &written, block, Int32(block.count)), "EVP_EncryptUpdate")
        guard written == 16 else { throw Refusal.library("output is not one block") }
        return Array(output.prefix(16))
    }

    /// AES-256-GCM; ciphertext and tag.
    static func seal(_ message: [UInt8], key: [UInt8], nonce: [UInt8], binding: [UInt8] = []) throws -> [UInt8] {
        let context = EVP_CIPHER_CTX_new()
        defer { EVP_CIPHER_CTX_free(context) }
        var output = [UInt8](repeating: 0, count: message.count + 16)
        var tag = [UInt8](repeating: 0, count: 16)
        var (written, rest): (Int32, Int32) = (0, 0)
        try check(EVP_EncryptInit_ex(context, EVP_aes_256_gcm(), nil, key, nonce), "EVP_EncryptInit_ex")
        try check(EVP_EncryptUpdate(context, nil, &rest, binding, Int32(binding.count)), "associated data")
        try check(EVP_EncryptUpdate(context, &output, &written, message, Int32(message.count)), "EVP_EncryptUpdate")
        var last = [UInt8](repeating: 0, count: 16)
        try check(EVP_EncryptFinal_ex(context, &last, &rest), "EVP_EncryptFinal_ex")
        try check(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, &tag), "EVP_CTRL_AEAD_GET_TAG")
        return Array(output.prefix(Int(written))) + tag
    }

    static func open(_ sealed: [UInt8], key: [UInt8], nonce: [UInt8], binding: [UInt8] = []) throws -> [UInt8] {
        guard sealed.count >= 16 else { throw Refusal.notAuthentic }
        let ciphertext = Array(sealed.dropLast(16))
        var tag = Array(sealed.suffix(16))
        let context = EVP_CIPHER_CTX_new()
        defer { EVP_CIPHER_CTX_free(context) }
        var output = [UInt8](repeating: 0, count: sealed.count)
        var (written, rest): (Int32, Int32) = (0, 0)
        try check(EVP_DecryptInit_ex(context, EVP_aes_256_gcm(), nil, key, nonce), "EVP_DecryptInit_ex")
        try check(EVP_DecryptUpdate(context, nil, &rest, binding, Int32(binding.count)), "associated data")
        try check(
            EVP_DecryptUpdate(context, &output, &written, ciphertext, Int32(ciphertext.count)),
            "EVP_DecryptUpdate"
        )
        try check(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, &tag), "EVP_CTRL_AEAD_SET_TAG")
        var last = [UInt8](repeating: 0, count: 16)
        guard EVP_DecryptFinal_ex(context, &last, &rest) == 1 else { throw Refusal.notAuthentic }
        return Array(output.prefix(Int(written)))
    }

    static func check(_ result: Int32, _ call: String) throws {
        guard result == 1 else { throw Refusal.library(call) }
    }
}
