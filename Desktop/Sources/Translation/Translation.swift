// SPDX-License-Identifier: Apache-2.0

internal import CHybridIntl
internal import Glibc

/// The catalogs of translations, which exist once they are bound to a folder; until then, and without a catalog for the
/// user's language, all texts are English.
package enum Translation {
    /// The name of the catalogs, which is that of their files (`hybrid.mo`).
    package static let domain = "hybrid"

    /// Uses the catalogs that are installed with this program: those of `share/locale` next to the program's folder.
    ///
    /// To be called once, at the start of a program.
    package static func bind() {
        setlocale(LC_ALL, "")
        guard let folder = installedFolder() else { return }
        bindtextdomain(domain, folder)
        bind_textdomain_codeset(domain, "UTF-8")
    }

    /// Returns the path of the catalogs, given the path of the program, such as `/usr/libexec/hybrid-ask`.
    package static func folder(ofProgram path: String) -> String? {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        return parts.count >= 3 ? (parts.dropLast(2) + ["share", "locale"]).joined(separator: "/") : nil
    }

    private static func installedFolder() -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer in
            guard let start = buffer.baseAddress else { return nil }
            let count = readlink("/proc/self/exe", start, buffer.count)
            guard count > 0, count < buffer.count else { return nil }
            let path = buffer[..<count].map { UInt8(bitPattern: $0) }
            return folder(ofProgram: String(decoding: path, as: UTF8.self))
        }
    }

    /// Returns a text with each `{name}` replaced by the value of that name; a value is never searched for names.
    package static func filled(_ text: String, _ values: [String: String]) -> String {
        guard !values.isEmpty else { return text }
        var (result, rest) = ("", Substring(text))
        while let start = rest.firstIndex(of: "{"), let end = rest[start...].firstIndex(of: "}") {
            result += rest[..<start]
            let name = String(rest[rest.index(after: start)..<end])
            result += values[name] ?? String(rest[start...end])
            rest = rest[rest.index(after: end)...]
        }
        return result + rest
    }
}

/// Returns an English text in the user's language.
///
/// - Parameters:
///   - text: The text, a literal, which is the key of the catalogs.
///   - values: Values for the parts `{name}` of the text.
package func tr(_ text: String, _ values: [String: String] = [:]) -> String {
    // The empty key is that of a catalog's header.
    guard !text.isEmpty else { return text }
    // Without a translation, the result is the memory of the key.
    let found = text.withCString { key in dgettext(Translation.domain, key).map { String(cString: $0) } }
    return Translation.filled(found ?? text, values)
}

/// Returns an English text in the user's language, in the form for a number; `{count}` is replaced by the number.
///
/// - Parameters:
///   - text: The text for one, a literal.
///   - plural: The text for other numbers, a literal.
///   - count: The number.
///   - values: Values for further parts `{name}` of the text.
package func tr(_ text: String, plural: String, count: Int, _ values: [String: String] = [:]) -> String {
    let number = UInt(max(0, count))
    let found = text.withCString { text in
        plural.withCString { plural in
            dngettext(Translation.domain, text, plural, number).map { String(cString: $0) }
        }
    }
    return Translation.filled(found ?? text, values.merging(["count": String(count)]) { $1 })
}
