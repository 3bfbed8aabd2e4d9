// SPDX-License-Identifier: Apache-2.0

/// Reads a token file line by line.
struct NewTokensReader {
    private(set) var names: [String] = []
    private(set) var digests: [SIMD4<UInt64>] = []
    private var knownNames: Set<String> = []
    private var knownDigests: Set<SIMD4<UInt64>> = []

    /// Takes a line without its line feed; a carriage return before that is no part of it either.
    mutating func read(_ line: ArraySlice<UInt8>, number: Int) throws(NewTokensError) {
        let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
        let words = line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        guard let first = words.first, first.first != UInt8(ascii: "#") else { return }
        guard words.count == 2 else { throw NewTokensError(.malformedLine, line: number) }
        guard let name = Self.name(first) else { throw NewTokensError(.malformedName, line: number) }
        guard let digest = Self.digest(words[1]) else { throw NewTokensError(.malformedHash, line: number) }
        guard knownNames.insert(name).inserted else { throw NewTokensError(.repeatedName, line: number) }
        guard knownDigests.insert(digest).inserted else { throw NewTokensError(.repeatedHash, line: number) }
        guard names.count < NewTokens.maximumCount else { throw NewTokensError(.tooMany, line: number) }
        names.append(name)
        digests.append(digest)
    }

    /// A name that may be the label of a metric.
    static func name(_ text: some Collection<UInt8>) -> String? {
        guard (1...NewTokens.maximumNameLength).contains(text.count), text.allSatisfy(\.isInNames) else { return nil }
        return String(decoding: text, as: UTF8.self)
    }

    private static func digest(_ text: ArraySlice<UInt8>) -> SIMD4<UInt64>? {
        guard text.count == 64 else { return nil }
        var words = SIMD4<UInt64>()
        for (index, character) in text.enumerated() {
            guard let digit = character.hexadecimalValue else { return nil }
            words[index / 16] = words[index / 16] << 4 | UInt64(digit)
        }
        return words
    }
}

extension UInt8 {
    fileprivate var isInNames: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "-"):
            true
        default: false
        }
    }

    fileprivate var hexadecimalValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
