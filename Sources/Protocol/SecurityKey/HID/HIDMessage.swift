// SPDX-License-Identifier: Apache-2.0

/// A complete message on a channel.
struct HIDMessage {
    /// Maximum length in bytes: one initialization packet and 128 continuation packets.
    static let maximumLength = 57 + 128 * 59

    let channel: ChannelID
    let command: UInt8
    let payload: [UInt8]

    init(_ channel: ChannelID, _ command: HIDCommand, _ payload: [UInt8]) {
        self.channel = channel
        self.command = command.rawValue
        self.payload = payload
    }

    /// The message, cut into reports.
    ///
    /// The payload must not exceed ``maximumLength``.
    var reports: [HIDReport] {
        let length = [UInt8(truncatingIfNeeded: payload.count >> 8), UInt8(truncatingIfNeeded: payload.count)]
        var rest = payload[...]
        var reports = [HIDReport(header: channel.bytes + [command | 0x80] + length, data: rest)]
        rest = rest.dropFirst(57)
        var sequence: UInt8 = 0
        while !rest.isEmpty {
            reports.append(HIDReport(header: channel.bytes + [sequence], data: rest))
            rest = rest.dropFirst(59)
            sequence += 1
        }
        return reports
    }
}

/// A message of which packets are missing.
struct IncomingMessage {
    let command: HIDCommand
    private let length: Int
    private var payload: [UInt8]
    private var nextSequence: UInt8 = 0

    /// Creates a message from its first packet.
    init(_ command: HIDCommand, length: Int, data: ArraySlice<UInt8>) {
        self.command = command
        self.length = length
        payload = Array(data.prefix(length))
    }

    /// The payload if no packet is missing.
    var complete: [UInt8]? { payload.count == length ? payload : nil }

    /// Adds the next packet.
    ///
    /// - Returns: `false` if its sequence number is wrong.
    mutating func append(_ data: ArraySlice<UInt8>, sequence: UInt8) -> Bool {
        guard sequence == nextSequence else { return false }
        nextSequence += 1
        payload += data.prefix(length - payload.count)
        return true
    }
}

/// A command of the HID transport (CTAP 2.2 §11.2.9), without the top bit.
enum HIDCommand: UInt8 {
    /// Returns the message unchanged.
    case ping = 0x01
    /// Reserves the device for one channel for up to ten seconds.
    case lock = 0x04
    /// Allocates a channel, or resets one.
    case initialize = 0x06
    /// Draws the user's attention to the device.
    case wink = 0x08
    /// A CTAP2 command.
    case cbor = 0x10
    /// Cancels the pending CTAP2 command.
    case cancel = 0x11
    /// The device's report that a command is not answered yet.
    case keepalive = 0x3B
    /// The device's report of an error.
    case error = 0x3F

    /// Possible lengths of a request in bytes; `nil` if clients do not send this command.
    ///
    /// A cancellation of any length is one, because it has no answer.
    var requestLengths: ClosedRange<Int>? {
        switch self {
        case .ping: 0...HIDMessage.maximumLength
        case .lock: 1...1
        case .initialize: 8...8
        case .wink: 0...0
        case .cbor: 1...HIDMessage.maximumLength
        case .cancel: 0...Int(UInt16.max)
        case .keepalive, .error: nil
        }
    }
}

/// An error that ends a transaction (CTAP 2.2 §11.2.9.1.6).
public enum CTAPHIDError: UInt8, Sendable {
    /// The command is unknown or not supported.
    case invalidCommand = 0x01
    /// A parameter is out of range.
    case invalidParameter = 0x02
    /// The length does not fit the command.
    case invalidLength = 0x03
    /// A packet is missing, or two messages overlap.
    case invalidSequence = 0x04
    /// The next packet did not arrive in time.
    case messageTimeout = 0x05
    /// The device serves another request or is locked by another channel.
    case channelBusy = 0x06
    /// The command requires a lock; no command of this device does.
    case lockRequired = 0x0A
    /// The channel is not allocated.
    case invalidChannel = 0x0B
    /// Another error.
    case other = 0x7F
}

/// The content of a keepalive.
public enum KeepaliveStatus: UInt8, Sendable {
    /// The device processes the request.
    case processing = 0x01
    /// The device waits for its user.
    case userPresenceNeeded = 0x02
}
