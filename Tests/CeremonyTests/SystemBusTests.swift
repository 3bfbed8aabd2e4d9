// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridCaBLE
import HybridDBus
import HybridVirtualBlueZ
import TestSupport
import Testing

/// The programs with a bus at the path of the system's, in namespaces of the kernel.
///
/// Its socket has the right path, and in a user namespace its owner is root.
@Suite("The system's bus", .keepsEvidence, .serialized)
struct SystemBusTests {
    private static let warning = "VIRTUAL RADIO: no proximity proof"
    private static let request = #"{"publicKey":{"challenge":"MDEyMzQ1Njc4OWFiY2RlZg","rpId":"example.com"}}"#
    /// No relay answers there.
    private static let network = ["--connect-to", "::127.0.0.1:1"]

    /// Runs the doctor under `command`.
    private static func doctor(_ command: [String], in folder: String) async throws -> DoctorTests.Report {
        let line = command + [BuildFolder.program("hybrid-client"), "doctor", "--json", "--timeout", "30"] + network
        let ending = try await RunningProgram(
            line[0],
            Array(line.dropFirst()),
            in: folder,
            environment: PlacedBus.variables
        ).ending()
        return try JSONDecoder().decode(DoctorTests.Report.self, from: Data(ending.output.utf8))
    }

    /// Runs `hybrid-auth scan` under `command` with a vault for real use.
    private static func scan(_ command: [String], _ program: VaultProgram) async throws -> RunningProgram.Ending {
        let arguments = ["--url", QROffer.random().text, "--tunnel-domain", "\(CeremonyEnvironment.domain)"]
        return try await program(arguments + network, of: "scan", under: command)
    }

    /// Runs `body` with a new vault for real use.
    private static func withVault(_ body: @Sendable (VaultProgram) async throws -> Void) async throws {
        try await VaultProgram.run { program in
            try await program.makeVault()
            try await body(program)
        }
    }

