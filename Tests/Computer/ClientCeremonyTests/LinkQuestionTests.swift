// SPDX-License-Identifier: Apache-2.0

import Glibc
import HybridCommandSupport
import HybridPrimitives
import HybridProgram
import TestSupport
import Testing

@testable import HybridClientCeremony
@testable import HybridSession

@Suite("The question whether to link a phone", .timeLimit(.minutes(5)))
struct LinkQuestionTests {
    private static func offer() throws -> OfferedLink {
        OfferedLink(link: try TestStore.link(evidence: .unverified), code: nil)
    }

    private func isConfirmed(
        _ input: String,
        closes: Bool = true,
        timeout: Duration = .seconds(60)
    ) async throws -> Bool {
        let question = try Self.question(answered: input, closes: closes, timeout: timeout)
        return await question.isConfirmed(try Self.offer(), ProgressReport(program: "test", format: .json))
    }

    /// Returns a question whose input contains an answer.
    private static func question(
        answered input: String,
        closes: Bool = true,
        timeout: Duration = .seconds(60)
    ) throws -> LinkQuestion {
        var ends: [CInt] = [-1, -1]
        let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        try #require(socketpair(AF_UNIX, kind, 0, &ends) == 0)
        let (reading, writing) = (ends[0], ends[1])
        _ = Array(input.utf8).withUnsafeBytes { write(writing, $0.baseAddress, $0.count) }
        // An open end is left to the end of the process.
        if closes { close(writing) }
        return LinkQuestion(timeout: timeout) { reading }
    }

    @Test("After yes, the link is stored under a free name with its evidence; after another answer, it is not")
    func stored() async throws {
        try await TestFolder.with { folder in
            let test = TestStore(in: folder)
            let report = ProgressReport(program: "test", format: .json)
            let offer = OfferedLink(link: try TestStore.link(), code: nil)
            let refused = await #expect(throws: CommandFailure.self) {
                try await Self.question(answered: "no\n").link(offer, in: test.store, report)
            }
            #expect(refused?.code == "link-not-confirmed" && refused?.status == .notPermitted)
            #expect(try test.store.links().isEmpty)
            try test.store.save(try TestStore.link())
            try await Self.question(answered: "yes\n").link(offer, in: test.store, report)
            let link = try #require(try test.store.links(to: offer.link.id).first)
            #expect(link.name.description == "Pixel 8 (2)" && link.evidence == .verified)
            for _ in 2..<LinkStore.maximumCount { try test.store.save(try TestStore.link()) }
            let full = await #expect(throws: CommandFailure.self) {
                let new = OfferedLink(link: try TestStore.link(), code: nil)
                try await Self.question(answered: "yes\n").link(new, in: test.store, report)
            }
            #expect(full?.code == "too-many-phones" && full?.sentence.hasPrefix("not linked: ") == true)
        }
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
