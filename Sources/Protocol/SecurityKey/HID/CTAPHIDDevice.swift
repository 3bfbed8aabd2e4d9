// SPDX-License-Identifier: Apache-2.0

public import HybridCTAP

/// The device's side of CTAPHID: reports and the time come in, actions come out.
///
/// Several clients use the device at once, each on its own channel. The channels are independent: a message on one
/// never waits for a message or a request on another. Only the owner of a lock excludes the others.
///
/// A **transaction** begins when a CTAP2 command is complete, which ``CTAPHIDAction/request(_:_:)`` reports. It ends
/// with exactly one of:
/// - ``answer(_:with:)`` or ``refuse(_:with:)``;
/// - the client's cancellation, which this type answers with `CTAP2_ERR_KEEPALIVE_CANCEL`;
/// - the client's reset of its channel, which leaves the request without an answer.
///
/// Until then, keepalives are due: one at once and then every 100 ms. ``advance(to:)`` sends them.
///
/// Times are durations since any fixed moment, from a clock that never goes back.
public struct CTAPHIDDevice: Sendable {
    /// Maximum number of channels; a new one replaces the idle one that was used least recently.
    public static let maximumChannels = 32
    /// Maximum time between two packets of a message.
    public static let messageTimeout = Duration.milliseconds(500)
    /// Time between two keepalives.
    public static let keepaliveInterval = Duration.milliseconds(100)
    /// Maximum number of seconds that a lock lasts.
    public static let maximumLockSeconds: UInt8 = 10

    private let version: CTAPHIDDeviceVersion
    private let supportsWink: Bool
    private var channels: [Channel] = []
    private var lastChannel: UInt32 = 0
    private var lastTransaction: UInt64 = 0
    private var budget = HIDReplyBudget()
    private var lock: (owner: ChannelID, end: Duration)?

    /// Creates a device without channels.
    ///
    /// - Parameters:
    ///   - version: The version that clients see.
    ///   - supportsWink: True if the program handles ``CTAPHIDAction/wink``.
    public init(version: CTAPHIDDeviceVersion, supportsWink: Bool) {
        self.version = version
        self.supportsWink = supportsWink
    }

    /// The moment at which ``advance(to:)`` has something to do; `nil` if no message and no request is pending.
    public var deadline: Duration? { channels.compactMap(\.deadline).min() }

    /// Returns true if a channel is allocated.
    public func isOpen(_ channel: ChannelID) -> Bool { index(of: channel) != nil }

    /// Returns true if a transaction has no final answer yet.
    public func isPending(_ transaction: TransactionID) -> Bool { index(of: transaction) != nil }

    /// Processes a report of a client.
    public mutating func receive(_ report: HIDReport, at now: Duration) -> [CTAPHIDAction] {
        let due = advance(to: now)
        let actions =
            switch report.packet {
            case .initialization(let command, let length, let data):
                begin(command, length: length, data: data, on: report.channel, at: now)
            case .continuation(let sequence, let data):
                proceed(sequence, data: data, on: report.channel, at: now)
            }
        // Otherwise, a program that floods the device with PINGs would fill the queue of reports, and the device would end.
        let reports = actions.count { if case .send = $0 { true } else { false } }
        guard budget.take(reports, at: now) else {
            return due + actions.filter { if case .send = $0 { false } else { true } }
        }
        return due + actions
    }

    /// Ends messages whose next packet is late, and sends the keepalives that are due.
    public mutating func advance(to now: Duration) -> [CTAPHIDAction] {
        if let lock, lock.end <= now { self.lock = nil }
        var actions: [CTAPHIDAction] = []
        for index in channels.indices {
            let id = channels[index].id
            if let incoming = channels[index].incoming, incoming.deadline <= now {
                channels[index].incoming = nil
                actions += Self.send(id, .messageTimeout)
            }
            if let pending = channels[index].pending, pending.nextKeepalive <= now {
                channels[index].pending?.nextKeepalive = now + Self.keepaliveInterval
                actions += Self.send(id, .keepalive, [pending.status.rawValue])
            }
        }
        return actions
    }

