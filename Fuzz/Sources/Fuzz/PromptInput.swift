// SPDX-License-Identifier: Apache-2.0

import HybridLineInput
import HybridPrimitives
import TestSupport

@testable import HybridPromptModel

/// Fuzzes the input of the window: pieces of a stream, lines and requests.
///
/// The first byte selects the length of the pieces. Each 0x01 stands for a long run of spaces, which make long lines.
func fuzzPrompt(_ input: [UInt8]) throws -> Bool {
    var choices = Choices(input)
    let size = choices.pick([1 << 16, 1000, 7])
    var stream: [UInt8] = []
    while !choices.isEmpty, stream.count < 20_000 {
        let byte = choices.byte()
        stream += byte == 1 ? [UInt8](repeating: 0x20, count: 2000) : [byte]
    }
    let lines = stream.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast().map(Array.init)
    let buffer = LineBuffer()
    let expected = lines.filter { $0.count <= buffer.maximumLength }
    var found: [[UInt8]] = []
    for piece in stream.pieces(of: size) {
        Array(piece).withUnsafeBytes { bytes in buffer.append(bytes) { found.append(Array($0.memory)) } }
    }
    try invariant(found == expected, "lines are read as they were written, except long ones")
    return try found.reduce(false) { isAccepted, line in try object(line) || isAccepted }
}

/// Reads a line; returns true if it is an object.
private func object(_ line: [UInt8]) throws -> Bool {
    guard let read = try? JSONText(parsing: line), read.isObject else { return false }
    guard let request = try? PromptRequest(read) else { return true }
    for text in [request.purpose] + request.details + request.cautions {
        // A path names four hosts.
        try invariant(text.utf8.count <= 4 * 253 + 300, "a purpose is bounded")
        let isShown = text.unicodeScalars.allSatisfy { scalar in
            !scalar.properties.isBidiControl && !scalar.properties.isDefaultIgnorableCodePoint
                && scalar.properties.generalCategory != .control
        }
        try invariant(isShown, "a purpose has visible characters only")
    }
    return true
}
