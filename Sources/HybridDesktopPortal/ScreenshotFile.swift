// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// A picture of the screen as the portal left it.
public struct ScreenshotFile: Hashable, Sendable {
    /// Where it is.
    public let path: String

    /// Reads a `file:` URI of this machine (RFC 8089); `nil` for everything else.
    public init?(uri: String) {
        let bytes = Array(uri.utf8)
        let scheme = Array("file:".utf8)
        guard bytes.count <= 16_384, bytes.count > scheme.count,
            zip(scheme, bytes).allSatisfy({ $0 == $1 || $0 == $1 | 0x20 })
        else { return nil }
        var rest = bytes[scheme.count...]
        if rest.starts(with: "//".utf8) {
            rest = rest.dropFirst(2)
            if rest.starts(with: "localhost/".utf8) { rest = rest.dropFirst("localhost".utf8.count) }
        }
        guard rest.first == UInt8(ascii: "/"), let path = Self.decoded(rest), !path.contains(0) else { return nil }
        guard let text = String(validating: path, as: UTF8.self) else { return nil }
        self.path = text
    }

    /// The bytes with every `%XX` replaced; `nil` where a percent sign stands without two digits.
    private static func decoded(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
        var result: [UInt8] = []
        var rest = bytes
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                result.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
                return nil
            }
            result.append(high << 4 | low)
        }
        return result
    }

    private static func digit(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
        default: nil
        }
    }

    /// Removes the file if the portal wrote it to a folder for what is temporary; `false` if it stays.
    ///
    /// Some desktops keep every screenshot among the person's pictures; those are the person's to delete.
    ///
    /// - Parameter environment: Where `TMPDIR`, `XDG_RUNTIME_DIR`, `XDG_CACHE_HOME` and `HOME` stand.
    public func removeIfTemporary(_ environment: [String: String]) -> Bool {
        var folders = ["/tmp", "/var/tmp"]
        folders += ["TMPDIR", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME"].compactMap { environment[$0] }
        if let home = environment["HOME"] { folders.append(home + "/.cache") }
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
            let resolved = Self.resolved(path)
        else { return false }
        let isTemporary = folders.filter { $0.hasPrefix("/") }.contains { folder in
            guard let folder = Self.resolved(folder), folder.utf8.count > 1 else { return false }
            return resolved.utf8.starts(with: (folder + "/").utf8)
        }
        return isTemporary && unlink(resolved) == 0
    }

    private static func resolved(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}
