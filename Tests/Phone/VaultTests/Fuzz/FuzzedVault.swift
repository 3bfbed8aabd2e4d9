// SPDX-License-Identifier: Apache-2.0

import Crypto
import TestSupport

@testable import HybridVault

/// The vault of the fuzzed files, with fixed keys and identity, so that sealed files can be opened.
enum FuzzedVault {
    /// The vault key.
    static let key = SymmetricKey(data: Array(0..<32) as [UInt8])
    /// The previous vault key.
    static let old = SymmetricKey(data: Array(0x40..<0x60) as [UInt8])
    /// Contents of its `vault.json`.
    static let identity = VaultIdentity(id: Array(0x20..<0x30), isTest: false)
    /// The nonce of all files.
    static let nonce = Array(0x50..<0x5C) as [UInt8]

    /// Returns the bytes with one bit flipped, which the choices select.
    static func damaged(_ bytes: [UInt8], _ choices: inout Choices) -> [UInt8] {
        var damaged = bytes
        damaged[choices.number(below: bytes.count)] ^= 1 << UInt8(choices.number(below: 8))
        return damaged
    }
}