    /// Ends a transaction with a response; does nothing if it has ended already.
    public mutating func answer(_ transaction: TransactionID, with response: CTAPResponse) -> [CTAPHIDAction] {
        guard let index = index(of: transaction) else { return [] }
        channels[index].pending = nil
        let payload = response.encoded
        guard payload.count <= HIDMessage.maximumLength else { return Self.send(transaction.channel, .other) }
        let reports = Self.send(transaction.channel, .cbor, payload)
        budget.charge(reports.count)
        return reports
    }

    /// Ends a transaction with an error of the transport; does nothing if it has ended already.
    public mutating func refuse(_ transaction: TransactionID, with error: CTAPHIDError) -> [CTAPHIDAction] {
        guard let index = index(of: transaction) else { return [] }
        channels[index].pending = nil
        return Self.send(transaction.channel, error)
    }

    /// Sets the content of a transaction's keepalives, which is ``KeepaliveStatus/processing`` at first.
    public mutating func setStatus(_ status: KeepaliveStatus, of transaction: TransactionID) {
        guard let index = index(of: transaction) else { return }
        channels[index].pending?.status = status
    }
}

// MARK: - Messages

extension CTAPHIDDevice {
    private mutating func begin(
        _ byte: UInt8,
        length: Int,
        data: ArraySlice<UInt8>,
        on channel: ChannelID,
        at now: Duration
    ) -> [CTAPHIDAction] {
        let command = HIDCommand(rawValue: byte)
        if channel == .broadcast, command == .initialize {
            return length == 8 ? allocate(nonce: data.prefix(8), at: now) : Self.send(channel, .invalidLength)
        }
        guard let index = index(of: channel) else { return Self.send(channel, .invalidChannel) }
        channels[index].lastUse = now
        if command != .initialize {
            guard channels[index].incoming == nil else {
                channels[index].incoming = nil
                return Self.send(channel, .invalidSequence)
            }
            if command == .cancel { return cancel(index) }
            guard channels[index].pending == nil, lock == nil || lock?.owner == channel else {
                return Self.send(channel, .channelBusy)
            }
        }
        guard let command, let lengths = command.requestLengths else { return Self.send(channel, .invalidCommand) }
        guard lengths.contains(length) else { return Self.send(channel, .invalidLength) }
        let message = IncomingMessage(command, length: length, data: data)
        return finish(message, index, at: now)
    }

    private mutating func proceed(
        _ sequence: UInt8,
        data: ArraySlice<UInt8>,
        on channel: ChannelID,
        at now: Duration
    ) -> [CTAPHIDAction] {
        // Packets that belong to no message are remains of one that has failed already.
        guard let index = index(of: channel), var message = channels[index].incoming?.message else { return [] }
        channels[index].lastUse = now
        channels[index].incoming = nil
        guard message.append(data, sequence: sequence) else { return Self.send(channel, .invalidSequence) }
        return finish(message, index, at: now)
    }

    /// Handles the message if it is complete, and waits for its next packet otherwise.
    private mutating func finish(_ message: IncomingMessage, _ index: Int, at now: Duration) -> [CTAPHIDAction] {
        guard let payload = message.complete else {
            channels[index].incoming = (message, now + Self.messageTimeout)
            return []
        }
        let channel = channels[index].id
        switch message.command {
        case .ping:
            return Self.send(channel, .ping, payload)
        case .initialize:
            let ended = reset(index)
            return ended + Self.send(channel, .initialize, initialization(nonce: payload[...], channel))
        case .wink:
            return supportsWink ? [.wink] + Self.send(channel, .wink, []) : Self.send(channel, .invalidCommand)
        case .lock:
            guard let seconds = payload.first, seconds <= Self.maximumLockSeconds else {
                return Self.send(channel, .invalidParameter)
            }
            lock = seconds == 0 ? nil : (channel, now + .seconds(Int(seconds)))
            return Self.send(channel, .lock, [])
        case .cbor:
            // Like a PING: descriptions and answers to silent questions cost the sender nothing.
            guard budget.hasRoom(at: now) else { return [] }
            lastTransaction += 1
            let transaction = TransactionID(channel: channel, number: lastTransaction)
            channels[index].pending = Channel.Pending(transaction: transaction, nextKeepalive: now)
            return [.request(transaction, payload)]
        case .cancel, .keepalive, .error:
            return []
        }
    }

