// SPDX-License-Identifier: Apache-2.0

/// Why there is no L2CAP channel; a ceremony goes on through the relay then, so these are told and seldom fatal.
public enum L2CAPError: Error, Equatable, Sendable {
    /// The bus is not the system's own: its devices are made up, and the kernel's radio does not belong to them.
    case virtualRadio
    /// BlueZ does not tell how the device is reached.
    case addressUnknown
    /// The device did not answer in time.
    case timedOut
    /// The kernel refuses; with its words.
    case failed(String)

    /// The cause in a few words.
    public var words: String {
        switch self {
        case .virtualRadio: "the radio is virtual"
        case .addressUnknown: "the Bluetooth service does not tell the other device's address"
        case .timedOut: "the other device did not answer in time"
        case .failed(let words): words
        }
    }
}
