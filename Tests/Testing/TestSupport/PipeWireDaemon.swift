// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// A PipeWire of a test's own, with a session bus, a session manager and virtual cameras.
package final class PipeWireDaemon: Sendable {
    /// The programs that it starts, each with its package.
    private static let programs = [
        "pipewire": "pipewire", "wireplumber": "wireplumber", "pw-cli": "pipewire-bin", "dbus-daemon": "dbus-daemon",
        "cc": "gcc", "pkg-config": "pkg-config",
    ]

    /// The packages that are missing, as a message; empty if there are none.
    package static let missing: String = {
        let folders = (SpawnedProcess.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
        var packages = programs.filter { program in
            !folders.contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(program.key)") }
        }.map(\.value)
        if !FileManager.default.fileExists(atPath: "/usr/include/pipewire-0.3") {
            packages.append("libpipewire-0.3-dev")
        }
        return packages.isEmpty ? "" : "not installed: \(packages.sorted().joined(separator: ", "))"
    }()

    private let folder: String
    private let processes: [SpawnedProcess]
    /// The cameras, which would end if they were released.
    private let cameras = Mutex<[RunningProgram]>([])

    /// The socket that clients connect to.
    package var socket: String { folder + "/pipewire-0" }

    /// The variables with which a program uses this daemon.
    package var environment: [String: String] { Self.environment(folder) }

    private static func environment(_ folder: String) -> [String: String] {
        SpawnedProcess.environment.merging([
            "XDG_RUNTIME_DIR": folder, "HOME": folder, "DBUS_SESSION_BUS_ADDRESS": "unix:path=\(folder)/bus",
        ]) { $1 }
    }

    /// Starts the daemon.
    ///
    /// - Parameters:
    ///   - folder: A short path, because a socket's path has at most 107 bytes.
    ///   - hasManager: False for no session manager, so that nothing connects a stream with a camera.
    package init(in folder: String, hasManager: Bool = true) async throws {
        self.folder = folder
        // Without these folders, which systemd makes, WirePlumber ends.
        for name in ["seats", "sessions", "users", "machines"] {
            try? FileManager.default.createDirectory(
                atPath: "/run/systemd/\(name)",
                withIntermediateDirectories: true
            )
        }
        let log = folder + "/log"
        let environment = Self.environment(folder)
        func start(_ command: String...) throws -> SpawnedProcess {
            try SpawnedProcess(command, environment: environment, output: log, errors: log)
        }
        let bus = try start("dbus-daemon", "--session", "--address=unix:path=\(folder)/bus", "--nofork", "--nopidfile")
        var processes = [bus, try start("pipewire")]
        try await Waiting.until("the sockets of PipeWire", evidence: TestFile.text(log)) {
            ["bus", "pipewire-0"].allSatisfy { FileManager.default.fileExists(atPath: "\(folder)/\($0)") }
        }
        if hasManager {
            processes.append(try start("wireplumber"))
            try await Waiting.until("WirePlumber", evidence: TestFile.text(log)) {
                let list = "\(folder)/\(UUID().uuidString)"
                let program = try SpawnedProcess(["pw-cli", "ls", "Metadata"], environment: environment, output: list)
                return try await program.end() == 0 && TestFile.text(list).contains("\"default\"")
            }
        }
        self.processes = processes
    }

    /// Ends all processes.
    package func stop() async throws {
        for camera in cameras.withLock({ $0 }) { camera.send(15) }
        for process in processes.reversed() { process.send(15) }
        for process in processes { _ = try await process.end() }
    }

    /// Starts a camera and waits until the daemon has it; it runs until it gets a signal, or until ``stop()``.
    ///
    /// - Parameter options: Options of `Tests/Counterparts/camera/camera.c`, or properties of the node.
    @discardableResult
    package func camera(_ options: [String: String]) async throws -> RunningProgram {
        let program = try await Self.program.value
        let arguments = options.map { "\($0.key)=\($0.value)" }
        let camera = try RunningProgram(program, arguments, in: folder, environment: environment)
        cameras.withLock { $0.append(camera) }
        try await Waiting.until("the camera \(options)", evidence: camera.errors) { camera.output.hasPrefix("ready ") }
        return camera
    }

    /// The compiled camera.
    private static let program = Task {
        let folder = try TestFolder().path
        let sources = PackageFolder.path + "/Tests/Counterparts/camera"
        let command =
            "cc -O1 -D_GNU_SOURCE \(sources)/camera.c -o \(folder)/camera $(pkg-config --cflags --libs libpipewire-0.3)"
        let compiler = try RunningProgram("/bin/sh", ["-c", command], in: folder)
        let ending = try await compiler.ending()
        guard ending.status == 0 else { throw RunningProgram.TimedOut(description: "the camera: \(ending)") }
        return folder + "/camera"
    }
}
