// SPDX-License-Identifier: Apache-2.0

import TestSupport

@testable import HybridQRScanning

/// Tests that an accepted layout has all its samples in the memory, and that conversions write each pixel from there.
///
/// The input is a format, a size, descriptions of up to three blocks, and the bytes of these blocks.
func fuzzCameraLayout(_ input: [UInt8]) throws -> Bool {
    var choices = Choices(input)
    let format = choices.pick(PixelFormat.allCases)
    let (width, height) = (choices.number(below: 300), choices.number(below: 300))
    var blocks: [FrameLayout.Block] = []
    for _ in 0..<choices.number(below: 4) {
        // Small numbers, and sometimes extreme ones.
        func number() -> Int {
            let value = choices.number(below: 1 << 16)
            switch choices.number(below: 8) {
            case 0: return -value
            case 1: return Int(Int32.max) - value
            case 2: return Int(UInt32.max) - value
            case 3: return Int.max - value
            default: return value
            }
        }
        blocks.append(FrameLayout.Block(maximum: number(), offset: number(), size: number(), stride: number()))
    }
    let layout: FrameLayout
    do throws(FrameLayout.Flaw) {
        layout = try FrameLayout(format, width: width, height: height, blocks: blocks)
    } catch {
        return false
    }
    var lengths = [Int](repeating: 0, count: blocks.count)
    for plane in [layout.first] + layout.colors {
        let block = blocks[plane.block]
        try invariant(plane.start >= 0 && plane.stride >= plane.rowBytes, "rows follow each other")
        try invariant(plane.end <= block.size, "a plane is in the data")
        try invariant(block.offset >= 0 && block.offset + block.size <= block.maximum, "the data are in the memory")
        lengths[plane.block] = max(lengths[plane.block], plane.end)
    }
    let count = lengths.reduce(0, +)
    guard count <= 1 << 18 else { return true }
    let offsets = lengths.indices.map { lengths[..<$0].reduce(0, +) }
    let seed = choices.remaining()
    let frame = try CapturedFrame(.samples(layout, offsets: offsets), count: count) { target in
        for index in target.indices { target[index] = seed.isEmpty ? 7 : seed[index % seed.count] }
    }
    let searchable = try frame.searchable()
    try invariant(searchable.withBytes { $0.count } == width * height, "each pixel has a brightness")
    let preview = FramePreview(layout, offsets: offsets, widthUpTo: 1 + seed.count % 64)
    try invariant(preview.width >= 1 && preview.width <= max(1, 1 + seed.count % 64), "the width is within its limit")
    let picture = try ViewfinderPicture(width: preview.width, height: preview.height) { target in
        frame.withBytes { preview.write(from: $0, to: target) }
    }
    try invariant(picture.withPixels { $0.count } == preview.width * preview.height * 3, "each pixel has a color")
    return true
}
