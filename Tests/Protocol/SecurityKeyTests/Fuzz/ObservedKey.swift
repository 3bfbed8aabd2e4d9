// SPDX-License-Identifier: Apache-2.0

import HybridCBOR
import HybridCTAP
import HybridPrimitives
import HybridSecurityKey
import TestSupport

/// A security key and an observer that tests each of its actions.
///
/// - At most one window is open, and at most three open in a minute.
/// - Each request has exactly one final answer, unless its client resets the channel.
/// - Keepalives are sent only while a window is open, for the request that opened it.
/// - The phone receives canonical requests for registration and sign-in only, with user verification.
struct ObservedKey {
    var key: SecurityKey
    private(set) var now = Duration.zero
    /// Channels that INIT allocated, including those that the key has dropped since.
    private(set) var channels: [UInt32] = []
    /// Actions other than reports, in their order.
    private(set) var actions: [SecurityKeyAction] = []
    /// The open window, the channel whose request opened it, and the request for the phone if there is one.
    private(set) var window: (id: WindowID, owner: UInt32, phone: PhoneRequest?)?

    private var reader = ReferenceReader()
    private var openings: [Duration] = []

    init(_ key: SecurityKey) { self.key = key }

    /// Allocates a channel.
    mutating func open() throws -> UInt32 {
        let nonce = [UInt8](repeating: UInt8(truncatingIfNeeded: channels.count), count: 8)
        for answer in try receive(.max, 0x06, nonce) where answer.command == 0x06 {
            channels.append(answer.payload[8..<12].reduce(0) { $0 * 256 + UInt32($1) })
        }
        return try present(channels.last, "INIT allocates a channel")
    }

    /// Sends a message of a client and returns the messages of the key.
    mutating func receive(_ channel: UInt32, _ command: UInt8, _ payload: [UInt8]) throws -> [ReferenceMessage] {
        let wasOwner = window?.owner == channel
        var answers: [ReferenceMessage] = []
        for report in ReferenceMessage(channel: channel, command: command, payload: payload).reports {
            answers += try receive(report)
        }
        guard command == 0x10 else { return answers }
        let finals = answers.filter { $0.channel == channel && ($0.command == 0x10 || $0.command == 0x3F) }
        if wasOwner {
            try invariant(finals.map(\.payload) == [[6]], "a channel has one request at a time")
        } else {
            let isOwner = window?.owner == channel
            try invariant(finals.count == (isOwner ? 0 : 1), "a request is answered at once, or opens a window")
        }
        return answers
    }

    /// Sends one report of a client.
    mutating func receive(_ report: [UInt8]) throws -> [ReferenceMessage] {
        guard let report = HIDReport(bytes: report) else { return [] }
        let isReset = report.bytes[4] == 0x86
        return try check(key.receive(report, at: now), from: report.channel.rawValue, isReset: isReset)
    }

    mutating func advance(by time: Duration) throws -> [ReferenceMessage] {
        now += time
        let answers = try check(key.advance(to: now))
        if let deadline = key.deadline { try invariant(deadline > now, "everything that is due is done") }
        return answers
    }

    mutating func endWindow(by end: WindowEnd) throws -> [ReferenceMessage] {
        guard let id = window?.id else { return [] }
        return try check(key.windowEnded(id, by: end, at: now))
    }

    mutating func endPhone(with result: PhoneCeremonyOutcome) throws -> [ReferenceMessage] {
        guard let id = window?.id else { return [] }
        return try check(key.phoneEnded(id, with: result, at: now))
    }

    mutating func suspend() throws -> [ReferenceMessage] { try check(key.suspend(at: now)) }

    private mutating func check(
        _ new: [SecurityKeyAction],
        from channel: UInt32 = 0,
        isReset: Bool = false
    ) throws -> [ReferenceMessage] {
        let before = window
        var messages: [ReferenceMessage] = []
        var statuses: [CTAPStatus] = []
        for action in new {
            switch action {
            case .send(let report):
                guard let message = try reader.read(report.bytes) else { continue }
                messages.append(message)
                continue
            case .askPresence(let id): try opened(id, channel, nil)
            case .askPhone(let id, let request, _, _): try opened(id, channel, request)
            case .closeWindow(let id, let status):
                try invariant(window?.id == id, "the open window closes")
                statuses.append(status)
                window = nil
            case .memoryChanged: break
            }
            actions.append(action)
        }
        try invariant(reader.isIdle, "messages are complete")
        if let before {
            let isEnded = window?.id != before.id
            let commands: Set<UInt8> = isEnded ? [0x10, 0x3F] : [0x10]
            let finals = messages.filter { $0.channel == before.owner && commands.contains($0.command) }
            let count = isEnded && !isReset ? 1 : 0
            try invariant(finals.count == count, "a request has one answer, and its window closes")
            let isReported = finals.allSatisfy { $0.command == 0x3F || $0.payload.first == statuses.first?.rawValue }
            try invariant(isReported, "the window's end has the status of the answer")
        }
        for message in messages { try check(message, before?.owner) }
        return messages
    }

    private mutating func opened(_ id: WindowID, _ channel: UInt32, _ phone: PhoneRequest?) throws {
        try invariant(window == nil, "there is one window at a time")
        window = (id, channel, phone)
        openings.append(now)
        try invariant(openings.filter { $0 > now - .seconds(60) }.count <= 3, "three windows open in a minute")
        if let phone { try Self.check(phone) }
    }

    private func check(_ message: ReferenceMessage, _ ownerBefore: UInt32?) throws {
        switch message.command {
        case 0x3B:
            let isWaiting = message.channel == window?.owner || message.channel == ownerBefore
            try invariant(isWaiting && message.payload == [2], "keepalives are sent while the user is asked")
        case 0x10:
            let status = try present(message.payload.first, "a response has a status")
            try invariant(status != 0x27 && status != 0x33, "no status makes clients repeat their requests")
        default: break
        }
    }

    private static func check(_ request: PhoneRequest) throws {
        for extensions in [[], ["credProtect"]] {
            var phone = SecurityKey.info
            phone.extensions = extensions
            let encoded = request.request(for: phone).encoded
            let map = try present(
                try? CBORDecoder.decode(encoded.dropFirst(), mode: .strict).map,
                "a request for the phone is canonical"
            )
            let isNew = encoded.first == 1
            try invariant(isNew || encoded.first == 2, "the phone receives two commands only")
            let options = map[isNew ? 7 : 5]?.map
            try invariant(options?["uv"] == true && options?["up"] == nil, "the user is present and verified")
            let removed: [CBORValue] = isNew ? [8, 9, 10] : [6, 7]
            try invariant(removed.allSatisfy { map[$0] == nil }, "the phone receives no PIN token")
            if isNew {
                let hasNames = map[2]?.map?["name"] != nil && map[3]?.map?["displayName"] != nil
                try invariant(hasNames, "the names that phones require are present")
            }
            let list = map[isNew ? 5 : 3]?.array ?? []
            try invariant(list.allSatisfy { $0.map?["transports"] == nil }, "hints are removed")
            let allowed = Set(["prf", "largeBlob"] + (isNew ? extensions : []))
            for name in map[isNew ? 6 : 4]?.map?.keys ?? [] {
                try invariant(allowed.contains(name.text ?? ""), "the phone receives extensions that it knows")
            }
        }
    }
}
