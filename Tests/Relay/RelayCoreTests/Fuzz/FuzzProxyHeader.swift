// SPDX-License-Identifier: Apache-2.0

import HybridRelayCore
import NIOCore
import TestSupport

/// Checks that a PROXY header is read the same in one piece and in many, is bounded, and means what was written.
///
/// The first byte is the size of the pieces. The second decides if the rest is the input, or selects a header to write.
func fuzzProxyHeader(_ input: [UInt8]) throws -> Bool {
    guard input.count >= 2 else { return false }
    let size = Int(input[0]) + 1
    let rest = Array(input.dropFirst(2))
    if input[1] & 1 == 1 {
        var choices = Choices(rest)
        try checkWrittenHeader(&choices, pieces: size)
        return true
    }
    let whole = Outcome(rest, pieces: rest.count + 1)
    try invariant(Outcome(rest, pieces: size) == whole, "pieces must not matter")
    guard case .complete(let header, let behind) = whole else { return false }
    let bytes = Array(rest.dropLast(behind))
    let isVersion1 = bytes.first == UInt8(ascii: "P")
    try invariant(bytes.count <= (isVersion1 ? 107 : ProxyHeaderReader.maximumLength), "a header is bounded")
    try invariant(
        Outcome(bytes, pieces: size) == .complete(header, behind: 0),
        "a header can be read without the bytes after it"
    )
    try invariant(
        Outcome(Array(bytes.dropLast()), pieces: size) == .incomplete,
        "an incomplete header is not accepted"
    )
    try invariant("\(header)" == "ProxyHeader(hidden)", "a header does not print an address")
    if isVersion1 {
        try checkVersion1(bytes, header)
    } else {
        try checkVersion2(bytes, header)
    }
    return true
}

private enum Outcome: Equatable {
    case complete(ProxyHeader, behind: Int)
    case rejected(ProxyViolation)
    case incomplete

    init(_ bytes: [UInt8], pieces size: Int) {
        var read = 0
        for piece in bytes.pieces(of: size) {
            read += piece.count
            do throws(ProxyViolation) {
                if let (header, length) = try ProxyHeaderReader.read(bytes.span.extracting(first: read).bytes) {
                    self = .complete(header, behind: bytes.count - length)
                    return
                }
            } catch {
                self = .rejected(error)
                return
            }
        }
        self = .incomplete
    }
}

/// Checks version 1 by splitting the text.
private func checkVersion1(_ bytes: [UInt8], _ header: ProxyHeader) throws {
    let line = bytes.dropLast(2)
    try invariant(bytes.suffix(2) == [13, 10], "a line has its end")
    try invariant(!line.contains(13) && !line.contains(10), "there is one line")
    // By bytes, since a blank followed by a combining mark is another character.
    let words = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        .map { String(decoding: $0, as: UTF8.self) }
    guard case .relayed(let address) = header else {
        try invariant(words.prefix(2) == ["PROXY", "UNKNOWN"] && header == .unknown, "only UNKNOWN has no address")
        return
    }
    try invariant(words.count == 6 && words[0] == "PROXY", "there are six words")
    let family = address.protocol == .inet ? "TCP4" : "TCP6"
    try invariant(words[1] == family, "the family is right")
    try invariant(try SocketAddress(ipAddress: words[2], port: Int(words[4]) ?? -1) == address, "the source is right")
    try invariant(String(Int(words[4]) ?? -1) == words[4], "a port has no leading zeros")
    try checkRoundTrip(address)
}

/// Checks version 2 by the offsets of the addresses.
private func checkVersion2(_ bytes: [UInt8], _ header: ProxyHeader) throws {
    try invariant(Array(bytes.prefix(12)) == WrittenProxyHeader.signature, "the signature is there")
    try invariant(bytes.count == 16 + Int(bytes[14]) * 256 + Int(bytes[15]), "the length is right")
    switch header {
    case .local: try invariant(bytes[12] == 0x20, "only LOCAL is local")
    case .unknown: try invariant(bytes[12] == 0x21 && bytes[13] == 0, "only an unspecified family has no address")
    case .relayed(let address):
        try invariant(bytes[12] == 0x21, "only PROXY has an address")
        guard let size = [0x11: 4, 0x21: 16][bytes[13]] else {
            try invariant(bytes[13] == 0x31 && address.protocol == .unix, "there are three families")
            return
        }
        let port = UInt16(bytes[16 + 2 * size]) << 8 | UInt16(bytes[17 + 2 * size])
        let source = WrittenProxyHeader.Endpoint(address: Array(bytes[16..<(16 + size)]), port: port)
        try invariant(try source.socketAddress() == address, "the source is right")
        try checkRoundTrip(address)
    }
}

/// Checks that the address is the same after formatting and parsing.
private func checkRoundTrip(_ address: SocketAddress) throws {
    guard let text = address.ipAddress, let port = address.port else { return }
    let family = address.protocol == .inet ? "TCP4" : "TCP6"
    let line = Array("PROXY \(family) \(text) \(text) \(port) 1\r\n".utf8)
    try invariant(
        Outcome(line, pieces: 7) == .complete(.relayed(address), behind: 0),
        "an address survives a round trip"
    )
}

private func checkWrittenHeader(_ choices: inout Choices, pieces size: Int) throws {
    let length = choices.flag() ? 4 : 16
    func endpoint() -> WrittenProxyHeader.Endpoint {
        var bytes = choices.bytes(length)
        bytes += [UInt8](repeating: 0, count: length - bytes.count)
        return .init(address: bytes, port: UInt16(choices.byte()) << 8 | UInt16(choices.byte()))
    }
    let (source, destination) = (endpoint(), endpoint())
    let expected = ProxyHeader.relayed(try source.socketAddress())
    var bytes: [UInt8]
    if choices.flag() {
        bytes = WrittenProxyHeader.version1(source, destination, upperCase: choices.flag())
    } else {
        var extensions: [WrittenProxyHeader.Extension] = []
        for _ in 0..<choices.number(below: 5) {
            // Any type except that of the checksum.
            let type = choices.byte()
            extensions.append(.init(type: type == 3 ? 4 : type, value: choices.bytes(choices.number(below: 200))))
        }
        let hasChecksum = choices.flag()
        bytes = WrittenProxyHeader.version2(source, destination, extensions: extensions, checksum: hasChecksum)
        if hasChecksum {
            var damaged = bytes
            damaged[16 + choices.number(below: 2 * length + 4)] ^= 1 << (choices.byte() & 7)
            try invariant(Outcome(damaged, pieces: size) == .rejected(.wrongChecksum), "the checksum is verified")
        }
    }
    let behind = choices.remaining()
    let outcome = Outcome(bytes + behind, pieces: size)
    try invariant(outcome == .complete(expected, behind: behind.count), "a written header is read")
}
