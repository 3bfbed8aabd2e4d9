// SPDX-License-Identifier: Apache-2.0

import HybridCTAP
import HybridSecurityKey
import TestSupport

/// Fuzzes a device that several clients use at once; each pair of bytes selects a step.
func fuzzCTAPHID(_ input: [UInt8]) throws -> Bool {
    var choices = Choices(input)
    var device = ObservedDevice(supportsWink: choices.flag())
    while !choices.isEmpty {
        let channel = channel(&choices, device)
        switch choices.number(below: 10) {
        case 0: _ = try device.open()
        case 1: _ = try device.receive(message(&choices, channel))
        case 2:
            // A message without its end.
            let reports = message(&choices, channel).reports
            for report in reports.prefix(choices.number(below: reports.count + 1)) { _ = try device.receive(report) }
        case 3:
            let report = ReferenceMessage.fourBytes(channel) + choices.bytes(60)
            _ = try device.receive(report + [UInt8](repeating: 0, count: 64 - report.count))
        case 4:
            let report = choices.bytes(64)
            _ = try device.receive(report + [UInt8](repeating: 0, count: 64 - report.count))
        case 5: _ = try device.advance(by: .milliseconds(choices.number(below: 2048)))
        case 6: try answer(&choices, &device)
        case 7: _ = try device.receive(ReferenceMessage(channel: channel, command: 0x11, payload: []))
        case 8:
            _ = try device.receive(ReferenceMessage(channel: channel, command: 0x06, payload: choices.bytes(8)))
        default:
            guard let transaction = device.requests.last?.transaction else { continue }
            device.setStatus(.userPresenceNeeded, of: transaction)
        }
    }
    return !device.requests.isEmpty
}

private func channel(_ choices: inout Choices, _ device: ObservedDevice) -> UInt32 {
    choices.pick([0, .max, 1, 2, 3] + device.channels.suffix(40))
}

private func message(_ choices: inout Choices, _ channel: UInt32) -> ReferenceMessage {
    let command = choices.pick([0x10, 0x01, 0x04, 0x08, 0x06, 0x03, 0x11, 0x3B, choices.byte() & 0x7F])
    let length = choices.pick([1, 0, 8, 57, 58, 116, 117, 7609, choices.number(below: 7609)])
    return ReferenceMessage(
        channel: channel,
        command: command,
        payload: [UInt8](repeating: choices.byte(), count: length)
    )
}

/// Ends a request, perhaps one that has ended already.
private func answer(_ choices: inout Choices, _ device: inout ObservedDevice) throws {
    guard !device.requests.isEmpty else { return }
    let transaction = choices.pick(Array(device.requests.suffix(256))).transaction
    let wasPending = device.pending.values.contains(transaction)
    let length = choices.pick([0, 56, 57, 7608, 7609])
    let messages =
        choices.flag()
        ? try device.refuse(transaction, with: .channelBusy)
        : try device.answer(transaction, with: .success([UInt8](repeating: 7, count: length)))
    try invariant(messages.count == (wasPending ? 1 : 0), "a request has one answer")
    try invariant(!device.pending.values.contains(transaction), "an answer ends the request")
}
