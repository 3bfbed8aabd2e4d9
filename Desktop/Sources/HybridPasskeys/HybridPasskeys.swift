// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridProgram
internal import HybridWidgets

/// The program `hybrid-passkeys`.
@main
struct HybridPasskeys {
    static func main() {
        ProcessMemory.protect()
        StandardStreams.prepare()
        guard Toolkit.start(renderer: "cairo") else { exit(69) }
    }
}
