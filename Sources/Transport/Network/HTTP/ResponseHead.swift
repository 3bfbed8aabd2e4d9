// SPDX-License-Identifier: Apache-2.0

/// The head of an HTTP response, read piece by piece.
///
/// Only its status is used. Interim responses before the final one are skipped (RFC 9110 §15.2).
struct ResponseHead {
    /// The result of appending a piece.
    enum Reading: Equatable {
        case incomplete
        /// The bytes are not an HTTP response, the head is too long, or there are too many interim responses.
        case malformed(String)
        /// The status, and the bytes that follow the head.
        case complete(status: Int, rest: [UInt8])
    }

    private static let start = Array("HTTP/1.".utf8)

    private var bytes: [UInt8] = []
    private var end = HeadEndDetector()
    private var interim = InterimResponses()

    /// Appends the next bytes of the response.
    mutating func append(_ piece: some Collection<UInt8>) -> Reading {
        var rest = piece[...]
        while true {
            while !end.isReached, let byte = rest.popFirst() {
                end.take(byte)
                bytes.append(byte)
                guard !end.isTooLong else { return .malformed(HeadEndDetector.tooLong) }
            }
            guard bytes.prefix(Self.start.count).elementsEqual(Self.start.prefix(bytes.count)) else {
                return .malformed("it does not speak HTTP")
            }
            guard end.isReached else { return .incomplete }
            guard let status else { return .malformed("it does not speak HTTP") }
            guard InterimResponses.include(status) else { return .complete(status: status, rest: Array(rest)) }
            guard interim.mayContinue() else { return .malformed(InterimResponses.tooMany) }
            (bytes, end) = ([], HeadEndDetector())
        }
    }

    /// The status `NNN` of a first line `HTTP/1.x NNN`, which must end there or continue with a space.
    private var status: Int? {
        guard bytes.count > 12, (0x30...0x39).contains(bytes[7]), bytes[8] == 0x20 else { return nil }
        guard bytes[9..<12].allSatisfy({ (0x30...0x39).contains($0) }), [0x20, 0x0D, 0x0A].contains(bytes[12]) else {
            return nil
        }
        let status = bytes[9..<12].reduce(0) { $0 * 10 + Int($1 - 0x30) }
        return (100...599).contains(status) ? status : nil
    }
}

/// The interim responses before a final one (RFC 9110 §15.2), whose number is limited.
struct InterimResponses {
    /// Maximum number of interim responses.
    static let maximum = 8
    /// The complaint about more of them.
    static let tooMany = "it sent more than \(maximum) interim responses"

    private var count = 0

    /// Returns true if a response with this status is an interim one; 101 ends the exchange by HTTP.
    static func include(_ status: Int) -> Bool { (100...199).contains(status) && status != 101 }

    /// Counts an interim response; returns false if it is one too many.
    mutating func mayContinue() -> Bool {
        count += 1
        return count <= Self.maximum
    }
}

/// The response is not valid HTTP, or its head is too long.
package struct MalformedResponse: Error {
    /// A clause about the sender, without a full stop.
    package let complaint: String
}

/// A detector of the empty line that ends a head; it takes the head byte by byte.
///
/// Line ends without CR are accepted (RFC 9112 §2.2).
struct HeadEndDetector {
    /// Maximum length of a head in bytes.
    static let maximumBytes = 16 * 1024
    /// The complaint about a head that is too long.
    static let tooLong = "its answer is longer than 16 KiB"

    private var seen = 0
    private var lineIsEmpty = false
    /// True if the last byte taken ended the head.
    private(set) var isReached = false

    /// True if the head is longer than allowed.
    var isTooLong: Bool { seen > Self.maximumBytes }

    /// Takes the next byte of the head.
    mutating func take(_ byte: UInt8) {
        seen += 1
        switch byte {
        case 0x0A where lineIsEmpty: isReached = true
        case 0x0A: lineIsEmpty = true
        case 0x0D: break
        default: lineIsEmpty = false
        }
    }
}
