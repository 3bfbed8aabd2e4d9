// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridProgram

/// The header field `User-Agent`, which every request carries (RFC 9110 §10.1.5).
///
/// Content networks answer requests without it with status 403.
package enum UserAgent {
    /// Program and version, as in `hybrid-client/0.1.0`; `hybrid/0.1.0` in other programs that use the library.
    package static let text = "\(product(ofExecutable: executable))/\(ProductVersion.text)"

    /// The field as a line of a request, with its end.
    package static let line = "User-Agent: \(text)\r\n"

    /// Returns the name of one of this project's programs from the path of its file; `hybrid` for other programs.
    static func product(ofExecutable path: String) -> String {
        // An upgrade leaves this mark on programs that run.
        let mark = " (deleted)"
        let path = path.hasSuffix(mark) ? path.dropLast(mark.count) : path[...]
        let name = path.split(separator: "/").last ?? ""
        let isOurs = name.hasPrefix("hybrid-") && name.dropFirst(7).utf8.allSatisfy { (0x61...0x7A).contains($0) }
        return isOurs && name.count > 7 ? String(name) : "hybrid"
    }

    /// The path of the program's file; empty if it cannot be read.
    private static var executable: String {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &path, path.count)
        return String(decoding: path.prefix(max(0, count)).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
