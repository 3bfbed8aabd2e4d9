// SPDX-License-Identifier: Apache-2.0

import HybridDBus
import HybridVirtualBlueZ
import Synchronization
import TestSupport
import Testing

@testable import HybridDesktopPortal

@Suite("The privacy settings of the desktop", .timeLimit(.minutes(10)))
struct PrivacyTests {
    /// Reads the setting from a portal with this reply; `nil` for a bus without a portal.
    private func hasTurnedOffCameras(_ reply: BusReply?, within limit: Duration = .seconds(60)) async throws -> Bool {
        let result = Mutex(false)
        try await PrivateBus.run { bus in
            let portal = try await BusConnection.connect(to: bus.busAddress) { message in
                let isRead =
                    message.path == ScreenshotPortal.path && message.interface == DesktopPrivacy.interface
                    && message.member == "Read"
                    && message.body == [.string("org.gnome.desktop.privacy"), .string("disable-camera")]
                return isRead ? reply ?? .unknownMethod : .unknownMethod
            }
            if reply != nil { _ = try await portal.requestName(ScreenshotPortal.name) }
            let isOff = await DesktopPrivacy.hasTurnedOffCameras(on: bus.busAddress, within: limit)
            result.withLock { $0 = isOff }
            await portal.close()
        }
        return result.withLock { $0 }
    }

    @Test("say whether cameras are turned off", arguments: [true, false])
    func known(isOff: Bool) async throws {
        // `Read` wraps the value twice; portals from version 2 on have `ReadOne`, which does not.
        #expect(try await hasTurnedOffCameras(.values([.variant(.variant(.bool(isOff)))])) == isOff)
        #expect(try await hasTurnedOffCameras(.values([.variant(.bool(isOff))])) == isOff)
    }

    @Test("permit cameras where the desktop has no such setting, or its portal is missing, silent or broken")
    func unknown() async throws {
        #expect(try await !hasTurnedOffCameras(nil))
        let missing = BusReply.error(name: "org.freedesktop.portal.Error.NotFound", message: "")
        #expect(try await !hasTurnedOffCameras(missing))
        #expect(try await !hasTurnedOffCameras(.values([])))
        #expect(try await !hasTurnedOffCameras(.values([.variant(.string("true"))])))
        #expect(try await !hasTurnedOffCameras(.later, within: .milliseconds(200)))
        let nowhere = BusAddress("unix:path=/nonexistent/bus")
        #expect(await !DesktopPrivacy.hasTurnedOffCameras(on: nowhere, within: .seconds(60)))
    }
}
