// SPDX-License-Identifier: Apache-2.0

/// The claims of a client about one request to a linked phone, by which the phone rejects old and repeated ones.
///
/// A relay can keep a request and deliver it at any time, as often as it likes. It cannot change the claims, which the
/// proof of the ``ContactRequest`` covers.
public struct ContactClaims: Hashable, Sendable {
    /// The number of the request, which is greater than those of all earlier requests of the link.
    public let number: UInt64
    /// The time of the request in seconds since 1970, by the client's clock.
    public let time: UInt64
    /// The cause of the request.
    public let requester: Requester

    /// Creates claims.
    public init(number: UInt64, time: UInt64, requester: Requester) {
        (self.number, self.time, self.requester) = (number, time, requester)
    }

    /// Length of the encoded form in bytes.
    static let length = 18
    /// The version of the encoded form, its first byte; other versions are rejected.
    static let version: UInt8 = 2

    /// The encoded form: version and requester, one byte each, and number and time, 8 bytes each, most significant first.
    var bytes: [UInt8] { [Self.version, requester.rawValue] + Self.bytes(number) + Self.bytes(time) }

    /// Creates claims from their encoded form; `nil` for another length or version, or an unknown requester.
    init?(bytes: [UInt8]) {
        guard bytes.count == Self.length, bytes[0] == Self.version, let requester = Requester(rawValue: bytes[1]) else {
            return nil
        }
        self.init(number: Self.number(bytes[2..<10]), time: Self.number(bytes[10..<18]), requester: requester)
    }

    private static func bytes(_ number: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * UInt64($0))) }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
}

/// The cause of a request to a linked phone.
///
/// The phone counts declined requests of each cause apart, so that a website cannot mute the link that SSH uses.
public enum Requester: UInt8, CaseIterable, Hashable, Sendable {
    /// A program of the computer's user: a command, SSH, git or sudo.
    case program = 0
    /// A guest of the computer: a website, a sandboxed program, or a program on another host.
    case guest = 1
}
