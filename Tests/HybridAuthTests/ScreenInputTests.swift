// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridDBus
import HybridVirtualBlueZ
import TestSupport
import Testing

/// `hybrid-auth scan --screen` with a fake portal on a private session bus.
@Suite("Scanning the screen", .timeLimit(.minutes(10)))
struct ScreenInputTests {
    private static let name = "org.freedesktop.portal.Desktop"

    /// Runs a portal that answers each screenshot request with a number and a URI, or never, and knows one setting.
    ///
    /// Like real portals, it refuses callers whose root directory it cannot open, where sandboxes describe themselves.
    static func portal(
        _ number: UInt32?,
        _ uri: String,
        hasCameras: Bool = true,
        on fixture: ScanFixture,
        _ body: (_ session: [String: String], _ asked: () -> Bool) async throws -> Void
    ) async throws {
        let bus = try await PrivateBus.start()
        let (messages, sink) = AsyncStream.makeStream(of: BusMessage.self)
        let log = fixture.folder + "/portal.log"
        let connection = try await BusConnection.connect(to: bus.busAddress) { message in
            sink.yield(message)
            return .later
        }
        _ = try await connection.requestName(name)
        let task = Task {
            for await message in messages {
                guard await isInspectable(message.sender, on: connection) else {
                    let denied = "org.freedesktop.DBus.Error.AccessDenied"
                    let reason = "Portal operation not allowed: Unable to open /proc/PID/root"
                    connection.reply(to: message, with: .error(name: denied, message: reason))
                    continue
                }
                guard message.member != "Read" else {
                    connection.reply(to: message, with: .values([.variant(.variant(.bool(!hasCameras)))]))
                    continue
                }
                let token = message.body.last?.fields?["handle_token"]?.text ?? ""
                let sender = message.sender.dropFirst().replacingOccurrences(of: ".", with: "_")
                let path = "/org/freedesktop/portal/desktop/request/\(sender)/\(token)"
                connection.reply(to: message, with: .values([.objectPath(path)]))
                try? Data(message.member.utf8).write(to: URL(fileURLWithPath: log))
                guard let number else { continue }
                let results = BusValue.properties(["uri": .string(uri)])
                connection.emit(path, "org.freedesktop.portal.Request", "Response", [.uint32(number), results])
            }
        }
        do {
            try await body(["DBUS_SESSION_BUS_ADDRESS": bus.address]) { fixture.exists("portal.log") }
        } catch {
            Issue.record(error)
        }
        task.cancel()
        await connection.close()
        await bus.close()
    }

    /// Returns true if the process that owns a name on the bus can be inspected.
    private static func isInspectable(_ name: String, on connection: BusConnection) async -> Bool {
        let bus = "org.freedesktop.DBus"
        let answer = try? await connection.call(
            bus,
            "/org/freedesktop/DBus",
            bus,
            "GetConnectionUnixProcessID",
            [.string(name)]
        )
        guard case .uint32(let process)? = answer?.first else { return false }
        return await (try? Inspection.isAllowed(of: Int32(process))) ?? false
    }

    @Test("Reads the code and removes the picture")
    func read() async throws {
        try await ScanFixture.with { fixture in
            let path = try fixture.write("run/shot.png", ScanFixture.picture([ScanFixture.code]))
            try await Self.portal(0, "file://\(path)", on: fixture) { session, _ in
                let ending = try await fixture.scan(["--screen"], session)
                #expect(ending.status == 69 && ending.lastLine.contains(ScanFixture.afterReading), "\(ending)")
                #expect(!fixture.exists("run/shot.png"))
            }
        }
    }

    @Test("Removes the picture also if it shows no code")
    func nothing() async throws {
        try await ScanFixture.with { fixture in
            let path = try fixture.write("run/shot.png", ScanFixture.picture([]))
            try await Self.portal(0, "file://\(path)", on: fixture) { session, _ in
                let ending = try await fixture.scan(["--screen"], session)
                #expect(ending.status == 65 && ending.lastLine.contains("the screenshot: no QR code"), "\(ending)")
                #expect(!fixture.exists("run/shot.png"))
            }
        }
    }

    @Test("Distinguishes the causes of failures")
    func causes() async throws {
        try await ScanFixture.with { fixture in
            let noBus = try await fixture.scan(["--screen"])
            #expect(noBus.status == 69 && noBus.lastLine.contains("no session bus"), "\(noBus)")
            try await Self.portal(1, "", on: fixture) { session, _ in
                let declined = try await fixture.scan(["--screen"], session)
                #expect(declined.status == 77 && declined.lastLine.contains("did not allow"), "\(declined)")
            }
            try await Self.portal(0, "file:///nonexistent/shot.png", on: fixture) { session, _ in
                let missing = try await fixture.scan(["--screen"], session)
                #expect(missing.status == 66 && missing.lastLine.contains("the screenshot: there is no such file"))
            }
            let bus = try await PrivateBus.start()
            let noPortal = try await fixture.scan(["--screen"], ["DBUS_SESSION_BUS_ADDRESS": bus.address])
            #expect(noPortal.status == 69 && noPortal.lastLine.contains("no portal"), "\(noPortal)")
            await bus.close()
        }
    }

    @Test("Can be inspected by other programs only before it has read the code")
    func inspection() async throws {
        try await ScanFixture.with { fixture in
            let path = try fixture.write("run/shot.png", ScanFixture.picture([ScanFixture.code]))
            // With the code, the program waits for the system bus.
            let bus = try UnresponsiveSocket(path: fixture.folder + "/no-bus")
            try await Self.portal(0, "file://\(path)", on: fixture) { session, _ in
                let program = try fixture.start(["scan", "--tunnel-domain", "266", "--screen"], session)
                try await Waiting.until("the code was read", evidence: program.errors) {
                    !fixture.exists("run/shot.png")
                }
                #expect(try await !Inspection.isAllowed(of: program.identifier))
                program.send(SIGINT)
                #expect(try await program.ending().status == 130)
            }
            withExtendedLifetime(bus) {}
        }
    }

    @Test("Ctrl-C interrupts the portal's prompt")
    func interrupted() async throws {
        try await ScanFixture.with { fixture in
            try await Self.portal(nil, "", on: fixture) { session, asked in
                let program = try fixture.start(["scan", "--tunnel-domain", "266", "--screen"], session)
                try await Waiting.until("the portal was asked") { asked() }
                program.send(SIGINT)
                let ending = try await program.ending()
                #expect(ending.status == 130 && ending.lastLine.contains("interrupted"), "\(ending)")
            }
        }
    }
}
