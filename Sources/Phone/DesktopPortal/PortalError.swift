// SPDX-License-Identifier: Apache-2.0

internal import HybridDBus

/// The reason why no screenshot could be taken.
package struct PortalError: Error, Hashable, Sendable {
    /// The cause and the remedy in one line.
    package let sentence: String

    /// No session bus answers.
    package static let noSessionBus = Self("there is no session bus; run this inside a desktop session, or use --image")
    /// There is no portal on the bus, and none could be started.
    package static let noPortal = Self(
        "this desktop has no portal; install xdg-desktop-portal, or use --image with a screenshot"
    )
    /// The portal cannot take screenshots because the desktop's backend is missing.
    package static let noScreenshots = Self(
        "this desktop's portal does not support screenshots; install its backend (such as xdg-desktop-portal-gnome), "
            + "or use --image with a screenshot"
    )
    /// The user declined.
    package static let declined = Self("you did not allow the screenshot")
    /// The user did not answer in time.
    package static let timedOut = Self("the screenshot was not allowed in time")
    /// The task was canceled.
    package static let interrupted = Self("interrupted")

    /// The portal or the bus failed for this reason.
    package static func failed(_ reason: String) -> PortalError { Self("no screenshot: \(reason)") }

    private init(_ sentence: String) { self.sentence = sentence }

    init(_ error: BusError) {
        switch error {
        case .notReachable: self = .noSessionBus
        case .timedOut: self = .failed("the desktop's portal does not answer")
        case .disconnected: self = .failed("the session bus closed the connection")
        case .cancelled: self = .interrupted
        case .refused(let name, let message): self.init(errorName: name, message: message)
        case .malformed(let reason): self = .failed(reason)
        }
    }

    private init(errorName name: String, message: String) {
        switch name {
        case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner":
            self = .noPortal
        case "org.freedesktop.DBus.Error.UnknownMethod", "org.freedesktop.DBus.Error.UnknownInterface",
            "org.freedesktop.DBus.Error.UnknownObject":
            self = .noScreenshots
        case "org.freedesktop.portal.Error.NotAllowed", "org.freedesktop.portal.Error.Cancelled": self = .declined
        default: self = .failed(message.isEmpty ? name : message)
        }
    }
}
