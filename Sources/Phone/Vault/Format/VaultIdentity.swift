// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// The contents of `vault.json`; every sealed file of the vault is bound to them.
struct VaultIdentity: Hashable, Sendable {
    /// File name.
    static let fileName = "vault.json"
    /// The only format so far.
    static let format: UInt16 = 1

    /// Vault ID: 16 random bytes.
    let id: [UInt8]
    /// True for a test vault, which was created with a virtual radio and opens only with one.
    let isTest: Bool

    /// Vault ID as 32 lower-case hexadecimal digits.
    var name: String { Hex.encode(id) }

    /// Exact text of the file, in JSON; no other spelling is accepted.
    var text: String { "{\"format\":\(Self.format),\"vault\":\"\(name)\",\"test\":\(isTest)}\n" }

    /// Returns the identity of a new vault.
    static func random(isTest: Bool) -> VaultIdentity { VaultIdentity(id: .random(16), isTest: isTest) }

    /// Parses the exact text; anything else is rejected, because the file is never edited.
    ///
    /// - Throws: ``VaultError/damaged(_:)`` or ``VaultError/unsupportedFormat(_:)``.
    static func read(_ bytes: [UInt8]) throws(VaultError) -> VaultIdentity {
        let damaged = VaultError.damaged("\(fileName) was changed")
        let text = String(decoding: bytes, as: UTF8.self)
        let opening = "{\"format\":"
        guard text.hasPrefix(opening) else { throw damaged }
        let digits = text.dropFirst(opening.count).prefix { $0.isASCII && $0.isNumber }
        guard let format = Int(digits) else { throw damaged }
        guard format == Int(Self.format) else { throw .unsupportedFormat(format) }
        let pieces = text.split(separator: "\"", omittingEmptySubsequences: false)
        guard pieces.count > 5, let id = Hex.decode(pieces[5], length: 16, lowercaseOnly: true) else { throw damaged }
        for isTest in [false, true] {
            let identity = VaultIdentity(id: id, isTest: isTest)
            if Array(identity.text.utf8) == bytes { return identity }
        }
        throw damaged
    }

    /// Format, vault ID and test flag: 19 bytes that are part of all associated data.
    var associatedData: [UInt8] {
        var data: [UInt8] = []
        data.append(bigEndian: Self.format)
        return data + id + [isTest ? 1 : 0]
    }
}
