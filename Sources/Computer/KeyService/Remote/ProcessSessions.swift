// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridProgram
internal import HybridSSHAgent

/// The first sessions that client processes have proved.
///
/// One ssh process reaches one first host. If the agent's socket is forwarded to host B by `RemoteForward`, and B forwards
/// it to host C, then C alone proves its key, and B passes for C. But the process also proved B's session when it logged
/// in. So a process with two first sessions must not ask for websites.
struct ProcessSessions: Sendable {
    /// Maximum number of processes; the oldest is forgotten for a new one.
    static let maximumCount = 1024

    /// A process, which its start time tells apart from later ones with the same ID.
    struct Process: Hashable, Sendable {
        /// The process ID.
        let id: pid_t
        /// The start time in ticks since the computer started.
        let startTime: UInt64
    }

    private var sessions: [Process: Set<SSHSessionID>] = [:]
    private var order: [Process] = []

    /// Records the first session of a connection of a process.
    mutating func add(_ session: SSHSessionID, of process: Process) {
        if sessions[process] == nil {
            order.append(process)
            if order.count > Self.maximumCount { sessions[order.removeFirst()] = nil }
        }
        // The third session would change nothing.
        guard sessions[process, default: []].count < 2 else { return }
        sessions[process, default: []].insert(session)
    }

    /// Returns true if all connections of the process had the same first session.
    func isConsistent(_ process: Process) -> Bool { sessions[process].map { $0.count < 2 } ?? true }
}

extension PeerCredentials {
    /// The process with its start time; `nil` if it has ended.
    var process: ProcessSessions.Process? {
        let descriptor = open("/proc/\(processID)/stat", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(descriptor, &bytes, bytes.count)
        guard count > 0 else { return nil }
        // The name of the program, in parentheses, may contain spaces and parentheses (proc_pid_stat(5)).
        let fields = bytes[..<count].split(separator: UInt8(ascii: ")"), omittingEmptySubsequences: false)
        let rest = fields.last?.split(separator: UInt8(ascii: " ")) ?? []
        guard rest.count > 19, let time = UInt64(String(decoding: rest[19], as: UTF8.self)) else { return nil }
        return ProcessSessions.Process(id: processID, startTime: time)
    }
}
