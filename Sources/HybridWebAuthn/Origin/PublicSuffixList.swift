// SPDX-License-Identifier: Apache-2.0

internal import CHybridPSL

/// The list of domains under which strangers register theirs, such as `com`, `co.uk` and `github.io`.
///
/// It is read for each use, the newer of the system's copy and the one inside libpsl, so that nothing is
/// shared between threads.
struct PublicSuffixList: ~Copyable {
    private let list: OpaquePointer

    /// Loads the list; `nil` if this system has none.
    init?() {
        guard let list = psl_latest(nil) ?? psl_builtin() else { return nil }
        self.list = list
    }

    // libpsl leaves its own built-in list alone here.
    deinit { psl_free(list) }

    /// The longest public suffix of a lower-case A-label domain; its last label if no rule matches.
    func suffix(of domain: String) -> String {
        domain.withCString { name in
            psl_unregistrable_domain(list, name).map { String(cString: $0) } ?? domain
        }
    }
}
