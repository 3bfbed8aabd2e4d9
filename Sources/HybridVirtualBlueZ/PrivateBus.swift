// SPDX-License-Identifier: Apache-2.0

private import Glibc
public import HybridSystemBus
internal import HybridThreads

/// Why a private bus could not be started.
public enum PrivateBusError: Error, Hashable, Sendable {
    /// The program dbus-daemon is not installed.
    case daemonMissing
    /// It could not be started, or did not say that it is ready; with the reason.
    case notStarted(String)

    /// One line that says the cause and the remedy.
    public var sentence: String {
        switch self {
        case .daemonMissing: "dbus-daemon was not found; install the package dbus-daemon"
        case .notStarted(let reason): "the private bus could not be started: \(reason)"
        }
    }
}

/// A message bus of our own: dbus-daemon on a socket in a directory that only this user can enter.
public struct PrivateBus: Sendable {
    /// Where it listens, in D-Bus notation; the value for DBUS_SYSTEM_BUS_ADDRESS.
    public let address: String

    private let directory: String
    private let daemon: ChildProcess

    /// Longest wait for dbus-daemon to say that it listens, in milliseconds.
    private static let patience: CInt = 60_000

    /// Starts the daemon and returns once it listens.
    public static func start() async throws(PrivateBusError) -> PrivateBus {
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

    /// The address as `BusConnection.connect` takes it.
    public var busAddress: BusAddress { BusAddress(address) }

    /// Stops the daemon and removes its directory; to be called once.
    public func close() async {
        // It keeps nothing that an orderly end would save.
        daemon.send(SIGKILL)
        _ = await daemon.wait()
        Self.removeDirectory(directory)
    }

    private static func makeDirectory() throws(PrivateBusError) -> String {
        // A socket's path must be shorter than 108 bytes, and needs no escapes where it holds only these characters.
        let wanted = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        let plain = wanted.utf8.allSatisfy { byte in
            let letter = byte | 0x20
            return letter >= UInt8(ascii: "a") && letter <= UInt8(ascii: "z")
                || byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") || "/_.-".utf8.contains(byte)
        }
        let parent = plain && wanted.hasPrefix("/") && wanted.utf8.count < 64 ? wanted : "/tmp"
        let template = strdup(parent + "/hybrid-air-XXXXXX")
        defer { free(template) }
        // mkdtemp makes it 0700.
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
        var ends: [CInt] = [-1, -1]
        // Not a pipe: a socket pair is closed on exec from the start, so that no other child can hold it open.
        let type = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw .notStarted(String(cString: strerror(errno))) }
        let (reader, writer) = (ends[0], ends[1])
        defer { Glibc.close(reader) }
        let daemon: ChildProcess
        do throws(ChildProcess.SpawnError) {
            defer { Glibc.close(writer) }
            daemon = try ChildProcess.spawn(
                [
                    "dbus-daemon", "--config-file=\(directory)/bus.conf", "--nofork", "--nopidfile",
                    "--print-address=1",
                ],
                output: writer,
                // For root it complains of limits that it may not raise; what matters is read if it does not start.
                errors: directory + "/errors",
                // Ctrl-C at the terminal is for the programs on the bus; they are to find it till they end.
                ownGroup: true
            )
        } catch {
            throw error.code == ENOENT ? .daemonMissing : .notStarted(error.words)
        }
        let isReady = await DedicatedThread.run { () -> Bool in
            var descriptor = pollfd(fd: reader, events: CShort(POLLIN), revents: 0)
            var byte: UInt8 = 0
            return poll(&descriptor, 1, patience) == 1 && read(reader, &byte, 1) == 1
        }
        guard isReady else {
            daemon.send(SIGKILL)
            _ = await daemon.wait()
            throw .notStarted("dbus-daemon did not say where it listens; " + firstLine(of: directory + "/errors"))
        }
        return daemon
    }

    private static func firstLine(of path: String) -> String {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "it said nothing" }
        defer { Glibc.close(file) }
        var buffer = [UInt8](repeating: 0, count: 500)
        let count = max(0, read(file, &buffer, buffer.count))
        return String(decoding: buffer.prefix(count).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }

    /// Whether the user database knows this user; a container may run programs by a number alone.
    private static var hasUserName: Bool {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16_384)
        let result = getpwuid_r(geteuid(), &entry, &buffer, buffer.count, &found)
        return found != nil || result == ERANGE
    }

    /// Only the user who runs the daemon (and root) may connect; on the bus everything is allowed.
    ///
    /// dbus-daemon lets nobody in by a number that the user database lacks. Then it asks for no number: nobody else can
    /// enter the directory anyway.
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
