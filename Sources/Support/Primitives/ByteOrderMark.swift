// SPDX-License-Identifier: Apache-2.0

extension Collection<UInt8> {
    /// The bytes without the byte order mark of UTF-8, with which editors on Windows begin a file.
    public var withoutByteOrderMark: SubSequence {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        return dropFirst(starts(with: mark) ? mark.count : 0)
    }
}
