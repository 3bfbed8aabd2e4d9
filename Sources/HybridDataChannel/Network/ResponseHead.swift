// SPDX-License-Identifier: Apache-2.0

/// The head of an HTTP answer as it comes in, piece by piece; of it only the status is of use.
struct ResponseHead {
    /// What is known after a piece.
    enum Reading: Equatable {
        case incomplete
        /// It is no HTTP answer, or too long.
        case malformed(String)
        /// The status, and what came behind the head.
        case complete(status: Int, rest: [UInt8])
    }

    private static let start = Array("HTTP/1.".utf8)

    private var bytes: [UInt8] = []
    private var end = HeadEndDetector()

    /// Takes the next bytes.
    mutating func append(_ piece: some Collection<UInt8>) -> Reading {
        var rest = piece[...]
        while !end.isReached, let byte = rest.popFirst() {
            end.take(byte)
            bytes.append(byte)
            guard !end.isTooFar else { return .malformed(HeadEndDetector.complaint) }
        }
        guard bytes.prefix(Self.start.count).elementsEqual(Self.start.prefix(bytes.count)) else {
            return .malformed("it does not speak HTTP")
        }
        guard end.isReached else { return .incomplete }
        guard let status else { return .malformed("it does not speak HTTP") }
        return .complete(status: status, rest: Array(rest))
    }

    /// `HTTP/1.x NNN`, and then a space or the line's end.
    private var status: Int? {
        guard bytes.count > 12, (0x30...0x39).contains(bytes[7]), bytes[8] == 0x20 else { return nil }
        guard bytes[9..<12].allSatisfy({ (0x30...0x39).contains($0) }), [0x20, 0x0D, 0x0A].contains(bytes[12]) else {
            return nil
        }
        let status = bytes[9..<12].reduce(0) { $0 * 10 + Int($1 - 0x30) }
        return (100...599).contains(status) ? status : nil
    }
}

/// Looks for the empty line that ends a head, byte by byte.
///
/// Line ends without CR count, too (RFC 9112 §2.2).
struct HeadEndDetector {
    /// The longest head that is read, in bytes.
    static let maximumBytes = 16 * 1024
    /// What is said of a longer one.
    static let complaint = "its answer is longer than 16 KiB"

    private var seen = 0
    private var lineIsEmpty = false
    /// Whether the last byte taken was the head's.
    private(set) var isReached = false

    /// Whether the head is longer than allowed.
    var isTooFar: Bool { seen > Self.maximumBytes }

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
