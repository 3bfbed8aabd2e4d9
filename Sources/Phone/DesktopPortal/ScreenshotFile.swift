// SPDX-License-Identifier: Apache-2.0

private import Glibc
internal import HybridPrimitives

/// The screenshot file that the portal has written.
package struct ScreenshotFile: Hashable, Sendable {
    /// The file's path.
    package let path: String

    /// Creates a file from a local `file:` URI (RFC 8089); `nil` for any other text.
    package init?(uri: String) {
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

    /// Returns the bytes with every `%XX` decoded; `nil` if a percent sign is not followed by two hexadecimal digits.
    private static func decoded(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
        var result: [UInt8] = []
        var rest = bytes
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                result.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(Hex.value), let low = rest.popFirst().flatMap(Hex.value) else {
                return nil
            }
            result.append(high << 4 | low)
        }
        return result
    }

    /// Removes the file if the portal wrote it to a directory for temporary files.
    ///
    /// Some desktops save every screenshot with the user's pictures, which only the user should delete.
    ///
    /// - Parameter environment: The environment, of which `TMPDIR`, `XDG_RUNTIME_DIR`, `XDG_CACHE_HOME` and `HOME` are
    ///   used.
    /// - Returns: False if the file has not been removed.
    package func removeIfTemporary(_ environment: [String: String]) -> Bool {
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
