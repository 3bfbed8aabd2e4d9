// SPDX-License-Identifier: Apache-2.0

package import HybridDBus

/// The user's privacy settings, through the XDG Desktop Portal (`org.freedesktop.portal.Settings`).
package enum DesktopPrivacy {
    static let interface = "org.freedesktop.portal.Settings"
    static let cameras = (group: "org.gnome.desktop.privacy", key: "disable-camera")

    /// Returns true if the user has turned off cameras for programs.
    ///
    /// The desktop itself stops no program that is not sandboxed.
    ///
    /// - Parameters:
    ///   - address: The session bus.
    ///   - limit: The time within which the portal must answer. It may have to start first.
    /// - Returns: `false` also if it is not known: on desktops without this setting, and without a portal.
    package static func hasTurnedOffCameras(on address: BusAddress, within limit: Duration) async -> Bool {
        let reply = try? await BusConnection.with(address) { connection throws(BusError) in
            // Later versions of the portal still have this method.
            try await connection.call(
                ScreenshotPortal.name,
                ScreenshotPortal.path,
                interface,
                "Read",
                [.string(cameras.group), .string(cameras.key)],
                timeout: limit
            )
        }
        return reply?.first?.flag ?? false
    }
}
