// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridDBus
import HybridDesktopPortal
import TestSupport
import Testing

@Suite("A screenshot through the portal", .timeLimit(.minutes(10)))
struct ScreenshotTests {
    private static let shot: [String: BusValue] = ["uri": .string("file:///tmp/a%20picture.png")]

    /// Returns the error of a request to a portal with this behavior, or `nil` if it succeeds.
    private func failure(_ behavior: StandInPortal.Behavior?) async throws -> PortalError? {
        let box = Box()
        try await StandInPortal.serve(behavior) { address, _ in
            do throws(PortalError) {
                _ = try await ScreenshotPortal.take(on: address, within: .seconds(60))
            } catch {
                await box.set(error)
            }
        }
        return await box.error
    }

    private actor Box {
        var error: PortalError?
        func set(_ error: PortalError) { self.error = error }
    }

    @Test(
        "is the file that the portal names, whether the response follows or precedes the return of the call",
        arguments: [false, true]
    )
    func taken(early: Bool) async throws {
        try await StandInPortal.serve(.answers(0, Self.shot, early: early)) { address, _ in
            let file = try await ScreenshotPortal.take(on: address, within: .seconds(60))
            #expect(file.path == "/tmp/a picture.png")
        }
    }

    @Test("is accepted from the portal only")
    func impostor() async throws {
        try await StandInPortal.serve(.isPreceded(Self.shot)) { address, _ in
            let file = try await ScreenshotPortal.take(on: address, within: .seconds(60))
            #expect(file.path == "/tmp/a picture.png")
        }
    }

    @Test("fails with an error for each cause")
    func causes() async throws {
        #expect(try await failure(nil) == .noPortal)
        #expect(try await failure(.refuses("org.freedesktop.DBus.Error.UnknownMethod")) == .noScreenshots)
        #expect(try await failure(.refuses("org.freedesktop.portal.Error.NotAllowed")) == .declined)
        #expect(try await failure(.refuses("org.example.Broken")) == .failed("org.example.Broken"))
        #expect(try await failure(.answers(1, [:])) == .declined)
        #expect(try await failure(.isOld) == .failed("the portal is too old"))
        let failed = PortalError.failed("the desktop's portal could not take one")
        #expect(try await failure(.answers(2, Self.shot)) == failed)
        let unnamed = PortalError.failed("the desktop's portal named no file")
        #expect(try await failure(.answers(0, [:])) == unnamed)
        #expect(try await failure(.answers(0, ["uri": .uint32(1)])) == unnamed)
        #expect(try await failure(.answers(0, ["uri": .string("https://example.com/a.png")])) == unnamed)
        await #expect(throws: PortalError.noSessionBus) {
            try await ScreenshotPortal.take(on: BusAddress("unix:path=/nonexistent/bus"), within: .seconds(60))
        }
    }

    @Test("closes the portal's window on timeout and cancellation")
    func closed() async throws {
        try await StandInPortal.serve(.waits) { address, portal in
            await #expect(throws: PortalError.timedOut) {
                try await ScreenshotPortal.take(on: address, within: .milliseconds(50))
            }
            try await Waiting.until("the portal was asked to close") { portal?.wasClosed == true }
        }
        try await StandInPortal.serve(.waits) { address, portal in
            let task = Task { try await ScreenshotPortal.take(on: address, within: .seconds(60)) }
            try await Waiting.until("the portal was asked") { portal?.wasAsked == true }
            task.cancel()
            await #expect(throws: PortalError.interrupted) { try await task.value }
            try await Waiting.until("the portal was asked to close") { portal?.wasClosed == true }
        }
    }

    @Test(
        "has a URI of a local file",
        arguments: [
            ("file:///tmp/a.png", "/tmp/a.png"), ("FILE:///tmp/a.png", "/tmp/a.png"), ("file:/a", "/a"),
            ("file://localhost/a%C3%A4", "/aä"), ("file:///a%2fb", "/a/b"), ("file:///a?b#c", "/a?b#c"),
        ]
    )
    func uris(uri: String, path: String) {
        #expect(ScreenshotFile(uri: uri)?.path == path)
    }

    @Test(
        "cannot have another URI",
        arguments: [
            "", "file:", "file:a", "file://", "file://host/a", "file://localhost", "http:///a", "/tmp/a", "file:///%",
            "file:///%0", "file:///%zz", "file:///a%00b", "file:///%FF",
            "file:///" + String(repeating: "a", count: 20_000),
        ]
    )
    func otherURIs(uri: String) {
        #expect(ScreenshotFile(uri: uri) == nil)
    }

    @Test("is removed if it is temporary and kept among a user's pictures")
    func removal() throws {
        let folder = FileManager.default.temporaryDirectory.path + "/portal-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: "\(folder)/run", withIntermediateDirectories: true)
        func file(_ path: String) throws -> ScreenshotFile {
            try Data("x".utf8).write(to: URL(fileURLWithPath: path))
            return try #require(ScreenshotFile(uri: "file://\(path)"))
        }
        let environment = ["XDG_RUNTIME_DIR": "\(folder)/run", "HOME": folder]
        // Files below /tmp cannot show that a file is kept, because /tmp is temporary itself.
        let inside = try file("\(folder)/run/a.png")
        #expect(inside.removeIfTemporary(environment))
        #expect(!FileManager.default.fileExists(atPath: inside.path))
        #expect(!inside.removeIfTemporary(environment), "it has been removed")
        let folderItself = try #require(ScreenshotFile(uri: "file://\(folder)/run"))
        #expect(!folderItself.removeIfTemporary(environment))
        try FileManager.default.createSymbolicLink(atPath: "\(folder)/run/link", withDestinationPath: "/etc/hostname")
        let link = try #require(ScreenshotFile(uri: "file://\(folder)/run/link"))
        #expect(!link.removeIfTemporary(environment))
        // In memory, but not in a directory for temporary files.
        let pictures = "/dev/shm/portal-\(UUID().uuidString.prefix(8)).png"
        defer { try? FileManager.default.removeItem(atPath: pictures) }
        let kept = try file(pictures)
        #expect(!kept.removeIfTemporary(environment))
        #expect(FileManager.default.fileExists(atPath: pictures))
    }

    @Test("uses the session bus")
    func sessionBus() {
        #expect(SessionBus.address(["DBUS_SESSION_BUS_ADDRESS": "unix:path=/a,guid=1"])?.text == "unix:path=/a,guid=1")
        let standard = SessionBus.address(["DBUS_SESSION_BUS_ADDRESS": "", "XDG_RUNTIME_DIR": "/run/user/7"])
        #expect(standard?.text == "unix:path=/run/user/7/bus")
        #expect(SessionBus.address([:]) == nil && SessionBus.address(["XDG_RUNTIME_DIR": "run"]) == nil)
    }
}
