// SPDX-License-Identifier: Apache-2.0

import Glibc
import HybridThreads
import Testing

@Suite("A child process", .timeLimit(.minutes(10)))
struct ChildProcessTests {
    /// Returns the exit status of a shell script.
    private func status(of script: String, role: ChildProcess.Role = .helper) async throws -> CInt {
        try await ChildProcess.spawn(["sh", "-c", script], role: role).wait().shellStatus
    }

    @Test("reports a program that does not exist by its error number")
    func missingProgram() {
        #expect(throws: ChildProcess.SpawnError(code: ENOENT)) {
            try ChildProcess.spawn(["hybrid-no-such-program"])
        }
    }

    @Test("reports the status that a shell would report")
    func exitStatus() async throws {
        #expect(try await status(of: "exit 7") == 7)
        #expect(try await status(of: "kill -TERM $$") == 143)
    }

    @Test("is reaped once and receives no signal afterwards")
    func reaping() async throws {
        let child = try ChildProcess.spawn(["sleep", "1000"])
        #expect(child.poll() == nil)
        #expect(child.waitBlocking(atMost: .milliseconds(1)) == nil)
        child.send(SIGKILL)
        #expect(await child.wait() == .signaled(SIGKILL))
        child.send(SIGKILL)
        #expect(child.poll() == .signaled(SIGKILL))
        #expect(waitpid(child.id, nil, WNOHANG) == -1)
    }

    @Test("inherits descriptors only as a user's command")
    func descriptors() async throws {
        let number = dup(STDERR_FILENO)
        defer { close(number) }
        let script = "test -e /proc/self/fd/\(number)"
        #expect(try await status(of: script, role: .command) == 0)
        #expect(try await status(of: script, role: .helper) == 1)
    }

    @Test(
        "does not ignore SIGPIPE, unlike the programs of the project",
        arguments: [ChildProcess.Role.command, .helper, .service]
    )
    func brokenPipe(role: ChildProcess.Role) async throws {
        signal(SIGPIPE, SIG_IGN)
        #expect(try await status(of: "kill -PIPE $$", role: role) == 128 + SIGPIPE)
    }

    @Test("leads its group or session if its role says so")
    func groups() async throws {
        // Fields 5 and 6 of /proc/PID/stat are the process group and the session.
        let leadsGroup = "set -- $(cat /proc/$$/stat); test $5 = $$"
        let leadsSession = "set -- $(cat /proc/$$/stat); test $6 = $$"
        #expect(try await status(of: leadsGroup, role: .helper) == 1)
        #expect(try await status(of: leadsGroup, role: .service) == 0)
        #expect(try await status(of: leadsSession, role: .service) == 1)
        #expect(try await status(of: leadsSession, role: .detached) == 0)
    }
}

@Suite("A waker")
struct WakerTests {
    @Test("makes its descriptor readable until it is reset")
    func wakes() throws {
        let waker = try #require(Waker())
        #expect(!isReadable(waker))
        for _ in 0..<100_000 { waker.wake() }
        #expect(isReadable(waker))
        waker.reset()
        #expect(!isReadable(waker))
        waker.wake()
        #expect(isReadable(waker))
    }

    @Test("takes one descriptor, which children do not inherit")
    func descriptors() throws {
        let waker = try #require(Waker())
        var name = [CChar](repeating: 0, count: 64)
        let count = readlink("/proc/self/fd/\(waker.descriptor)", &name, name.count)
        let target = String(decoding: name.prefix(max(0, count)).map(UInt8.init(bitPattern:)), as: UTF8.self)
        #expect(target == "anon_inode:[eventfd]")
        #expect(fcntl(waker.descriptor, F_GETFD) == FD_CLOEXEC)
    }

    private func isReadable(_ waker: Waker) -> Bool {
        var descriptor = pollfd(fd: waker.descriptor, events: CShort(POLLIN), revents: 0)
        return poll(&descriptor, 1, 0) == 1
    }
}
