// SPDX-License-Identifier: Apache-2.0

public import HybridCaBLE
internal import HybridDataChannel
public import HybridPrimitives

/// The word by which a relay knows who may open tunnels, as programs give it that know no client of a relay.
///
/// Wiped on release, compared in constant time, and never printed, as the ``BearerToken`` in it.
public struct TunnelToken: Sendable, SecretMaterial, Equatable {
    private let token: BearerToken

    /// Longest token, in bytes.
    public static let maximumLength = BearerToken.maximumLength

    /// Takes 1 to 512 characters of RFC 6750's `b68token`; anything else is `nil`.
    ///
    /// The caller's copy is as secret.
    public init?(_ text: some Collection<UInt8>) {
        guard let token = BearerToken(text) else { return nil }
        self.token = token
    }

    /// The text's bytes, which must not leave the closure but into a request.
    func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try token.withUnsafeBytes(body)
    }
}

extension CheckOutcome {
    /// The same without a token that the relay may have repeated.
    func hiding(_ token: TunnelToken?) -> CheckOutcome {
        guard let token else { return self }
        func hidden(_ text: String) -> String {
            let bytes = token.withUnsafeBytes { Array(text.utf8).replacing($0, with: "(token)".utf8) }
            return String(decoding: bytes, as: UTF8.self)
        }
        return switch self {
        case .ok(let text): .ok(hidden(text))
        case .differs(let text): .differs(hidden(text))
        case .skipped(let text): .skipped(hidden(text))
        case .prevented(let text): .prevented(hidden(text))
        }
    }
}
