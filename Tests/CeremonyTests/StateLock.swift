// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport

/// The lock on a vault's local state, held by the test, so that a program stops before it writes.
final class StateLock {
    private let path: String
    private var descriptor: Int32

    /// Acquires the lock of an existing vault.
    init(_ environment: CeremonyEnvironment) throws {
        let state = environment.folder + "/state/hybrid"
        let locks = try FileManager.default.subpathsOfDirectory(atPath: state).filter { $0.hasSuffix("/lock") }
        guard locks.count == 1, let name = locks.first else {
            throw RunningProgram.TimedOut(description: "locks in \(state): \(locks)")
        }
        path = state + "/" + name
        descriptor = open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0, flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw RunningProgram.TimedOut(description: "\(path) is taken")
        }
    }

    deinit { release() }

    /// Releases the lock.
    func release() {
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
    }

    /// True if a program waits for the lock.
    var isContended: Bool { !writer.isEmpty }

    /// Returns true if the waiting program has a connection to a port of this machine, even if the other end has closed it.
    func writerIsConnected(to port: Int) -> Bool {
        let sockets = Set(writer.compactMap { $0.hasPrefix("socket:[") ? String($0.dropFirst(8).dropLast()) : nil })
        let table = (try? String(contentsOfFile: "/proc/net/tcp", encoding: .utf8)) ?? ""
        return table.split(separator: "\n").dropFirst().contains { line in
            // Remote address, state (01 is ESTABLISHED, 08 is CLOSE_WAIT) and inode.
            let fields = line.split(separator: " ")
            guard fields.count > 9, let remote = fields[2].split(separator: ":").last else { return false }
            return Int(remote, radix: 16) == port && ["01", "08"].contains(fields[3])
                && sockets.contains(String(fields[9]))
        }
    }

    /// The open files of the waiting program; empty if no program waits.
    private var writer: [String] {
        let files = FileManager.default
        for process in (try? files.contentsOfDirectory(atPath: "/proc")) ?? [] {
            guard let number = Int32(process), number != getpid() else { continue }
            let folder = "/proc/\(process)/fd"
            let open = ((try? files.contentsOfDirectory(atPath: folder)) ?? []).compactMap {
                try? files.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")
            }
            if open.contains(path) { return open }
        }
        return []
    }
}
