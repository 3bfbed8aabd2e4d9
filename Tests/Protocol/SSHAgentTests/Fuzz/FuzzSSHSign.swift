// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridPrimitives
import TestSupport

@testable import HybridSSHAgent

/// Fuzzes the data that may be signed, keys of hosts and users, and assertions.
///
/// The first byte selects one of them.
func fuzzSSHSign(_ input: [UInt8]) throws -> Bool {
    guard let kind = input.first else { return false }
    let body = Array(input.dropFirst())
    return switch kind % 4 {
    case 0: try data(body)
    case 1: try hostKey(body)
    case 2: try publicKey(body)
    default: try assertion(body)
    }
}

private func data(_ bytes: [UInt8]) throws -> Bool {
    let key = try FuzzedKey.key()
    guard let unbound = try? SignedData(parsing: bytes) else {
        try invariant((try? SignedData(parsing: bytes, for: key)) == nil, "what a key signs parses without it")
        return false
    }
    let data: SignedData
    do throws(SignedDataError) {
        data = try SignedData(parsing: bytes, for: key)
    } catch {
        guard case .login(let login) = unbound.content else { throw BrokenInvariant(description: "broken: no key") }
        try invariant(error == .foreignKey && login.key != key, "only the key makes the difference")
        try invariant(written(unbound.content, login.key) == bytes, "the data contains nothing but its fields")
        return false
    }
    try invariant(data == unbound, "the meaning does not depend on the key")
    try invariant(data.hash == Array(SHA256.hash(data: bytes)), "the hash covers all bytes")
    try invariant(bytes.first != UInt8(ascii: "{"), "JSON is not signed")
    let fields = written(data.content, key)
    try invariant(fields == bytes, "the data contains nothing but the fields that were read")
    return true
}

/// Returns the encoding of fields, written independently.
private func written(_ content: SignedData.Content, _ key: SSHPublicKey) -> [UInt8] {
    switch content {
    case .login(let login):
        let method = login.hostKey == nil ? "publickey" : "publickey-hostbound-v00@openssh.com"
        let texts = [login.user.description, "ssh-connection", method]
        let tail = [Array(SSHPublicKey.algorithm.utf8), key.encoded] + (login.hostKey.map { [$0.encoded] } ?? [])
        return sshStrings([login.sessionID.bytes]) + [50] + sshStrings(texts.map { Array($0.utf8) }) + [1]
            + sshStrings(tail)
    case .message(let message):
        let (algorithm, hash) =
            switch message.hash {
            case .sha256(let hash): ("sha256", hash)
            case .sha512(let hash): ("sha512", hash)
            }
        return Array("SSHSIG".utf8)
            + sshStrings([Array(message.namespace.description.utf8), [], Array(algorithm.utf8), hash])
    }
}

private func hostKey(_ bytes: [UInt8]) throws -> Bool {
    guard let key = try? HostKey(parsing: bytes) else { return false }
    try invariant(key.encoded == bytes, "a host key keeps its encoding")
    try invariant(SSHFingerprint(key.fingerprint.description) == key.fingerprint, "a fingerprint can be read")
    let sessionID = try SSHSessionID(bytes: [UInt8](repeating: 7, count: 32))
    let isValid = (try? key.isValid(bytes, for: sessionID)) ?? false
    try invariant(!isValid, "a key is no signature")
    return true
}

private func publicKey(_ bytes: [UInt8]) throws -> Bool {
    guard let key = try? SSHPublicKey(parsing: bytes) else { return false }
    try invariant(key.encoded == bytes, "a key survives the round trip")
    let line = key.authorizedKeysLine(comment: nil)
    try invariant(line.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }, "a key is one line")
    try invariant(line.split(separator: " ").count == 2, "of two words")
    return true
}

/// An assertion without the key: the first 37 bytes are authenticator data, the rest is a signature in DER.
private func assertion(_ bytes: [UInt8]) throws -> Bool {
    let key = try FuzzedKey.key()
    let message = Array("SSHSIG".utf8) + sshStrings([Array("git".utf8), [], Array("sha256".utf8), Array(0..<32)])
    let data = try SignedData(parsing: message, for: key)
    var authenticatorData = Array(bytes.prefix(37))
    // Saves the fuzzer from guessing a hash.
    if authenticatorData.first == 0 {
        authenticatorData.replaceSubrange(..<min(32, authenticatorData.count), with: key.application.hash)
    }
    do throws(SSHSignatureError) {
        _ = try SSHSignature(
            derSignature: Array(bytes.dropFirst(37)),
            authenticatorData: authenticatorData,
            by: key,
            over: data
        )
    } catch {
        return error == .notValid
    }
    throw BrokenInvariant(description: "broken: a signature is not made without the key")
}
