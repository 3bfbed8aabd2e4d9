// SPDX-License-Identifier: Apache-2.0

import TestSupport

/// Modifications of messages by an attacker between both ends.
enum Tampering {
    /// Returns the message after modifications; `others` are other known messages.
    static func delivered(_ message: [UInt8], others: [[UInt8]], _ choices: inout Choices) -> [UInt8] {
        var bytes = message
        for _ in 0..<choices.number(below: 4) {
            switch choices.number(below: 6) {
            case 0 where !bytes.isEmpty:
                let place = choices.number(below: bytes.count)
                bytes[place] ^= 1 << UInt8(choices.number(below: 8))
            case 1: bytes = Array(bytes.prefix(choices.number(below: bytes.count + 1)))
            case 2: bytes += choices.bytes(choices.number(below: 40))
            case 3 where !bytes.isEmpty:
                let place = choices.number(below: bytes.count)
                let new = choices.bytes(choices.number(below: 70)).prefix(bytes.count - place)
                bytes.replaceSubrange(place..<(place + new.count), with: new)
            case 4 where !others.isEmpty: bytes = choices.pick(others)
            case 5 where !others.isEmpty:
                // The beginning of one message and the end of another.
                let place = choices.number(below: bytes.count + 1)
                bytes = Array(bytes.prefix(place) + choices.pick(others).dropFirst(place))
            default: break
            }
        }
        return bytes
    }
}
