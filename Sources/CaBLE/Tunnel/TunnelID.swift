// SPDX-License-Identifier: Apache-2.0

/// Name of a tunnel: 16 bytes derived from the QR secret, known to both ends before the relay is asked.
///
/// It is the capability to join the tunnel, so it never appears in a log or in an error text.
/// Source: CTAP 2.2 §11.5.1 (hybrid transports), key purpose 2.
public struct TunnelID: Hashable, Sendable {
    /// Length in bytes.
    public static let length = 16

    /// The 16 bytes.
    public let bytes: [UInt8]

    init(derived bytes: [UInt8]) { self.bytes = bytes }

    /// Takes exactly 16 bytes; anything else is `nil`.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.length else { return nil }
        self.bytes = Array(bytes)
    }

    /// Reads 32 hexadecimal digits of either case: Chrome writes upper case, others lower case.
    public init?(hex: some StringProtocol) {
        guard let bytes = Hex.decode(hex.utf8, length: Self.length) else { return nil }
        self.bytes = bytes
    }

    /// 32 lower-case hexadecimal digits, as they stand in a tunnel URL.
    public var hex: String { Hex.encode(bytes) }
}

extension TunnelID: SecretMaterial {}
