// SPDX-License-Identifier: Apache-2.0

package import HybridPrimitives

/// The reason why a fingerprint does not replace the PIN.
///
/// The raw values are part of the agent's protocol and never change.
package enum FingerprintFailure: UInt8, ExplainedFailure, CaseIterable {
    // The sensor.
    /// No fprintd on the system bus.
    case serviceMissing = 1
    /// fprintd knows no device, or no longer has the one in use.
    case noDevice = 2
    /// Another program has claimed the device.
    case inUse = 3
    /// The user has no fingers enrolled.
    case noEnrolledPrints = 4
    /// polkit does not allow this user or session to verify.
    case permissionDenied = 5
    /// The device was disconnected during a verification.
    case disconnected = 6
    /// The device or fprintd failed.
    case sensorError = 7
    /// No match within the time limit.
    case timedOut = 8
    /// The bus is not the system's own, so its fprintd proves nothing.
    case busUnverified = 9

    // The key.
    /// The agent has no key of this vault.
    case noKey = 16
    /// The key was held for too long.
    case expired = 17
    /// The computer was suspended.
    case suspended = 18
    /// Three fingers did not match.
    case tooManyMisses = 19
    /// The enrolled fingers are not those of the time of `vault finger enable`.
    case fingersChanged = 20
    /// Another request waits for a finger.
    case busy = 21
    /// The last session of the user ended.
    case loggedOut = 22
    /// The agent holds the keys of as many other vaults as it can.
    case full = 23

    // The agent.
    /// No agent answers at the socket.
    case agentMissing = 32
    /// The kernel does not lock memory for the agent.
    case memoryNotLocked = 33
    /// The other end does not follow the protocol.
    case malformed = 34
    /// The waiting task or the client is gone.
    case cancelled = 35

    /// The identifier of the cause for programs.
    package var code: String {
        switch self {
        case .serviceMissing: "fprintd-missing"
        case .noDevice: "no-fingerprint-sensor"
        case .inUse: "fingerprint-sensor-in-use"
        case .noEnrolledPrints: "no-enrolled-fingers"
        case .permissionDenied: "fingerprint-not-permitted"
        case .disconnected: "fingerprint-sensor-disconnected"
        case .sensorError: "fingerprint-sensor-failed"
        case .timedOut: "fingerprint-timeout"
        case .busUnverified: "bus-not-verified"
        case .noKey: "pin-needed-first"
        case .expired: "pin-needed-after-time"
        case .suspended: "pin-needed-after-suspend"
        case .tooManyMisses: "pin-needed-after-misses"
        case .fingersChanged: "enrolled-fingers-changed"
        case .busy: "fingerprint-busy"
        case .loggedOut: "pin-needed-after-logout"
        case .full: "agent-full"
        case .agentMissing: "agent-not-running"
        case .memoryNotLocked: "memory-not-locked"
        case .malformed: "agent-protocol"
        case .cancelled: "cancelled"
        }
    }

    /// The cause and the remedy on one line.
    package var sentence: String {
        switch self {
        case .serviceMissing: "fprintd does not answer on the system bus; install the package fprintd"
        case .noDevice: "fprintd finds no fingerprint sensor; connect it, or check fprintd-list"
        case .inUse: "another program uses the fingerprint sensor; close it, such as a lock screen, and try again"
        case .noEnrolledPrints: "no finger is enrolled; run fprintd-enroll"
        case .permissionDenied:
            "polkit does not allow the use of the fingerprint sensor; work in an active session at this computer"
        case .disconnected: "the fingerprint sensor was disconnected; connect it again, or type the PIN"
        case .sensorError: "the fingerprint sensor failed; try again, or type the PIN"
        case .timedOut: "no finger matched in time; type the PIN"
        case .busUnverified:
            "the system's bus can't be verified, so its fingerprint sensor proves nothing; see docs/fingerprint.md"
        case .noKey: "the PIN is needed once before a fingerprint; type the PIN"
        case .expired: "the PIN is needed again after \(KeyCustody.lifetimeHours) hours; type the PIN"
        case .suspended: "the PIN is needed again after suspend; type the PIN"
        case .tooManyMisses: "the finger did not match \(KeyCustody.maximumMisses) times; type the PIN"
        case .fingersChanged:
            "the enrolled fingers have changed; if you changed them, run hybrid-auth vault finger enable"
        case .busy: "another request waits for a finger; finish it first"
        case .loggedOut: "the PIN is needed again after a logout; type the PIN"
        case .full:
            "the vault agent holds the keys of \(KeyCustody.maximumKeys) other vaults; type the PIN, or restart the agent"
        case .agentMissing:
            "the vault agent is not running; run systemctl --user enable --now hybrid-auth-agent.socket"
        case .memoryNotLocked: "the vault agent is not permitted to lock memory; raise its limit (LimitMEMLOCK=)"
        case .malformed: "the vault agent does not follow the protocol; update hybrid-auth and restart the agent"
        case .cancelled: "the wait for a finger was cancelled"
        }
    }

    /// The exit status of a command that ends with this failure.
    package var status: ExitStatus {
        switch self {
        case .serviceMissing, .noDevice, .disconnected, .sensorError, .busUnverified, .agentMissing, .memoryNotLocked:
            .unavailable
        case .inUse, .timedOut, .busy, .full, .cancelled: .temporary
        case .noEnrolledPrints, .permissionDenied, .noKey, .expired, .suspended, .tooManyMisses, .fingersChanged,
            .loggedOut:
            .notPermitted
        case .malformed: .dataError
        }
    }
}
