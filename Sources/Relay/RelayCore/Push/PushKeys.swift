// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridCaBLE
public import HybridPrimitives

/// A relay's keys for push: the key that identifies it to push servers, and the keys of its contact IDs.
///
/// The file has one key per line, in base64url without padding:
///
///     vapid KEY
///     contact NUMBER KEY
///
/// The number is 0 to 255. The first contact key encrypts new contact IDs; the others still open old ones. Empty lines
/// and lines that start with `#` are ignored.
public struct PushKeys: Sendable, SecretMaterial {
    /// Maximum length of the file in bytes.
    public static let maximumFileLength = 64 << 10

    let vapid: VAPIDKey
    let contacts: PushContactIDKeys

    /// A reason why a file is rejected, worded to follow the file's name.
    public struct ParseError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The reason.
        public let description: String
    }

    /// Parses the contents of a key file.
    ///
    /// - Throws: ``ParseError``.
    public init(parsing bytes: [UInt8]) throws(ParseError) {
        var vapid: VAPIDKey?
        var keys: [(number: UInt8, key: SymmetricKey)] = []
        let lines = bytes.withoutByteOrderMark.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            let words = line.split { [0x20, 0x09, 0x0D].contains($0) }.map { String(decoding: $0, as: UTF8.self) }
            guard let name = words.first, !name.hasPrefix("#") else { continue }
            guard words.count > 1, var key = Base64URL.decode(words[words.count - 1], maximumLength: 32),
                key.count == PushContactIDKeys.keyLength
            else { throw Self.malformed(index) }
            defer { SecretBytes.wipe(&key) }
            switch (name, words.count) {
            case ("vapid", 2) where vapid == nil:
                vapid = key.withUnsafeBytes { VAPIDKey(bytes: $0) }
                guard vapid != nil else { throw Self.malformed(index) }
            case ("contact", 3):
                guard let number = UInt8(words[1]) else { throw Self.malformed(index) }
                keys.append((number, SymmetricKey(data: key)))
            default: throw Self.malformed(index)
            }
        }
        guard let vapid else { throw ParseError(description: "has no vapid key; \(Self.remedy)") }
        guard let contacts = PushContactIDKeys(keys) else {
            throw ParseError(description: "has no contact key, or a number twice; \(Self.remedy)")
        }
        (self.vapid, self.contacts) = (vapid, contacts)
    }

    private static func malformed(_ index: Int) -> ParseError {
        ParseError(description: "line \(index + 1) is malformed; \(remedy)")
    }

    private static let remedy = "create one with hybrid-relay new-push-keys"

    /// Returns the contents of a new key file, which its owner wipes.
    public static func newFile() -> [UInt8] {
        var text = Array("# Keys of hybrid-relay serve --push-key-file: secret, the same on all nodes.\n".utf8)
        // Enough capacity avoids a reallocation, which would leave a copy behind.
        text.reserveCapacity(512)
        text += "vapid ".utf8
        VAPIDKey().withUnsafeBytes { Base64URL.append($0, to: &text) }
        text += "\ncontact 1 ".utf8
        SymmetricKey(size: .bits256).withUnsafeBytes { Base64URL.append($0, to: &text) }
        text += "\n".utf8
        return text
    }
}
