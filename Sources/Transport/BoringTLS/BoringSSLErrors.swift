// SPDX-License-Identifier: Apache-2.0

private import CNIOBoringSSL

// The maintainers of BoringSSL and swift-nio-ssl promise no stable interface for CNIOBoringSSL. So only this module imports
// it and uses few functions, which each file lists, and the tests exercise each of them. In this file:
//
// - ERR_GET_REASON, ERR_clear_error, ERR_error_string_n, ERR_get_error, ERR_reason_symbol_name

/// BoringSSL's error queue of the current thread.
package enum BoringSSLErrors {
    /// Empties the queue, and frees its memory.
    package static func clear() { ERR_clear_error() }

    /// Empties the queue, and returns the names of the reasons in the order in which they arose.
    ///
    /// A reason without a name is `reason(N)`.
    package static func takeReasons() -> [String] {
        var reasons: [String] = []
        while true {
            let error = ERR_get_error()
            guard error != 0 else { return reasons }
            reasons.append(
                ERR_reason_symbol_name(error).map { String(cString: $0) } ?? "reason(\(ERR_GET_REASON(error)))"
            )
        }
    }

    /// Removes the earliest error, and returns BoringSSL's text for it.
    package static func takeText() -> String {
        var text = [CChar](repeating: 0, count: 256)
        ERR_error_string_n(ERR_get_error(), &text, text.count)
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
