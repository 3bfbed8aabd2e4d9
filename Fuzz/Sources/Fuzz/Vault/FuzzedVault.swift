// SPDX-License-Identifier: Apache-2.0

import Crypto

@testable import HybridVault

/// The vault whose files are made up: its keys and its name are known, so that what is sealed can be opened.
enum FuzzedVault {
    /// The vault key.
    static let key = SymmetricKey(data: Array(0..<32) as [UInt8])
    /// The vault key before.
    static let old = SymmetricKey(data: Array(0x40..<0x60) as [UInt8])
    /// What its `vault.json` says.
    static let identity = VaultIdentity(id: Array(0x20..<0x30), test: false)
    /// The only nonce there is.
    static let nonce = Array(0x50..<0x5C) as [UInt8]

    /// The same bytes with one bit changed that the choices name.
    static func damaged(_ bytes: [UInt8], _ choices: inout Choices) -> [UInt8] {
        var damaged = bytes
        damaged[choices.number(below: bytes.count)] ^= 1 << UInt8(choices.number(below: 8))
        return damaged
    }
}
