// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridPrimitives
package import HybridSSHAgent

/// The names of hosts by their keys, from OpenSSH's `known_hosts` files (sshd(8)).
///
/// A hashed name can only be compared. Therefore the caller passes candidates, which may come from any source: a
/// candidate counts only if its hash stands beside the same key.
package struct KnownHosts: Sendable {
    /// Maximum size of a file in bytes.
    package static let maximumSize = 16 << 20

    private let lines: [[ArraySlice<UInt8>]]

    /// Creates the names from the contents of files.
    package init(files: [[UInt8]]) {
        lines = files.flatMap { file in
            file.split(separator: UInt8(ascii: "\n")).map { line in
                line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: "\r") }
            }
        }
    }

    /// Returns a name of the host with a key.
    ///
    /// - Parameters:
    ///   - key: The key, which the host has proven to own.
    ///   - candidates: Names to try first, for example from the command line of the client.
    /// - Returns: The name, of visible ASCII characters; `nil` if the key is unknown, revoked, or only known for hashed
    ///   names that are not candidates.
    package func name(of key: HostKey, candidates: [String]) -> String? {
        let digits = Base64.encode(key.encoded)
        var names: [String] = []
        for fields in lines where fields.count >= 3 {
            guard let first = fields.first, first.first != UInt8(ascii: "#") else { continue }
            let isMarked = first.first == UInt8(ascii: "@")
            guard fields.dropFirst(isMarked ? 3 : 2).first?.elementsEqual(digits) ?? false else { continue }
            guard !isMarked else {
                // A key of an authority is no host's key.
                if first.elementsEqual("@revoked".utf8) { return nil }
                continue
            }
            names += Self.names(in: first, candidates)
        }
        return names.first(where: candidates.contains) ?? names.first
    }

    /// Returns the keys of a host; keys of authorities and revoked keys are none.
    ///
    /// - Parameter name: The name or address, optionally as `[name]:port`.
    package func keys(of name: String) -> [HostKey] {
        let name = name.lowercased()
        let named = lines.filter { fields in
            // A marker is no name.
            guard fields.count >= 3, let first = fields.first else { return false }
            return Self.names(in: first, [name]).contains { $0.lowercased() == name }
        }
        let keys = named.compactMap { fields in
            Self.decode(fields[2], maximumLength: Self.maximumKey).flatMap { try? HostKey(parsing: $0) }
        }
        // A revoked key has no name.
        return keys.filter { self.name(of: $0, candidates: [name]) != nil }
    }

    private static let maximumKey = 4096

    private static func names(in field: ArraySlice<UInt8>, _ candidates: [String]) -> [String] {
        if field.starts(with: "|1|".utf8) {
            return candidates.filter { isName($0) && isHash(field, of: $0) }
        }
        return field.split(separator: UInt8(ascii: ",")).map { String(decoding: $0, as: UTF8.self) }.filter(isName)
    }

    /// Returns true for `|1|salt|hash`, both in base64, if the hash is HMAC-SHA-1 of the name under the salt.
    private static func isHash(_ field: ArraySlice<UInt8>, of name: String) -> Bool {
        let parts = field.split(separator: UInt8(ascii: "|"))
        guard parts.count == 3 else { return false }
        guard let salt = decode(parts[1], maximumLength: 64) else { return false }
        let code = HMAC<Insecure.SHA1>.authenticationCode(for: Array(name.utf8), using: SymmetricKey(data: salt))
        return Base64.encode(Array(code)).elementsEqual(parts[2])
    }

    /// Decodes base64 with padding.
    private static func decode(_ text: ArraySlice<UInt8>, maximumLength: Int) -> [UInt8]? {
        let digits = text.map { byte in
            switch byte {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            default: byte
            }
        }
        return Base64URL.decodePadded(String(decoding: digits, as: UTF8.self), maximumLength: maximumLength)
    }

    /// Returns true for a name or an address, optionally as `[name]:port`, without wildcards.
    static func isName(_ text: String) -> Bool {
        (1...253).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: ".:-_[]%".utf8.contains(byte)
                }
            }
    }
}

/// Host names on the command line of an SSH client, as candidates for ``KnownHosts``.
enum HostCandidates {
    private static let maximumCount = 64

    /// Returns the names in a command line, also combined with the numbers in it as `[name]:port`.
    ///
    /// - Parameter arguments: The arguments of the client, separated by zero bytes.
    static func names(inCommandLine arguments: [UInt8]) -> [String] {
        let words = arguments.split(separator: 0).prefix(maximumCount).map { String(decoding: $0, as: UTF8.self) }
        let hosts = words.flatMap { word -> [String] in
            let host = word.split(separator: "@").last.map(String.init) ?? ""
            return [host.lowercased(), host.split(separator: ":").first.map { $0.lowercased() } ?? ""]
        }
        let ports = words.compactMap { word in UInt16(word.drop { !$0.isNumber }) }.prefix(4)
        let candidates = hosts + hosts.flatMap { host in ports.map { "[\(host)]:\($0)" } }
        return candidates.filter(KnownHosts.isName)
    }
}
