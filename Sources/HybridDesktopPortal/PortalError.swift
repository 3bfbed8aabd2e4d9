// SPDX-License-Identifier: Apache-2.0

internal import HybridSystemBus

/// The reason why there is no screenshot.
public struct PortalError: Error, Hashable, Sendable {
    /// The cause and the remedy in one line.
    public let sentence: String

    /// No session bus answers.
    public static let noSessionBus = PortalError(
        sentence: "there is no session bus; run this inside a desktop session, or use --image"
    )
    /// There is no portal on the bus, and none could be started.
    public static let noPortal = PortalError(
        sentence: "this desktop has no portal; install xdg-desktop-portal, or use --image with a screenshot"
    )
    /// The portal cannot take screenshots because the desktop's backend is missing.
    public static let noScreenshots = PortalError(
        sentence: "this desktop's portal takes no screenshots; install its backend (such as xdg-desktop-portal-gnome), "
            + "or use --image with a screenshot"
    )
    /// The user declined.
    public static let declined = PortalError(sentence: "you did not allow the screenshot")
    /// The user did not answer in time.
    public static let timedOut = PortalError(sentence: "the screenshot was not allowed in time")
    /// The task was cancelled.
    public static let interrupted = PortalError(sentence: "interrupted")

    /// The portal failed.
    public static func failed(_ reason: String) -> PortalError { PortalError(sentence: "no screenshot: \(reason)") }

    private init(sentence: String) { self.sentence = sentence }

    init(_ error: BusError) {
        switch error.kind {
        case .notReachable: self = .noSessionBus
        case .timedOut: self = .failed("the desktop's portal does not answer")
        case .disconnected: self = .failed("the session bus went away")
        case .cancelled: self = .interrupted
        case .refused: self.init(errorName: error.name, message: error.message)
        default: self = .failed(error.message)
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
