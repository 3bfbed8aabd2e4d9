// SPDX-License-Identifier: Apache-2.0

/// A conservative estimate of how hard a passphrase is to guess.
///
/// The text is split as an attacker would compose it: into words, numbers, and characters between them.
///
/// - A pronounceable run of letters counts as words of about six letters, with 12.9 bits each. This is the strength of
///   a word drawn at random from a list of 7,776. A very common word counts 4 bits. Therefore five random words are
///   enough and four are not.
/// - Unpronounceable letters count 4.7 bits each, digits 3.3, and other ASCII characters 5. Characters beyond ASCII
///   count 3.5 for each byte of UTF-8.
/// - A character that repeats or continues the previous one counts 1, as in the alphabet, in numbers or in a row of
///   keys. A year counts at most 7.
/// - A run that appeared before counts 1, or nothing if it separates words.
/// - A leading capital or a word in capitals counts 1. Otherwise either the capitals or the small letters count 1 each,
///   whichever are fewer.
///
/// Quotations and names are not recognized, so a sentence from a book is weaker than the estimate. Only a passphrase
/// that was drawn at random is as strong as estimated.
enum PassphraseStrength {
    private enum Class {
        case letter, digit, other, foreign
    }

    /// A run of characters of one class.
    ///
    /// `bytes` points into the passphrase, so that the secret is not copied.
    private struct Run {
        let kind: Class
        let bytes: UnsafeRawBufferPointer

        /// The bytes in lower case.
        var folded: some BidirectionalCollection<UInt8> { bytes.lazy.map(lower) }
    }

    /// Returns the estimate in whole bits.
    static func bits(of text: UnsafeRawBufferPointer) -> Int {
        var total = 0.0
        let runs = runs(of: text)
        for (index, run) in runs.enumerated() {
            guard !runs[..<index].contains(where: { $0.folded.elementsEqual(run.folded) }) else {
                // A repeated separator adds nothing.
                total += run.kind == .other || run.kind == .foreign ? 0 : 1
                continue
            }
            switch run.kind {
            case .letter: total += letters(run.folded) + capitals(run.bytes)
            case .digit: total += digits(run.folded)
            case .other: total += stepwise(run.folded, each: 5)
            case .foreign: total += foreign(run.bytes)
            }
        }
        return Int(total)
    }

    private static func runs(of text: UnsafeRawBufferPointer) -> [Run] {
        var runs: [Run] = []
        var start = 0
        for index in text.indices {
            let kind = kind(of: text[index])
            guard index + 1 == text.count || Self.kind(of: text[index + 1]) != kind else { continue }
            runs.append(Run(kind: kind, bytes: UnsafeRawBufferPointer(rebasing: text[start...index])))
            start = index + 1
        }
        return runs
    }

    private static func kind(of byte: UInt8) -> Class {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): .letter
        case UInt8(ascii: "0")...UInt8(ascii: "9"): .digit
        case 0x80...: .foreign
        default: .other
        }
    }

    private static func letters(_ word: some Collection<UInt8>) -> Double {
        let atoms = stepwise(word, each: 4.7)
        if common.contains(where: { $0.elementsEqual(word) }) { return min(4, atoms) }
        guard canBeSpoken(word) else { return atoms }
        // One word up to nine letters; a longer run is probably several words without spaces.
        return min(atoms, word.count <= 9 ? 12.9 : 12.9 * Double(word.count) / 6.5)
    }

    private static func digits(_ run: some Collection<UInt8>) -> Double {
        let atoms = stepwise(run, each: 3.3)
        let isYear = run.count == 4 && (run.starts(with: Array("19".utf8)) || run.starts(with: Array("20".utf8)))
        return isYear ? min(7, atoms) : atoms
    }

    /// Returns the bits of a run: `each` for a character, but 1 if it repeats or continues the previous one.
    private static func stepwise(_ run: some Collection<UInt8>, each: Double) -> Double {
        var bits = 0.0
        var previous: UInt8?
        for byte in run {
            bits += previous.map { follows(byte, $0) } == true ? 1 : each
            previous = byte
        }
        return bits
    }

    /// Returns the bits of characters beyond ASCII, which have two to four bytes; a repeated one adds little.
    private static func foreign(_ run: UnsafeRawBufferPointer) -> Double {
        run.indices.reduce(0) { bits, index in
            let isNews = (1...4).allSatisfy { index < $0 || run[index - $0] != run[index] }
            return bits + (isNews ? 3.5 : 0.5)
        }
    }

    private static func follows(_ byte: UInt8, _ before: UInt8) -> Bool {
        if byte == before || byte == before &+ 1 || byte &+ 1 == before { return true }
        return rows.contains { row in
            guard let one = row.firstIndex(of: before), let other = row.firstIndex(of: byte) else { return false }
            return abs(one - other) == 1
        }
    }

    private static func capitals(_ word: UnsafeRawBufferPointer) -> Double {
        let count = word.count { $0 < UInt8(ascii: "a") }
        if count == 0 { return 0 }
        // All capitals, or one leading capital, is one choice.
        if count == word.count || (count == 1 && word[0] < UInt8(ascii: "a")) { return 1 }
        return Double(min(count, word.count - count))
    }

    private static func canBeSpoken(_ word: some Collection<UInt8>) -> Bool {
        var (vowels, consonantsInRow, vowelsInRow) = (0, 0, 0)
        for letter in word {
            if "aeiouy".utf8.contains(letter) {
                vowels += 1
                vowelsInRow += 1
                consonantsInRow = 0
            } else {
                consonantsInRow += 1
                vowelsInRow = 0
            }
            if consonantsInRow > 4 || vowelsInRow > 4 { return false }
        }
        return vowels * 5 >= word.count && vowels < word.count || word.count <= 2
    }

    private static func lower(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte + 32 : byte
    }

    private static let rows = ["qwertyuiop", "qwertzuiop", "azertyuiop", "asdfghjkl", "zxcvbnm", "yxcvbnm"]
        .map { Array($0.utf8) }

    private static let common =
        """
        a about after all also am an and any are as at back be because been before being best but by can come could day \
        dear did do down each even ever every find first for forever friend from game get girl give go god going good \
        got great had happy has hate have he heart hello her here him his home house how i if in into is it its jesus \
        just king know last let letmein life like little live long look love lover made make man many may me mine money \
        monkey more most mother much must my myself name never new night no not now of off old on one only or other our \
        out over own pass passphrase password people please power princess qwerty right same secret see she should so \
        some still such summer sun super take than that the their them then there these they thing think this thing \
        time to too two under up us very want was way we welcome well were what when where which who why will winter \
        with without work world would year yes you young your
        """
        .split(separator: " ").map { Array($0.utf8) }
}
