// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// What `vault.json` says; every sealed thing of the vault is bound to all of it.
struct VaultIdentity: Hashable, Sendable {
    /// Name of the file.
    static let fileName = "vault.json"
    /// The only format there is.
    static let format: UInt16 = 1

    /// 16 random bytes.
    let id: [UInt8]
    /// Whether the vault was made under a virtual radio and opens only there.
    let test: Bool

    /// The vault ID as it stands in files: 32 lower-case hexadecimal digits.
    var name: String { Hex.encode(id) }

    /// The exact text of the file; JSON for people, one spelling only for us.
    var text: String { "{\"format\":\(Self.format),\"vault\":\"\(name)\",\"test\":\(test)}\n" }

    /// A vault that never was.
    static func random(test: Bool) -> VaultIdentity { VaultIdentity(id: RandomBytes.make(16), test: test) }

    /// Why bytes are not a `vault.json`.
    enum Refusal: Error, Equatable {
        /// Not what was written.
        case damaged
        /// Another format than ``VaultIdentity/format``.
        case otherFormat(Int)
    }

    /// Reads the exact text; anything else is refused, because the file is never edited.
    static func read(_ bytes: [UInt8]) throws(Refusal) -> VaultIdentity {
        let text = String(decoding: bytes, as: UTF8.self)
        let opening = "{\"format\":"
        guard text.hasPrefix(opening) else { throw .damaged }
        let digits = text.dropFirst(opening.count).prefix { $0.isASCII && $0.isNumber }
        guard let format = Int(digits) else { throw .damaged }
        guard format == Int(Self.format) else { throw .otherFormat(format) }
        let pieces = text.split(separator: "\"", omittingEmptySubsequences: false)
        guard pieces.count > 5, let id = Hex.decode(pieces[5], length: 16, lowercaseOnly: true) else { throw .damaged }
        for test in [false, true] {
            let identity = VaultIdentity(id: id, test: test)
            if Array(identity.text.utf8) == bytes { return identity }
        }
        throw .damaged
    }

    /// Format, vault ID and test flag, 19 bytes, as they stand in all associated data.
    var associatedData: [UInt8] {
        var data: [UInt8] = []
        data.append(bigEndian: Self.format)
        return data + id + [test ? 1 : 0]
    }
}
