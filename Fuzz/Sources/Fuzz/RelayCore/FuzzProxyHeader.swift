// SPDX-License-Identifier: Apache-2.0

import HybridRelayCore
import NIOCore

/// A PROXY header is read alike in one piece and in pieces, is bounded, and means what another writer put into it.
///
/// The first byte is the size of pieces, the second says whether the rest is the connection's bytes or decides which
/// header is written.
func fuzzProxyHeader(_ input: [UInt8]) throws -> Bool {
    guard input.count >= 2 else { return false }
    let size = Int(input[0]) + 1
    let rest = Array(input.dropFirst(2))
    if input[1] & 1 == 1 {
        var choices = Choices(rest)
        try readsWhatIsWritten(&choices, pieces: size)
        return true
    }
    let whole = Outcome(rest, pieces: rest.count + 1)
    try invariant(Outcome(rest, pieces: size) == whole, "pieces don't matter")
    guard case .taken(let header, let behind) = whole else { return false }
    let bytes = Array(rest.dropLast(behind))
    let isVersion1 = bytes.first == UInt8(ascii: "P")
    try invariant(bytes.count <= (isVersion1 ? 107 : ProxyHeaderReader.maximumLength), "a header is bounded")
    try invariant(Outcome(bytes, pieces: size) == .taken(header, behind: 0), "a header stands for itself")
    try invariant(
        Outcome(Array(bytes.dropLast()), pieces: size) == .goesOn,
        "a header is not taken before it is complete"
    )
    try invariant("\(header)" == "ProxyHeader(hidden)", "a header does not show where somebody is")
    if isVersion1 {
        try meansWhatWordsSay(bytes, header)
    } else {
        try meansWhatBytesSay(bytes, header)
    }
    return true
}

private enum Outcome: Equatable {
    case taken(ProxyHeader, behind: Int)
    case refused(ProxyViolation)
    case goesOn

    init(_ bytes: [UInt8], pieces size: Int) {
        var reader = ProxyHeaderReader()
        var read = 0
        for piece in bytes.pieces(of: size) {
            read += piece.count
            do throws(ProxyViolation) {
                if let (header, behind) = try reader.receive(ByteBuffer(bytes: piece)) {
                    self = .taken(header, behind: behind.readableBytes + bytes.count - read)
                    return
                }
            } catch {
                self = .refused(error)
                return
            }
        }
        self = .goesOn
    }
}

/// Version 1 by splitting text, as a script would do it.
private func meansWhatWordsSay(_ bytes: [UInt8], _ header: ProxyHeader) throws {
    let line = bytes.dropLast(2)
    try invariant(bytes.suffix(2) == [13, 10], "a line has its end")
    try invariant(!line.contains(13) && !line.contains(10), "there is one line")
    // By bytes: a blank with a combining mark behind it is another character than a blank.
    let words = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        .map { String(decoding: $0, as: UTF8.self) }
    guard case .relayed(let address) = header else {
        try invariant(words.prefix(2) == ["PROXY", "UNKNOWN"] && header == .unknown, "only UNKNOWN tells nobody")
        return
    }
    try invariant(words.count == 6 && words[0] == "PROXY", "there are six words")
    let family = address.protocol == .inet ? "TCP4" : "TCP6"
    try invariant(words[1] == family, "the family is as it was said")
    try invariant(try SocketAddress(ipAddress: words[2], port: Int(words[4]) ?? -1) == address, "the source is right")
    try invariant(String(Int(words[4]) ?? -1) == words[4], "a port has no leading zeros")
    try rereads(address)
}

/// Version 2 by looking at the places of the addresses.
private func meansWhatBytesSay(_ bytes: [UInt8], _ header: ProxyHeader) throws {
    try invariant(Array(bytes.prefix(12)) == WrittenProxyHeader.signature, "the signature is there")
    try invariant(bytes.count == 16 + Int(bytes[14]) * 256 + Int(bytes[15]), "the length is as it was said")
    switch header {
    case .local: try invariant(bytes[12] == 0x20, "only LOCAL is local")
    case .unknown: try invariant(bytes[12] == 0x21 && bytes[13] == 0, "only no family tells nobody")
    case .relayed(let address):
        try invariant(bytes[12] == 0x21, "only PROXY tells an address")
        guard let size = [0x11: 4, 0x21: 16][bytes[13]] else {
            try invariant(bytes[13] == 0x31 && address.protocol == .unix, "there are three families")
            return
        }
        let port = UInt16(bytes[16 + 2 * size]) << 8 | UInt16(bytes[17 + 2 * size])
        let source = WrittenProxyHeader.Endpoint(address: Array(bytes[16..<(16 + size)]), port: port)
        try invariant(try source.socketAddress() == address, "the source is right")
        try rereads(address)
    }
}

/// The address, written anew in both versions, is the same again.
private func rereads(_ address: SocketAddress) throws {
    guard let text = address.ipAddress, let port = address.port else { return }
    let family = address.protocol == .inet ? "TCP4" : "TCP6"
    let line = Array("PROXY \(family) \(text) \(text) \(port) 1\r\n".utf8)
    try invariant(Outcome(line, pieces: 7) == .taken(.relayed(address), behind: 0), "an address is written and read")
}

private func readsWhatIsWritten(_ choices: inout Choices, pieces size: Int) throws {
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
            // Any type but that of the checksum.
            let type = choices.byte()
            extensions.append(.init(type: type == 3 ? 4 : type, value: choices.bytes(choices.number(below: 200))))
        }
        let hasChecksum = choices.flag()
        bytes = WrittenProxyHeader.version2(source, destination, extensions: extensions, checksum: hasChecksum)
        if hasChecksum {
            var damaged = bytes
            damaged[16 + choices.number(below: 2 * length + 4)] ^= 1 << (choices.byte() & 7)
            try invariant(Outcome(damaged, pieces: size) == .refused(.wrongChecksum), "a checksum is checked")
        }
    }
    let behind = choices.remaining()
    let outcome = Outcome(bytes + behind, pieces: size)
    try invariant(outcome == .taken(expected, behind: behind.count), "what is written is read")
}
