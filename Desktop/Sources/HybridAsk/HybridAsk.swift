// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridProgram
internal import HybridWidgets

/// The program `hybrid-ask`.
@main
struct HybridAsk {
    static func main() {
        ProcessMemory.protect()
        StandardStreams.prepare()
        guard Toolkit.start(renderer: "cairo") else { exit(69) }
    }
}
