// SPDX-License-Identifier: Apache-2.0

/// A request to the process that performs a ceremony: 4 bytes length, big-endian ‖ CBOR map.
package protocol CeremonyInput: Sendable {
    /// The command of the program that reads the request.
    static var command: String { get }
    /// Maximum length of the map in bytes.
    static var maximumLength: Int { get }
    /// The map.
    var map: [UInt8] { get }
    /// The time limit in seconds for finding a phone, and again for its user, 1 to 3,600.
    var seconds: Int { get }
    /// Creates a request from its map, which must span the entire input; `nil` if the map is malformed.
    init?(parsing bytes: [UInt8])
}

extension CeremonyInput {
    static var permittedSeconds: ClosedRange<Int> { 1...3600 }

    /// The encoding.
    package var encoded: [UInt8] {
        let map = map
        return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: map.count >> $0) } + map
    }

    /// Returns the length of the map from the field before it; `nil` if it is out of range.
    package static func length(header: [UInt8]) -> Int? {
        guard header.count == CeremonyRequest.headerLength else { return nil }
        let length = header.reduce(0) { $0 << 8 | Int($1) }
        return (1...maximumLength).contains(length) ? length : nil
    }
}
