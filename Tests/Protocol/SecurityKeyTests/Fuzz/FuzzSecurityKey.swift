// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridCBOR
import HybridCTAP
import HybridPrimitives
import HybridSecurityKey
import TestSupport

/// Fuzzes a security key: one command, the responses of a phone, the file of its memory, or several clients at once.
///
/// The first byte selects one of them.
func fuzzSecurityKey(_ input: [UInt8]) throws -> Bool {
    guard let kind = input.first else { return false }
    let body = Array(input.dropFirst())
    return switch kind % 4 {
    case 0: try command(body)
    case 1: try responses(body)
    case 2: try memory(body)
    default: try conversation(body)
    }
}

/// Sends one command and returns true if it succeeds or asks for a window.
private func command(_ bytes: [UInt8]) throws -> Bool {
    var key = ObservedKey(try SampleKey.make())
    key.key.otherKeyExists = false
    let answers = try key.receive(try key.open(), 0x10, Array(bytes.prefix(7609)))
    return key.window != nil || answers.last?.payload.first == 0
}

/// Passes bytes to a key as the response of the phone; the first byte selects the request.
private func responses(_ bytes: [UInt8]) throws -> Bool {
    guard let kind = bytes.first else { return false }
    var key = ObservedKey(try SampleKey.make())
    let channel = try key.open()
    _ = try key.receive(channel, 0x10, SampleKey.requests[Int(kind) % SampleKey.requests.count])
    guard let response = try? CTAPResponse(parsing: Array(bytes.dropFirst())), key.window?.phone != nil else {
        return false
    }
    let answer = try key.endPhone(with: .responded(response)).last?.payload
    if response.status == .credentialExcluded, answer == nil {
        try invariant(key.window != nil, "the user sees that a passkey exists before the client learns it")
        return true
    }
    let status = try present(answer?.first, "the request is answered")
    let isKnown = [0x00, 0x2E, 0x2F, 0x7F].contains(status)
    try invariant(isKnown, "the phone's status is translated")
    try invariant(status != 0 || response.status == .success, "a failure is not a success")
    if status == 0, let answer {
        let map = try present(
            try? CBORDecoder.decode(answer.dropFirst(), mode: .strict).map,
            "a response to a client is canonical"
        )
        let outputs = [map[6], map[8]].compactMap(\.self)
        try invariant(
            outputs.allSatisfy { $0 == true || $0.map?.keys == ["prf"] },
            "unsigned outputs other than prf are removed"
        )
    }
    return status == 0
}

private func memory(_ bytes: [UInt8]) throws -> Bool {
    guard let memory = try? CredentialMemory(parsing: bytes) else { return false }
    try invariant(memory.encoded == bytes, "the file has one form")
    try invariant(memory.count <= CredentialMemory.maximumCount, "the memory is bounded")
    return true
}

/// Lets several clients, a user and a phone act in any order.
private func conversation(_ bytes: [UInt8]) throws -> Bool {
    var choices = Choices(bytes)
    var key = ObservedKey(try SampleKey.make())
    key.key.otherKeyExists = choices.flag()
    _ = try key.open()
    while !choices.isEmpty {
        let channel = choices.pick(Array(key.channels.suffix(40)))
        switch choices.number(below: 12) {
        case 0: _ = try key.open()
        case 1, 2, 3: _ = try key.receive(channel, 0x10, choices.pick(SampleKey.requests))
        case 4: _ = try key.receive(channel, 0x10, choices.bytes(choices.number(below: 200)))
        case 5: _ = try key.receive(channel, 0x11, [])
        case 6: _ = try key.receive(channel, choices.pick([0x06, 0x01]), choices.bytes(8))
        case 7: _ = try key.advance(by: .milliseconds(choices.number(below: 1 << 16)))
        case 8: _ = try key.endWindow(by: choices.flag() ? .confirmation : choices.flag() ? .closing : .timeout)
        case 9:
            let status = CTAPStatus(rawValue: choices.pick([0x00, 0x19, 0x27, 0x2E, 0x33, choices.byte()]))
            _ = try key.endPhone(with: choices.flag() ? .failed : .responded(.failure(status)))
        case 10: _ = try key.suspend()
        default:
            let report = ReferenceMessage.fourBytes(channel) + choices.bytes(60)
            _ = try key.receive(report + [UInt8](repeating: 0, count: 64 - report.count))
        }
    }
    return key.window != nil || !key.actions.isEmpty
}

/// A key, and commands that its clients send.
enum SampleKey {
    static func make(memory: CredentialMemory = CredentialMemory()) throws -> SecurityKey {
        SecurityKey(
            version: CTAPHIDDeviceVersion(major: 1, minor: 0, build: 0),
            memory: memory,
            installationKey: try installationKey(),
            random: { [UInt8](repeating: 0xAB, count: $0) }
        )
    }

    static func installationKey() throws -> InstallationKey {
        try present(InstallationKey(bytes: [UInt8](repeating: 9, count: 32)), "a key has 32 bytes")
    }

    static let hashOfNothing = Array(SHA256.hash(data: [UInt8]()))
    static let realHash = [UInt8](repeating: 0x5A, count: 32)

    static func descriptors(_ ids: [[UInt8]]) -> CBORValue {
        .array(ids.map { ["id": .bytes($0), "type": "public-key", "transports": ["usb"]] })
    }

    /// Returns a request for a new credential.
    static func creation(_ relyingParty: String = "example.com", _ changes: CBORMap = [:]) -> [UInt8] {
        var map: CBORMap = [
            1: .bytes(realHash), 2: ["id": .text(relyingParty)], 3: ["id": .bytes([1, 2]), "name": "ada"],
            4: [["alg": -7, "type": "public-key"]],
        ]
        for (key, value) in changes.entries { map[key] = value }
        return [0x01] + CBOREncoder.encode(map)
    }

    /// Returns a request for a signature.
    static func assertion(
        _ relyingParty: String = "example.com",
        _ ids: [[UInt8]] = [],
        hash: [UInt8] = realHash,
        _ changes: CBORMap = [:]
    ) -> [UInt8] {
        var map: CBORMap = [1: .text(relyingParty), 2: .bytes(hash)]
        if !ids.isEmpty { map[3] = descriptors(ids) }
        for (key, value) in changes.entries { map[key] = value }
        return [0x02] + CBOREncoder.encode(map)
    }

    /// Returns a silent question about credentials.
    static func probe(
        _ relyingParty: String = "example.com",
        _ ids: [[UInt8]],
        hash: [UInt8] = hashOfNothing
    ) -> [UInt8] {
        assertion(relyingParty, ids, hash: hash, [5: ["up": false]])
    }

    static let requests: [[UInt8]] = [
        assertion(), assertion("example.com", [[1], [2, 2]]), creation(), creation("ssh:"), assertion("ssh:", [[1]]),
        probe("example.com", [[1], [2], [3]]), probe("ssh:work", [[1]]), [0x04], [0x08], [0x0B], creation(".dummy"),
        assertion("https://example.com/app.json", [[1]]), [0x06, 0xA0],
    ]
}
