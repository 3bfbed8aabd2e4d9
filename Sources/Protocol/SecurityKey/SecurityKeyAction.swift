// SPDX-License-Identifier: Apache-2.0

public import HybridCTAP

/// An action that ``SecurityKey`` asks for.
public enum SecurityKeyAction: Equatable, Sendable {
    /// Sends a report to the clients.
    case send(HIDReport)
    /// Opens a window in which the user selects this key; ``SecurityKey/windowEnded(_:by:at:)`` reports the result.
    case askPresence(WindowID)
    /// Opens a window and starts a ceremony with the phone; ``SecurityKey/phoneEnded(_:with:at:)`` reports its end.
    ///
    /// If `afterConfirmation` is true, another FIDO device may have received the same request. The window then first
    /// offers to use the phone, and shows the code after the user has agreed.
    ///
    /// If `isForGuest` is true, a website or a sandboxed program may have sent the request. A phone that is known to this
    /// computer must then be contacted only after the user has agreed in the window.
    case askPhone(WindowID, PhoneRequest, afterConfirmation: Bool, isForGuest: Bool)
    /// Closes a window and ends its ceremony; the window may be closed already.
    ///
    /// The status is the one that the client receives. It is `CTAP2_ERR_KEEPALIVE_CANCEL` if the client has cancelled
    /// the request or reset its channel.
    case closeWindow(WindowID, CTAPStatus)
    /// Saves ``SecurityKey/memory``.
    case memoryChanged
}

/// The name of a window; never used twice by one key.
public struct WindowID: RawRepresentable, Hashable, Sendable {
    /// The number.
    public let rawValue: Int

    /// Creates an ID from its number.
    public init(rawValue: Int) { self.rawValue = rawValue }
}

/// The user's action in a window.
public enum WindowEnd: Sendable {
    /// The user selected this key.
    case confirmation
    /// The user closed the window, also after reading a message.
    case closing
    /// The user has not acted in time, or could not be asked.
    case timeout
}

/// The end of a ceremony with the phone.
public enum PhoneCeremonyOutcome: Equatable, Sendable {
    /// The phone sent its response.
    case responded(CTAPResponse)
    /// There was no response: no phone, no relay, no radio. The window shows the reason until the user closes it.
    case failed
}
