// SPDX-License-Identifier: Apache-2.0

import Glibc
import HybridCommandSupport
import HybridSession
import Testing

@testable import HybridClientCeremony

@Suite("The question whether to link a phone", .timeLimit(.minutes(5)))
struct LinkQuestionTests {
    private func isConfirmed(_ input: String, closes: Bool = true, timeout: Duration = .seconds(60)) async -> Bool {
        var ends: [CInt] = [-1, -1]
        let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { return false }
        let (reading, writing) = (ends[0], ends[1])
        _ = Array(input.utf8).withUnsafeBytes { write(writing, $0.baseAddress, $0.count) }
        if closes { close(writing) }
        defer { if !closes { close(writing) } }
        let question = LinkQuestion(timeout: timeout) { reading }
        return await question.isConfirmed(PhoneName("Pixel 8"), ProgressReport(program: "test", format: .json))
    }

    @Test("Only a line with yes or y links the phone", arguments: ["yes\n", "y\n", "YES\n", "yes\nno\n"])
    func yes(input: String) async { #expect(await isConfirmed(input)) }

    @Test(
        "Other lines, the end of the input and a line without an end do not",
        arguments: ["", "no\n", "\n", "yes", " yes\n", "yes, but\n", "yesyesyesyesyesyesyesyes\n", "no\nyes\n"]
    )
    func others(input: String) async { #expect(await !isConfirmed(input)) }

    @Test("There is a time limit")
    func timeLimit() async { #expect(await !isConfirmed("ye", closes: false, timeout: .milliseconds(1))) }

    @Test("Without a terminal, there is no answer")
    func noTerminal() async {
        let question = LinkQuestion(timeout: .seconds(60)) { -1 }
        #expect(await !question.isConfirmed(PhoneName("Pixel 8"), ProgressReport(program: "test", format: .json)))
    }
}
