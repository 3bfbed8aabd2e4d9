// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import HybridCommandSupport
internal import HybridPrimitives
package import HybridProgram
package import HybridSecurityKey
internal import HybridThreads

/// A virtual security key for one user, while the helper provides its device.
///
/// One thread drives the state machine and another one each window. The thread of an idle key sleeps without a time limit
/// until a report arrives. Without the helper it tries to connect after a second, then at longer intervals up to five
/// minutes, and when the helper's socket appears or a session becomes active.
package final class SecurityKeyServer: Sendable {
    /// The intervals between two attempts to connect.
    struct Retry: Sendable {
        var first = Duration.seconds(1)
        var last = Duration.seconds(300)
        /// The duration of a connection after which the helper counts as healthy.
        var healthy = Duration.seconds(10)
    }

    private let helper: DeviceHelper
    private let retry: Retry
    private let report: @Sendable (String) -> Void
    private let makeLoop: @Sendable () -> SecurityKeyLoop
    private let inbox: SecurityKeyInbox

    /// Creates a server and reads its state.
    ///
    /// - Parameters:
    ///   - helperPath: The path of the helper's socket.
    ///   - folder: The folder with memory, SSH keys and journal.
    ///   - otherKeyExists: Returns true if there is a FIDO device that is not virtual.
    ///   - launcher: The launcher of ceremonies.
    ///   - version: The version that clients see.
    ///   - seconds: The time limit in seconds for finding a phone, and again for its user.
    ///   - report: Receives a sentence when something fails.
    /// - Throws: ``CommandFailure`` if the state can't be read, or the process has no descriptors left.
    package convenience init(
        helperPath: String,
        in folder: StateFolder,
        otherKeyExists: @escaping @Sendable () -> Bool,
        launcher: CeremonyLauncher,
        version: CTAPHIDDeviceVersion,
        seconds: Int,
        report: @escaping @Sendable (String) -> Void
    ) throws(CommandFailure) {
        try self.init(
            helper: DeviceHelper(path: helperPath),
            state: SecurityKeyState(in: folder, otherKeyExists: otherKeyExists, report: report),
            launcher: launcher,
            version: version,
            seconds: seconds,
            report: report
        )
    }

    /// Creates a server with a helper, intervals, clock and devices of a test.
    init(
        helper: DeviceHelper,
        retry: Retry = Retry(),
        state: SecurityKeyState,
        clock: SleepClock = .system(),
        launcher: CeremonyLauncher,
        version: CTAPHIDDeviceVersion,
        seconds: Int,
        report: @escaping @Sendable (String) -> Void
    ) throws(CommandFailure) {
        guard let inbox = SecurityKeyInbox() else {
            throw CommandFailure("no file descriptors left", status: .unavailable)
        }
        var (key, state) = (
            SecurityKey(
                version: version,
                memory: CredentialMemory(),
                installationKey: try state.memories.installationKey()
            ), state
        )
        try state.read(&key)
        self.helper = helper
        self.retry = retry
        self.report = report
        self.inbox = inbox
        let dependencies = SecurityKeyWindow.Dependencies(
            launcher: launcher,
            journal: state.journal,
            seconds: seconds,
            report: report
        )
        makeLoop = { [key, state] in SecurityKeyLoop(key, state, clock, dependencies, inbox) }
    }

    /// Ends ``serve()``.
    package func stop() { inbox.stop() }

    /// Serves the key until ``stop()``; blocks.
    package func serve() {
        var loop = makeLoop()
        var delay = retry.first
        var last: DeviceHelper.Failure?
        repeat {
            do throws(DeviceHelper.Failure) {
                let connection = try helper.connect()
                let start = ContinuousClock.now
                loop.run(connection)
                if start.duration(to: .now) >= retry.healthy { delay = retry.first }
                last = nil
            } catch {
                // A system without the helper is not set up for security keys.
                if error != last, error != .notReachable(errorNumber: ENOENT) {
                    report("no security key, because \(helper.path) can't be used: \(error.sentence)")
                }
                last = error
            }
        } while wait(for: &delay)
    }

    /// The folder in which logind notes changes of sessions; a change is a hint only.
    private static let sessions = "/run/systemd/users"
    /// The time between a hint and the attempt, in which the change is completed.
    private static let settling = Duration.milliseconds(300)

    /// Waits for the next attempt to connect.
    ///
    /// - Parameter delay: The time limit, which is adjusted for the attempt after the next one.
    /// - Returns: False after ``stop()``.
    private func wait(for delay: inout Duration) -> Bool {
        let folder = helper.path.lastIndex(of: "/").map { String(helper.path[..<$0]) } ?? "."
        let watch = FolderWatch([folder, Self.sessions])
        switch inbox.wait(for: watch.descriptor, within: delay) {
        case .stopped: return false
        case .timedOut: delay = min(delay * 2, retry.last)
        case .ready:
            delay = retry.first
            return inbox.wait(for: -1, within: min(delay, Self.settling)) != .stopped
        }
        return true
    }
}

/// A clock that distinguishes time in which the computer was asleep.
struct SleepClock: Sendable {
    /// Returns the time since a fixed moment.
    let now: @Sendable () -> Duration
    /// Returns the part of that time in which the computer was awake.
    let awake: @Sendable () -> Duration

    /// Returns the clock of the system, which starts now.
    static func system() -> SleepClock {
        let (start, awakeStart) = (ContinuousClock.now, SuspendingClock.now)
        return SleepClock(now: { start.duration(to: .now) }, awake: { awakeStart.duration(to: .now) })
    }
}
