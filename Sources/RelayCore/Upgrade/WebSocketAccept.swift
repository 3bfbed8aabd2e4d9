// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import FoundationEssentials

/// The answer to a WebSocket key: base64 of SHA-1 over the key and a fixed text (RFC 6455 §4.2.2).
///
/// It proves that the server speaks WebSocket and nothing else, so SHA-1's weakness does not matter here.
enum WebSocketAccept {
    private static let suffix = Array("258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8)

    /// The value of `Sec-WebSocket-Accept` for a `Sec-WebSocket-Key`.
    static func value(for key: [UInt8]) -> String {
        Data(Insecure.SHA1.hash(data: key + suffix)).base64EncodedString()
    }
}
