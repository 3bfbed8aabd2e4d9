// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// What a terminal has shown.
final class Screen: Sendable {
    private let bytes = Mutex<[UInt8]>([])

    func append(_ more: ArraySlice<UInt8>) { bytes.withLock { $0 += more } }

    var text: String { bytes.withLock { String(decoding: $0, as: UTF8.self) } }
}
