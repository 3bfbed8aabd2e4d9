// SPDX-License-Identifier: Apache-2.0

import HybridCTAP
import HybridPrimitives
import HybridSecurityKey
import TestSupport

/// A device and an observer that tests each of its actions.
///
/// - Each request has exactly one final answer, unless its client resets the channel.
/// - Keepalives are sent only while a request is pending, and at most ten a second.
/// - The reports of a message are complete and in order.
struct ObservedDevice {
    private(set) var device: CTAPHIDDevice
    private(set) var now = Duration.zero
    /// Channels that INIT allocated, including those that the device has dropped since.
    private(set) var channels: [UInt32] = []
    /// Requests without a final answer, by their channels.
    private(set) var pending: [UInt32: TransactionID] = [:]
    /// Requests in the order of arrival.
    private(set) var requests: [(transaction: TransactionID, command: [UInt8])] = []
    private(set) var winks = 0

    private var reader = ReferenceReader()
    private var lastKeepalive: [TransactionID: Duration] = [:]
    /// The transaction that the current call refuses.
    private var refused: TransactionID?

    init(supportsWink: Bool = true) {
        let version = CTAPHIDDeviceVersion(major: 1, minor: 2, build: 3)
        device = CTAPHIDDevice(version: version, supportsWink: supportsWink)
    }

    /// Passes one report to the device and returns the messages that it sends.
    mutating func receive(_ report: [UInt8]) throws -> [ReferenceMessage] {
        guard let report = HIDReport(bytes: report) else { return [] }
        return try check(device.receive(report, at: now))
    }

    /// Passes all reports of a message to the device.
    mutating func receive(_ message: ReferenceMessage) throws -> [ReferenceMessage] {
        var messages: [ReferenceMessage] = []
        for report in message.reports { messages += try receive(report) }
        return messages
    }

    /// Allocates a channel.
    mutating func open() throws -> UInt32? {
        let nonce: [UInt8] = [1, 2, 3, 4, 5, 6, 7, UInt8(truncatingIfNeeded: channels.count)]
        let request = ReferenceMessage(channel: .max, command: 0x06, payload: nonce)
        for answer in try receive(request) where answer.channel == .max && answer.command == 0x06 {
            try invariant(answer.payload.count == 17 && answer.payload.starts(with: nonce), "INIT returns the nonce")
            let channel = answer.payload[8..<12].reduce(0) { $0 * 256 + UInt32($1) }
            try invariant(channel != 0 && channel != .max && !channels.contains(channel), "a channel is new")
            channels.append(channel)
            return channel
        }
        return nil
    }

    mutating func advance(by time: Duration) throws -> [ReferenceMessage] {
        now += time
        let messages = try check(device.advance(to: now))
        if let deadline = device.deadline { try invariant(deadline > now, "everything that is due is done") }
        return messages
    }

    mutating func answer(_ transaction: TransactionID, with response: CTAPResponse) throws -> [ReferenceMessage] {
        refused = transaction
        defer { refused = nil }
        return try check(device.answer(transaction, with: response))
    }

    mutating func refuse(_ transaction: TransactionID, with error: CTAPHIDError) throws -> [ReferenceMessage] {
        refused = transaction
        defer { refused = nil }
        return try check(device.refuse(transaction, with: error))
    }

    mutating func setStatus(_ status: KeepaliveStatus, of transaction: TransactionID) {
        device.setStatus(status, of: transaction)
    }

    private mutating func check(_ actions: [CTAPHIDAction]) throws -> [ReferenceMessage] {
        var messages: [ReferenceMessage] = []
        for action in actions {
            switch action {
            case .send(let report):
                guard let message = try reader.read(report.bytes) else { continue }
                try check(message)
                messages.append(message)
            case .request(let transaction, let command):
                let channel = transaction.channel.rawValue
                try invariant(pending[channel] == nil, "a channel has one request at a time")
                try invariant((1...7609).contains(command.count), "a request has 1 to 7,609 bytes")
                pending[channel] = transaction
                requests.append((transaction, command))
            case .ended(let transaction):
                pending[transaction.channel.rawValue] = nil
                try invariant(!device.isPending(transaction), "a transaction ends once")
            case .wink:
                winks += 1
            }
        }
        try invariant(reader.isIdle, "messages are complete")
        for transaction in pending.values { try invariant(device.isPending(transaction), "a request is answered") }
        try invariant(channels.filter { device.isOpen(ChannelID(rawValue: $0)) }.count <= 32, "channels are bounded")
        return messages
    }

    private mutating func check(_ message: ReferenceMessage) throws {
        let transaction = pending[message.channel]
        switch message.command {
        case 0x3B:
            let transaction = try present(transaction, "keepalives are sent for a pending request")
            try invariant(message.payload == [1] || message.payload == [2], "a keepalive has one of two states")
            if let last = lastKeepalive[transaction] {
                try invariant(now - last >= .milliseconds(100), "keepalives are sent every 100 ms")
            }
            lastKeepalive[transaction] = now
        case 0x10:
            try invariant(transaction != nil, "a response belongs to a request")
            pending[message.channel] = nil
        case 0x3F:
            try invariant(message.payload.count == 1, "an error has one byte")
            if let transaction, transaction == refused { pending[message.channel] = nil }
        case 0x01, 0x04, 0x06, 0x08:
            break
        default:
            throw BrokenInvariant(description: "broken: the device sends no command \(message.command)")
        }
    }
}
