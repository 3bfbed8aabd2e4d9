// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport

@testable import HybridPinentry
@testable import HybridPrimitives

/// Fuzzes the conversation with pinentry: untrusted names, commands, received lines and percent escapes.
///
/// The first byte selects one of them.
func fuzzAssuan(_ input: [UInt8]) throws -> Bool {
    guard let kind = input.first else { return false }
    let body = Array(input.dropFirst())
    return switch kind % 4 {
    case 0: try name(body)
    case 1: try command(body)
    case 2: try lines(body)
    default: try percent(body)
    }
}

private func name(_ bytes: [UInt8]) throws -> Bool {
    let name = String(decoding: bytes, as: UTF8.self)
    let shown = SafeText(quoting: name).description
    try invariant(shown.unicodeScalars.count >= 2 && shown.unicodeScalars.first == "\"", "a name is quoted")
    let inside = String(String.UnicodeScalarView(shown.unicodeScalars.dropFirst().dropLast()))
    try invariant(inside.unicodeScalars.count <= SafeText.maximumLength, "a name is bounded")
    try invariant(inside.utf8.count <= SafeText.maximumBytes, "a name is bounded")
    let isSeen = inside.unicodeScalars.allSatisfy { SafeText.shown($0) == $0 && $0 != "\"" && $0 != "\n" }
    try invariant(isSeen, "only visible characters are shown")
    try invariant(SafeText(quoting: inside).description == shown, "a safe name does not change")
    let line = try present(AssuanLine.command("SETDESC", shown), "a name fits a line")
    try invariant(line.filter { $0 == UInt8(ascii: "\n") }.count == 1, "a name is not a second command")
    return inside.unicodeScalars.count > 0
}

private func command(_ bytes: [UInt8]) throws -> Bool {
    let text = String(decoding: bytes, as: UTF8.self)
    guard let line = AssuanLine.command("SETDESC", text) else {
        try invariant(text.utf8.count * 3 + 9 > AssuanLine.maximumSent, "a short text fits a line")
        return false
    }
    try invariant(line.starts(with: "SETDESC ".utf8) && line.last == UInt8(ascii: "\n"), "a command is a line")
    try invariant(line.count <= AssuanLine.maximumSent, "of bounded length")
    let argument = line.dropFirst(8).dropLast()
    try invariant(argument.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "without control characters")
    let kept = text.unicodeScalars.filter { $0 == "\n" || $0.properties.generalCategory != .control }
    let expected = Array(String(String.UnicodeScalarView(kept)).utf8)
    try invariant(decoded(Array(argument)) == expected, "and decodes to the text")
    return true
}

/// Output of a program in pieces; runs of bytes make long lines.
private func lines(_ bytes: [UInt8]) throws -> Bool {
    var choices = Choices(bytes)
    let size = choices.pick([1 << 16, 1000, 100])
    var stream: [UInt8] = []
    while !choices.isEmpty, stream.count < 20_000 {
        switch choices.number(below: 4) {
        case 0: stream += [UInt8](repeating: choices.byte(), count: choices.number(below: 256) * 17)
        case 1: stream.append(UInt8(ascii: "\n"))
        default: stream += choices.bytes(choices.number(below: 64))
        }
    }
    var expected: [[UInt8]] = []
    var rest = stream[...]
    while let end = rest.firstIndex(of: 0x0A), end - rest.startIndex <= AssuanLine.maximumReceived {
        let line = rest[..<end]
        expected.append(Array(line.last == 0x0D ? line.dropLast() : line))
        rest = rest[(end + 1)...]
    }
    let isTooLong = rest.count > AssuanLine.maximumReceived
    let (found, failure) = try read(stream, in: size)
    try invariant(found == expected, "lines are read as they were written")
    try invariant(failure == (isTooLong ? .protocolViolation : nil), "a line without an end is rejected")
    for line in found {
        let reply = line.withUnsafeBytes { AssuanLine.parse($0) }
        if case .error(let code) = reply { try invariant((0...0xFFFF).contains(code), "a code has 16 bits") }
        try invariant((reply == .ok) == (line == Array("OK".utf8) || line.starts(with: "OK ".utf8)), "OK is one word")
        try invariant((reply == .data) == line.starts(with: "D ".utf8), "data has lines of its own")
    }
    return !found.isEmpty
}

/// Returns the lines that a reader finds in a stream of pieces.
private func read(_ stream: [UInt8], in size: Int) throws -> ([[UInt8]], PinentryError?) {
    var ends: [Int32] = [0, 0]
    try invariant(pipe(&ends) == 0, "there is a pipe")
    defer { close(ends[0]) }
    let reader = LineReader(maximum: AssuanLine.maximumReceived)
    var lines: [[UInt8]] = []
    do {
        for piece in stream.pieces(of: size) {
            Array(piece).withUnsafeBytes { _ = write(ends[1], $0.baseAddress, $0.count) }
            var left = piece.count
            while left > 0 {
                while let line = try reader.next({ Array($0) }) { lines.append(line) }
                var waiting: Int32 = 0
                _ = ioctl(ends[0], UInt(FIONREAD), &waiting)
                guard waiting > 0 else { break }
                left = Int(waiting)
                _ = try reader.fill(from: ends[0])
            }
        }
        while let line = try reader.next({ Array($0) }) { lines.append(line) }
        close(ends[1])
        try invariant(reader.fill(from: ends[0]) == false, "the stream ends")
    } catch let error as PinentryError {
        close(ends[1])
        return (lines, error)
    }
    return (lines, nil)
}

private func percent(_ bytes: [UInt8]) throws -> Bool {
    let secret = PinentrySecret()
    let isShort = bytes.count <= PinentrySecret.maximumLength
    try invariant(bytes.withUnsafeBytes { secret.append($0) } == isShort, "a secret is bounded")
    guard isShort else { return false }
    secret.decodePercent()
    try invariant(secret.withUnsafeBytes { Array($0) } == decoded(bytes), "escapes are decoded once")
    return !bytes.isEmpty
}

/// Decodes percent escapes independently; incomplete ones stay.
private func decoded(_ bytes: [UInt8]) -> [UInt8] {
    var decoded: [UInt8] = []
    var rest = bytes[...]
    while let first = rest.popFirst() {
        guard first == UInt8(ascii: "%") else {
            decoded.append(first)
            continue
        }
        let digits = rest.prefix(2)
        guard digits.count == 2, digits.allSatisfy({ "0123456789abcdefABCDEF".utf8.contains($0) }),
            let byte = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
        else {
            decoded.append(first)
            continue
        }
        decoded.append(byte)
        rest = rest.dropFirst(2)
    }
    return decoded
}
