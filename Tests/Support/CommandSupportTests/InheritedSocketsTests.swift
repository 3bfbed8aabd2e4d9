// SPDX-License-Identifier: Apache-2.0

import Glibc
import HybridPrimitives
import HybridProgram
import Testing

@testable import HybridCommandSupport

@Suite("Sockets from the service manager", .serialized)
struct InheritedSocketsTests {
    private enum Kind {
        case listening
        case listeningUnix
        case notListening
        case datagram
        case connected
        case file
    }

    /// Runs a body with descriptors of these kinds and consecutive numbers; the number after them is free.
    private func with(_ kinds: [Kind], _ body: (_ first: Int32) throws -> Void) throws {
        // Other tests of this process open and close descriptors; numbers near the limit are the least likely to be in use.
        var most = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &most)
        let lowest = Int32(min(most.rlim_cur, 60_000)) - 250
        for attempt: Int32 in 0..<20 {
            var numbers: [Int32] = []
            defer { for number in numbers { close(number) } }
            for kind in kinds {
                let made = try make(kind)
                // A copy has no CLOEXEC, as an inherited descriptor has none.
                numbers.append(fcntl(made, F_DUPFD, numbers.last.map { $0 + 1 } ?? lowest + attempt * 10))
                close(made)
            }
            let first = try #require(numbers.first)
            let next = first + Int32(kinds.count)
            guard first >= lowest, numbers == Array(first..<next), fcntl(next, F_GETFD) < 0 else { continue }
            return try body(first)
        }
        Issue.record("no free numbers")
    }

    private func make(_ kind: Kind) throws -> Int32 {
        let (stream, datagram) = (Int32(SOCK_STREAM.rawValue), Int32(SOCK_DGRAM.rawValue))
        switch kind {
        case .listening, .notListening:
            let descriptor = socket(AF_INET, stream, 0)
            // Without an address the system chooses a free port.
            if kind == .listening { try #require(listen(descriptor, 1) == 0) }
            return descriptor
        case .listeningUnix:
            let descriptor = socket(AF_UNIX, stream, 0)
            // Two bytes of address: the system chooses an abstract name.
            var address = sockaddr(sa_family: sa_family_t(AF_UNIX), sa_data: sockaddr().sa_data)
            try #require(bind(descriptor, &address, 2) == 0)
            try #require(listen(descriptor, 1) == 0)
            return descriptor
        case .datagram: return socket(AF_INET, datagram, 0)
        case .connected:
            var ends: [Int32] = [-1, -1]
            try #require(socketpair(AF_UNIX, stream, 0, &ends) == 0)
            close(ends[1])
            return ends[0]
        case .file: return open("/dev/null", O_RDONLY)
        }
    }

    private func take(_ environment: [String: String], _ first: Int32) throws(CommandFailure) -> [InheritedSocket] {
        try InheritedSockets.take(environment: environment, processID: 7, firstDescriptor: first)
    }

    @Test("listening sockets are taken with their names and are not inherited")
    func takes() throws {
        try with([.listening, .listeningUnix]) { first in
            let sockets = try take(["LISTEN_PID": "7", "LISTEN_FDS": "2", "LISTEN_FDNAMES": "public:admin"], first)
            #expect(
                sockets == [
                    InheritedSocket(descriptor: first, name: "public"),
                    InheritedSocket(descriptor: first + 1, name: "admin"),
                ]
            )
            for socket in sockets { #expect(fcntl(socket.descriptor, F_GETFD) == FD_CLOEXEC) }
        }
        try with([.listening]) { first in
            let sockets = try take(["LISTEN_PID": "7", "LISTEN_FDS": "1"], first)
            #expect(sockets == [InheritedSocket(descriptor: first, name: nil)])
        }
    }

    @Test(
        "sockets for other processes are not taken",
        arguments: [
            [:], ["LISTEN_FDS": "1"], ["LISTEN_PID": "7"], ["LISTEN_PID": "8", "LISTEN_FDS": "1"],
            ["LISTEN_PID": "7", "LISTEN_FDS": "0"], ["LISTEN_PID": "7", "LISTEN_FDS": "0", "LISTEN_FDNAMES": ""],
        ]
    )
    func nothing(environment: [String: String]) throws {
        try with([.listening]) { first in
            let sockets = try take(environment, first)
            #expect(sockets.isEmpty)
            #expect(fcntl(first, F_GETFD) == 0)
        }
    }

    @Test(
        "malformed variables are reported",
        arguments: [
            (["LISTEN_PID": "x", "LISTEN_FDS": "1"], "LISTEN_PID is not a process number"),
            (["LISTEN_PID": "-7", "LISTEN_FDS": "1"], "LISTEN_PID is not a process number"),
            (["LISTEN_PID": "7", "LISTEN_FDS": "x"], "LISTEN_FDS is not a number from 0 to 256"),
            (["LISTEN_PID": "7", "LISTEN_FDS": "-1"], "LISTEN_FDS is not a number from 0 to 256"),
            (["LISTEN_PID": "7", "LISTEN_FDS": "2000000000"], "LISTEN_FDS is not a number from 0 to 256"),
            (
                ["LISTEN_PID": "7", "LISTEN_FDS": "1", "LISTEN_FDNAMES": "a:b"],
                "LISTEN_FDNAMES has 2 names for 1 sockets"
            ),
        ]
    )
    func wrongVariables(environment: [String: String], reason: String) throws {
        try with([.listening]) { first in
            #expect(throws: CommandFailure("socket activation: \(reason)", status: .configuration)) {
                try take(environment, first)
            }
        }
    }

    @Test(
        "descriptors that are not listening stream sockets are reported",
        arguments: [
            (.notListening, "does not listen (Accept=no is needed)"),
            (.connected, "does not listen (Accept=no is needed)"),
            (.datagram, "is not a stream socket (ListenStream= is needed)"), (.file, "is not a socket"),
            (nil, "is not open"),
        ] as [(Kind?, String)]
    )
    private func wrongDescriptors(kind: Kind?, reason: String) throws {
        try with([.listening] + (kind.map { [$0] } ?? [])) { first in
            let sentence = "socket activation: descriptor \(first + 1) from the service manager \(reason)"
            #expect(throws: CommandFailure(sentence, status: .configuration)) {
                try take(["LISTEN_PID": "7", "LISTEN_FDS": "2"], first)
            }
        }
    }
}