    private mutating func cancel(_ index: Int) -> [CTAPHIDAction] {
        // A cancellation that arrives after the answer has no answer of its own.
        guard let transaction = channels[index].pending?.transaction else { return [] }
        return answer(transaction, with: .failure(.keepaliveCancel)) + [.ended(transaction)]
    }

    private mutating func reset(_ index: Int) -> [CTAPHIDAction] {
        defer {
            channels[index].incoming = nil
            channels[index].pending = nil
        }
        return channels[index].pending.map { [.ended($0.transaction)] } ?? []
    }

    private static func send(_ channel: ChannelID, _ command: HIDCommand, _ payload: [UInt8]) -> [CTAPHIDAction] {
        HIDMessage(channel, command, payload).reports.map { .send($0) }
    }

    private static func send(_ channel: ChannelID, _ error: CTAPHIDError) -> [CTAPHIDAction] {
        send(channel, .error, [error.rawValue])
    }
}

// MARK: - Channels

extension CTAPHIDDevice {
    private mutating func allocate(nonce: ArraySlice<UInt8>, at now: Duration) -> [CTAPHIDAction] {
        if channels.count >= Self.maximumChannels {
            let idle = channels.indices.filter { channels[$0].isIdle && channels[$0].id != lock?.owner }
            guard let oldest = idle.min(by: { channels[$0].lastUse < channels[$1].lastUse }) else {
                return Self.send(.broadcast, .channelBusy)
            }
            channels.remove(at: oldest)
        }
        repeat {
            lastChannel &+= 1
        } while lastChannel == 0 || lastChannel == ChannelID.broadcast.rawValue
            || isOpen(ChannelID(rawValue: lastChannel))
        let id = ChannelID(rawValue: lastChannel)
        channels.append(Channel(id: id, lastUse: now))
        return Self.send(.broadcast, .initialize, initialization(nonce: nonce, id))
    }

    /// Returns the response to INIT: 17 bytes.
    private func initialization(nonce: ArraySlice<UInt8>, _ channel: ChannelID) -> [UInt8] {
        // Bits: 01 WINK, 04 CBOR, 08 no MSG.
        let capabilities: UInt8 = supportsWink ? 0x0D : 0x0C
        return nonce + channel.bytes + [2, version.major, version.minor, version.build, capabilities]
    }

    private func index(of channel: ChannelID) -> Int? { channels.firstIndex { $0.id == channel } }

    private func index(of transaction: TransactionID) -> Int? {
        channels.firstIndex { $0.pending?.transaction == transaction }
    }

    /// A channel, with the message that arrives and the request that waits.
    private struct Channel {
        struct Pending {
            let transaction: TransactionID
            var status = KeepaliveStatus.processing
            var nextKeepalive: Duration
        }

        let id: ChannelID
        var lastUse: Duration
        var incoming: (message: IncomingMessage, deadline: Duration)?
        var pending: Pending?

        var isIdle: Bool { incoming == nil && pending == nil }

        var deadline: Duration? { [incoming?.deadline, pending?.nextKeepalive].compactMap(\.self).min() }
    }
}

/// An action that ``CTAPHIDDevice`` asks for.
public enum CTAPHIDAction: Hashable, Sendable {
    /// Sends a report to the clients.
    case send(HIDReport)
    /// Begins a transaction: the bytes are a CTAP2 command and its parameters, 1 to 7,609 bytes.
    case request(TransactionID, [UInt8])
    /// Stops the work for a transaction that its client has cancelled or given up.
    case ended(TransactionID)
    /// Draws the user's attention.
    case wink
}

/// A CTAP2 command on a channel; never used twice by one device.
public struct TransactionID: Hashable, Sendable {
    /// The channel of the client.
    public let channel: ChannelID
    private let number: UInt64

    init(channel: ChannelID, number: UInt64) {
        self.channel = channel
        self.number = number
    }
}

/// The version of a device, as in the response to INIT.
public struct CTAPHIDDeviceVersion: Hashable, Sendable {
    /// The first part.
    public let major: UInt8
    /// The second part.
    public let minor: UInt8
    /// The third part.
    public let build: UInt8

    /// Creates a version from its parts.
    public init(major: UInt8, minor: UInt8, build: UInt8) {
        self.major = major
        self.minor = minor
        self.build = build
    }
}
