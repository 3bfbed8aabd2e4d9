// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCommandSupport

/// Questions on the terminal: written to standard error, answered on standard input.
struct SetupDialogue {
    /// True if there is a terminal.
    let isPossible: Bool

    init() { isPossible = isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1 }

    /// Returns one line without surrounding blanks; `nil` at the end of the input.
    func ask(_ question: String) -> String? {
        StandardError.writeText(question)
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while line.count < 4096 {
            let count = read(STDIN_FILENO, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1 else {
                if line.isEmpty { return nil }
                break
            }
            if byte == UInt8(ascii: "\n") { break }
            line.append(byte)
        }
        let blanks = " \t\r".utf8
        let text = line.drop { blanks.contains($0) }.reversed().drop { blanks.contains($0) }.reversed()
        return String(decoding: Array(text), as: UTF8.self)
    }

    /// Returns the answer to a yes-or-no question; anything but y and n means `otherwise`.
    func agree(_ question: String, otherwise: Bool) -> Bool {
        guard let answer = ask("\(question) [\(otherwise ? "Y/n" : "y/N")] ") else { return false }
        switch answer.lowercased() {
        case "y", "yes": return true
        case "n", "no": return false
        default: return otherwise
        }
    }
}