    @Test(
        "is not trusted in a user namespace, and the programs say why",
        .enabled("this machine allows no user namespaces") { try await PlacedBus.isPossible(PlacedBus.ownUsers) }
    )
    func userNamespace() async throws {
        try await Self.withVault { program in
            let before = program.contents()
            try await PlacedBus.run(PlacedBus.ownUsers, in: program.folder) { bus in
                let scan = try await Self.scan(bus.entry, program)
                #expect(scan.status == 77 && scan.lastLine.contains("does not open under a virtual radio"), "\(scan)")
                #expect(scan.errors.contains(Self.warning), "\(scan)")
                // The notice and the failure.
                for line in scan.errors.split(separator: "\n").suffix(2) {
                    #expect(line.contains("in a user namespace"), "\(scan)")
                }
                #expect(program.contents() == before)
                try await VaultProgram.run { program in
                    let scan = try await Self.scan(bus.entry, program)
                    #expect(scan.status == 77 && scan.lastLine.contains("none is created under a virtual"), "\(scan)")
                    #expect(program.contents().isEmpty)
                }

                let report = try await Self.doctor(bus.entry, in: program.folder)
                #expect(report.virtualRadio && report["system-bus"]?.state == "warning")
                #expect(report["system-bus"]?.remedy?.contains("in a user namespace") == true)

                let line = bus.entry + [BuildFolder.program("hybrid-client"), "show-qr", "--request", "-", "--json"]
                let client = try RunningProgram(
                    line[0],
                    line.dropFirst() + ["--origin", CeremonyEnvironment.origin] + Self.network,
                    in: program.folder,
                    environment: PlacedBus.variables,
                    input: Self.request
                )
                _ = try await client.line { $0.contains(#""notice":"unverified-bus""#) }
                #expect(client.errors.contains(Self.warning))
                client.send(SIGINT)
                #expect(try await client.ending().status == 130)
            }
        }
    }

    @Test(
        "is not trusted if another file hides the user namespace",
        .enabled("this machine allows no user namespaces") { try await PlacedBus.isPossible(PlacedBus.ownUsers) }
    )
    func hiddenNamespace() async throws {
        try await TestFolder.with { folder in
            try await PlacedBus.run(PlacedBus.ownUsers, in: folder.path) { bus in
                let identity = try folder.write("\(PlacedBus.identity)\n", to: "uid_map")
                try FileManager.default.createDirectory(
                    atPath: folder.path + "/proc",
                    withIntermediateDirectories: false
                )
                for hiding in [
                    "mount --bind '\(identity)' /proc/$$/uid_map",
                    // Every user may write the mapping of project IDs, which then looks like that of user IDs outside.
                    "cat '\(identity)' > /proc/$$/projid_map; mount --bind /proc/$$/projid_map /proc/$$/uid_map",
                    // Another file system, whose other files are the process's own. Dispatch reads the states of threads,
                    // and traps if they are missing.
                    """
                    mount --rbind /proc '\(folder.path)/proc'
                    mount -t tmpfs none /proc
                    seq -f '\(folder.path)/proc/%.0f' $$ $(($$ + 9999)) | xargs ln -s -t /proc
                    mkdir /proc/self
                    for file in '\(folder.path)'/proc/self/*; do ln -s "$file" /proc/self/; done
                    rm /proc/self/uid_map
                    cp '\(identity)' /proc/self/uid_map
                    """,
                ] {
                    let script = """
                        set -e
                        \(hiding)
                        read -r first outside count < /proc/self/uid_map
                        test "$first $outside $count" = '\(PlacedBus.identity)'
                        exec "$@"
                        """
                    let command = bus.entry + ["/bin/sh", "-c", script, "sh"]
                    let report = try await Self.doctor(command, in: folder.path)
                    #expect(report.virtualRadio && report["system-bus"]?.state == "warning", "\(hiding)")
                    let remedy = report["system-bus"]?.remedy
                    #expect(remedy?.contains("can't verify that it is outside of user namespaces") == true, "\(hiding)")
                }
            }
        }
    }

    @Test(
        "is trusted if root has opened it, but not if another user has",
        .enabled("only root can mount outside of user namespaces") {
            PlacedBus.isOutside ? try await PlacedBus.isPossible(PlacedBus.shared) : false
        }
    )
    func owner() async throws {
        try await Self.withVault { program in
            try await PlacedBus.run(PlacedBus.shared, in: program.folder) { bus in
                let report = try await Self.doctor(bus.entry, in: program.folder)
                #expect(!report.virtualRadio && report["system-bus"]?.state == "ok")
                let scan = try await Self.scan(bus.entry, program)
                #expect(scan.status == 69 && !scan.errors.contains("VIRTUAL RADIO"), "\(scan)")
            }
            let otherUser = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
            try await PlacedBus.run(PlacedBus.shared, openedUnder: otherUser, in: program.folder) { bus in
                let report = try await Self.doctor(bus.entry, in: program.folder)
                #expect(report.virtualRadio && report["system-bus"]?.state == "warning")
                let scan = try await Self.scan(bus.entry, program)
                #expect(scan.status == 77 && scan.errors.contains("was not started by the system"), "\(scan)")
            }
        }
    }
}

/// A private bus with a virtual bluetoothd at the path of the system's own, for programs in a mount namespace.
private struct PlacedBus {
    /// Namespaces of mounts and users, which every user may create if the machine allows it.
    static let ownUsers = ["--user", "--map-root-user", "--mount"]
    /// A namespace of mounts alone, for root.
    static let shared = ["--mount"]

    /// The mapping of user IDs outside of user namespaces.
    static let identity = "0 0 4294967295"

    private static let path = "/run/dbus"
    private static let configuration = """
        <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
        <busconfig>
          <listen>unix:path=\(path)/system_bus_socket</listen>
          <auth>EXTERNAL</auth>
          <policy context="default">
            <allow user="*"/>
            <allow own="*"/>
            <allow send_destination="*" eavesdrop="true"/>
            <allow eavesdrop="true"/>
          </policy>
        </busconfig>

        """

    /// The environment without the address of another bus.
    static let variables = SpawnedProcess.environment.filter { $0.key != "DBUS_SYSTEM_BUS_ADDRESS" }

    /// The beginning of a command line whose program finds the bus at the path of the system's.
    let entry: [String]

    /// Returns the beginning of a command line whose program sees `folder` as the folder of the system's bus.
    ///
    /// In a user namespace, a folder with mounts of others can only be bound together with them.
    private static func entry(_ namespaces: [String], _ folder: String) -> [String] {
        let script = """
            set -e
            if [ ! -d \(path) ]; then mount -t tmpfs none /run; mkdir \(path); fi
            mount --rbind "$1" \(path)
            shift
            exec "$@"
            """
        return ["/usr/bin/unshare"] + namespaces + ["/bin/sh", "-c", script, "sh", folder]
    }

    /// True if this process is in no user namespace; root of a rootless container may mount, too.
    static var isOutside: Bool {
        TestFile.text("/proc/self/uid_map").split(whereSeparator: \.isWhitespace).joined(separator: " ") == identity
    }

    /// Returns true if this user may create the namespaces here.
    static func isPossible(_ namespaces: [String]) async throws -> Bool {
        try await SpawnedProcess(entry(namespaces, "/tmp") + ["/bin/true"]).end() == 0
    }

    /// Runs `body` with a bus in a subfolder of `folder`; its daemon is started by another program if `starter` is not
    /// empty.
    static func run(
        _ namespaces: [String],
        openedUnder starter: [String] = [],
        in folder: String,
        _ body: (PlacedBus) async throws -> Void
    ) async throws {
        let place = "\(folder)/bus-\(UUID().uuidString.prefix(8))"
        // The starter may change the user.
        let everybody: [FileAttributeKey: Any] = [.posixPermissions: 0o777]
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
        try FileManager.default.setAttributes(everybody, ofItemAtPath: place)
        try TestFile.write(configuration, to: place + "/bus.conf")
        let entry = entry(namespaces, place)
        let daemon = try RunningProgram(
            entry[0],
            entry.dropFirst() + starter
                + ["dbus-daemon", "--config-file=\(path)/bus.conf", "--nofork", "--nopidfile", "--print-address=1"],
            in: folder
        )
        defer { daemon.send(SIGKILL) }
        try await Waiting.until("the bus", evidence: daemon.errors) { daemon.output.contains("unix:") }
        try await VirtualBlueZ.serve(on: BusAddress("unix:path=\(place)/system_bus_socket")) {
            try await body(PlacedBus(entry: entry))
        }
    }
}
