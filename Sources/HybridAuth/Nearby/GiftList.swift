// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridVault

/// The numbered list from which the user chooses passkeys on the terminal.
struct GiftList: Sendable {
    /// Maximum number of answers that can't be used.
    private static let maximumAttempts = 3

    private let passkeys: [PasskeySummary]

    init(_ passkeys: [PasskeySummary]) { self.passkeys = passkeys }

    /// True if there is a terminal to ask on.
    static var isPossible: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1 }

    /// Shows the list and returns the chosen passkeys.
    ///
    /// - Throws: ``CommandFailure``; `CancellationError` if the task is canceled.
    func ask() async throws -> [PasskeySummary] {
        guard !passkeys.isEmpty else { return [] }
        guard let input = SessionInput() else {
            throw CommandFailure("this process has too many open files; close some programs", status: .unavailable)
        }
        let width = "\(passkeys.count)".utf8.count
        for (index, passkey) in passkeys.enumerated() {
            let number = "\(index + 1)"
            let padding = String(repeating: " ", count: width - number.utf8.count + 2)
            let (site, account) = (PasskeyText.site(passkey), PasskeyText.account(passkey))
            StandardError.writeLine("\(padding)\(number)  \(site)  \(account)")
        }
        for _ in 0..<Self.maximumAttempts {
            StandardError.writeText("Give which? Numbers such as 1 3-5, or all: ")
            guard case .line(let line) = await input.next(within: VaultQuestions.longLimit) else { break }
            try Task.checkCancellation()
            if let numbers = GiftChoice.numbers(String(decoding: line, as: UTF8.self), upTo: passkeys.count) {
                return numbers.map { passkeys[$0 - 1] }
            }
            report("type numbers from 1 to \(passkeys.count), or all")
        }
        try Task.checkCancellation()
        throw VaultQuestions.declined
    }
}
