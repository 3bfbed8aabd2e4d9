// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCommandSupport
internal import HybridDoctor

/// The checks of the virtual security key, with which browsers and other programs use the phone.
///
/// `show-qr` needs none of them, so they only warn.
enum SecurityKeyChecks {
    /// Performs the checks.
    static func run() -> [DoctorFinding] {
        let inspection = SecurityKeyInspection.inspect()
        guard inspection.hasHelper else {
            let reason = "not checked: hybrid-uhid.socket, a unit of hybrid-key, does not run here"
            return [DoctorFinding(.securityKeyHelper, .skipped, reason)]
        }
        return [module(inspection), helper, device(inspection)] + [snap, flatpak].compactMap(\.self)
    }

    private static func module(_ inspection: SecurityKeyInspection) -> DoctorFinding {
        guard inspection.hasModule else {
            return DoctorFinding(.uhidModule, .warning, "not loaded", remedy: "run: sudo modprobe uhid")
        }
        return DoctorFinding(.uhidModule, .fine, "loaded")
    }

    private static var helper: DoctorFinding {
        DoctorFinding(.securityKeyHelper, .fine, "\(SecurityKeyInspection.helperPath) is there")
    }

    private static func device(_ inspection: SecurityKeyInspection) -> DoctorFinding {
        if let device = inspection.usableDevice {
            return DoctorFinding(.securityKey, .fine, "programs of this user can open \(device.path)")
        }
        guard let device = inspection.virtualDevices.first else {
            return DoctorFinding(
                .securityKey,
                .warning,
                "there is no device",
                remedy: "run: systemctl --user enable --now hybrid-key, in a session at this computer"
            )
        }
        return DoctorFinding(
            .securityKey,
            .warning,
            "programs of this user can't open \(device.path)",
            remedy: "log in at this computer; see getfacl \(device.path)"
        )
    }

    // MARK: - Sandboxes

    /// Browsers and the names of their applications in Snap and Flatpak.
    private static let snaps = ["firefox", "chromium", "brave"]
    private static let flatpaks = [
        "org.mozilla.firefox", "org.chromium.Chromium", "com.google.Chrome", "com.brave.Browser", "com.microsoft.Edge",
    ]

    /// A finding about browsers from Snap; `nil` if there are none.
    private static var snap: DoctorFinding? {
        let found = snaps.filter { access("/snap/\($0)/current", F_OK) == 0 }
        guard let first = found.first else { return nil }
        return DoctorFinding(
            .snap,
            .warning,
            "\(found.joined(separator: ", ")): older versions of snapd permit only keys of known makers",
            remedy: "update snapd to a release with its pull request 17524 (August 2026), then: sudo snap connect "
                + "\(first):u2f-devices"
        )
    }

    /// A finding about browsers from Flatpak; `nil` if there are none.
    private static var flatpak: DoctorFinding? {
        let home = ProcessEnvironment.variables["HOME"].map { ["\($0)/.local/share/flatpak"] } ?? []
        let roots = home + ["/var/lib/flatpak"]
        let found = flatpaks.filter { name in roots.contains { access("\($0)/app/\(name)/current", F_OK) == 0 } }
        guard !found.isEmpty else { return nil }
        let closed = found.filter { name in
            let files = roots.flatMap { ["\($0)/app/\(name)/current/active/metadata", "\($0)/overrides/\(name)"] }
            return !files.contains(where: grantsAllDevices)
        }
        guard let first = closed.first else {
            return DoctorFinding(.flatpak, .fine, "\(found.joined(separator: ", ")) can use devices")
        }
        return DoctorFinding(
            .flatpak,
            .warning,
            "\(closed.joined(separator: ", ")) can't use security keys",
            remedy: "run: flatpak override --user --device=all \(first)"
        )
    }

    /// Returns true if a file of Flatpak has a line such as `devices=dri;all;`.
    private static func grantsAllDevices(_ path: String) -> Bool {
        guard let bytes = try? readWholeFile(path, atMost: 64 * 1024) else { return false }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").contains { line in
            line.hasPrefix("devices=") && line.dropFirst(8).split(separator: ";").contains("all")
        }
    }
}
