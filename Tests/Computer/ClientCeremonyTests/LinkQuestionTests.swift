// SPDX-License-Identifier: Apache-2.0

import Glibc
import HybridCommandSupport
import Testing

@testable import HybridClientCeremony
@testable import HybridSession

@Suite("The question whether to link a phone", .timeLimit(.minutes(5)))
struct LinkQuestionTests {
    private static func offer() throws -> OfferedLink {
        OfferedLink(link: try TestStore.link(), evidence: .unverified, code: nil)
    }

    private func isConfirmed(
        _ input: String,
        closes: Bool = true,
        timeout: Duration = .seconds(60)
    ) async throws -> Bool {
        var ends: [CInt] = [-1, -1]
        let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { return false }
        let (reading, writing) = (ends[0], ends[1])
        _ = Array(input.utf8).withUnsafeBytes { write(writing, $0.baseAddress, $0.count) }
        if closes { close(writing) }
        defer { if !closes { close(writing) } }
        let question = LinkQuestion(timeout: timeout) { reading }
        return await question.isConfirmed(try Self.offer(), ProgressReport(program: "test", format: .json))
    }

    @Test("Only a line with yes or y links the phone", arguments: ["yes\n", "y\n", "YES\n", "yes\nno\n"])
    func yes(input: String) async throws { #expect(try await isConfirmed(input)) }

    @Test(
        "Other lines, the end of the input and a line without an end do not",
        arguments: ["", "no\n", "\n", "yes", " yes\n", "yes, but\n", "yesyesyesyesyesyesyesyes\n", "no\nyes\n"]
    )
    func others(input: String) async throws { #expect(try await !isConfirmed(input)) }

    @Test("There is a time limit")
    func timeLimit() async throws { #expect(try await !isConfirmed("ye", closes: false, timeout: .milliseconds(1))) }

    @Test("Without a terminal, there is no answer")
    func noTerminal() async throws {
        let question = LinkQuestion(timeout: .seconds(60)) { -1 }
        let offer = try Self.offer()
        #expect(await !question.isConfirmed(offer, ProgressReport(program: "test", format: .json)))
    }

    @Test("On a terminal, a yes from before the question does not count")
    func typedBefore() async throws {
        let master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        defer { close(master) }
        var (number, unlocked): (CInt, CInt) = (-1, 0)
        // TIOCSPTLCK and TIOCGPTN; Swift cannot import their macros.
        try #require(ioctl(master, 0x4004_5431, &unlocked) == 0 && ioctl(master, 0x8004_5430, &number) == 0)
        let terminal = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
        try #require(write(master, "yes\n", 4) == 4)
        var polled = pollfd(fd: terminal, events: Int16(POLLIN), revents: 0)
        try #require(poll(&polled, 1, 10_000) == 1, "the line has arrived")
        let question = LinkQuestion(timeout: .milliseconds(1)) { terminal }
        let offer = try Self.offer()
        #expect(await !question.isConfirmed(offer, ProgressReport(program: "test", format: .json)))
    }
}
