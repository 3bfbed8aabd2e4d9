// SPDX-License-Identifier: Apache-2.0

private import Glibc
package import HybridDBus
internal import HybridPrimitives
internal import HybridThreads

/// The reason why a private bus could not be started.
package struct PrivateBusError: Error, Hashable, Sendable {
    /// The cause and the remedy in one line.
    package let sentence: String

    /// The program dbus-daemon is not installed.
    package static let daemonMissing = PrivateBusError(
        sentence: "dbus-daemon was not found; install the package dbus-daemon"
    )

    /// The daemon did not start, or did not report that it was ready.
    package static func notStarted(_ reason: String) -> PrivateBusError {
        PrivateBusError(sentence: "the private bus could not be started: \(reason)")
    }
}

/// A private message bus: dbus-daemon on a socket in a directory that only this user can enter.
package struct PrivateBus: Sendable {
    /// The address in D-Bus notation, for the environment variable `DBUS_SYSTEM_BUS_ADDRESS`.
    package let address: String

    private let directory: String
    private let daemon: ChildProcess

    /// The time in milliseconds within which dbus-daemon must report that it is listening.
    private static let startTimeout: CInt = 60_000

    /// Runs `body` with a private bus, which is removed even if `body` throws.
    ///
    /// - Throws: ``PrivateBusError``, and the error that `body` throws.
    package static func run<Result: Sendable>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: (PrivateBus) async throws -> Result
    ) async throws -> Result {
        let bus = try await start()
        return try await withCleanup {
            await bus.close()
        } of: {
            try await body(bus)
        }
    }

    /// Starts the daemon and returns when it is listening.
    package static func start() async throws(PrivateBusError) -> PrivateBus {
        let directory = try makeDirectory()
        do throws(PrivateBusError) {
            let socket = directory + "/bus"
            try write(configuration(socket), to: directory + "/bus.conf")
            let daemon = try await startDaemon(in: directory)
            return PrivateBus(address: "unix:path=" + socket, directory: directory, daemon: daemon)
        } catch {
            removeDirectory(directory)
            throw error
        }
    }

    /// The address for `BusConnection.connect`.
    package var busAddress: BusAddress { BusAddress(address) }

    /// Stops the daemon and removes its directory.
    package func close() async {
        // The daemon has no state that it would have to save before it exits.
        daemon.send(SIGKILL)
        _ = await daemon.wait()
        Self.removeDirectory(directory)
    }

    private static func makeDirectory() throws(PrivateBusError) -> String {
        // A socket's path must be shorter than 108 bytes. Only characters that need no escapes in a bus address are
        // used.
        let wanted = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        let isPlain = wanted.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) || "/_.-".contains($0) }
        let parent = isPlain && wanted.hasPrefix("/") && wanted.utf8.count < 64 ? wanted : "/tmp"
        let template = strdup(parent + "/hybrid-air-XXXXXX")
        defer { free(template) }
        // mkdtemp sets mode 0700.
        guard let template, mkdtemp(template) != nil else {
            throw .notStarted("no directory in \(parent): " + String(cString: strerror(errno)))
        }
        return String(cString: template)
    }

    private static func removeDirectory(_ directory: String) {
        unlink(directory + "/bus")
        unlink(directory + "/bus.conf")
        unlink(directory + "/errors")
        rmdir(directory)
    }

    private static func write(_ text: String, to path: String) throws(PrivateBusError) {
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw .notStarted(String(cString: strerror(errno))) }
        defer { Glibc.close(file) }
        let bytes = Array(text.utf8)
        guard Glibc.write(file, bytes, bytes.count) == bytes.count else {
            throw .notStarted(String(cString: strerror(errno)))
        }
    }

    private static func startDaemon(in directory: String) async throws(PrivateBusError) -> ChildProcess {
        // Not a pipe: it would lack close-on-exec at first, so another child could keep the writing end open.
        guard let (reader, writer) = SocketPair.make() else { throw .notStarted(String(cString: strerror(errno))) }
        defer { Glibc.close(reader) }
        let daemon: ChildProcess
        do throws(ChildProcess.SpawnError) {
            defer { Glibc.close(writer) }
            daemon = try ChildProcess.spawn(
                ["dbus-daemon", "--config-file=\(directory)/bus.conf", "--nofork", "--nopidfile", "--print-address=1"],
                input: .null,
                output: .descriptor(writer),
                // As root, dbus-daemon prints warnings about limits that it cannot raise. The file is read only if
                // dbus-daemon fails to start.
                error: .file(directory + "/errors"),
                // Ctrl-C must not end the daemon, because the programs on the bus need it until they exit.
                role: .service
            )
        } catch {
            throw error.code == ENOENT ? .daemonMissing : .notStarted(error.reason)
        }
        let isReady = await DedicatedThread.run { () -> Bool in
            var descriptor = pollfd(fd: reader, events: CShort(POLLIN), revents: 0)
            var byte: UInt8 = 0
            return poll(&descriptor, 1, startTimeout) == 1 && read(reader, &byte, 1) == 1
        }
        guard isReady else {
            daemon.send(SIGKILL)
            _ = await daemon.wait()
            throw .notStarted("dbus-daemon did not report that it listens; " + firstLine(of: directory + "/errors"))
        }
        return daemon
    }

    private static func firstLine(of path: String) -> String {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "it printed nothing" }
        defer { Glibc.close(file) }
        var buffer = [UInt8](repeating: 0, count: 500)
        let count = max(0, read(file, &buffer, buffer.count))
        return String(decoding: buffer.prefix(count).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }

    /// True if this user is in the user database.
    ///
    /// In a container, programs may run under a user ID without an entry.
    private static var hasUserName: Bool {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16_384)
        let result = getpwuid_r(geteuid(), &entry, &buffer, buffer.count, &found)
        return found != nil || result == ERANGE
    }

    /// Returns a configuration that allows all operations on the bus, to which only this user and root can connect.
    ///
    /// dbus-daemon rejects a user ID that is not in the user database. For such a user, anonymous connections are
    /// allowed, because no other user can enter the directory.
    private static func configuration(_ socket: String) -> String {
        """
        <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
        <busconfig>
          <listen>unix:path=\(socket)</listen>
          \(hasUserName ? "<auth>EXTERNAL</auth>" : "<auth>ANONYMOUS</auth><allow_anonymous/>")
          <policy context="default">
            <allow own="*"/>
            <allow send_destination="*" eavesdrop="true"/>
            <allow eavesdrop="true"/>
            <allow send_type="method_call"/>
            <allow send_type="signal"/>
            <allow receive_type="method_call"/>
            <allow receive_type="method_return"/>
            <allow receive_type="error"/>
            <allow receive_type="signal"/>
          </policy>
        </busconfig>

        """
    }
}
