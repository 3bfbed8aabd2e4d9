// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridProgram
internal import HybridQRScanning
internal import HybridWidgets

/// The program `hybrid-passkeys`, the app for phones and laptops.
///
/// It shows what `hybrid-auth` reports and runs its commands. It holds neither keys nor PINs: these are asked for by a
/// program of their own, the request sheet `hybrid-ask`.
@main
struct HybridPasskeys {
    static func main() {
        // Frames of the camera are searched in a confined process, which is this program again.
        PictureProcess.runIfRequested()
        StandardStreams.prepare()
        guard CommandLine.arguments.dropFirst() != ["--version"] else {
            print("\(ProductVersion.text)")
            return
        }
        guard Toolkit.start() else {
            StandardError.writeLine("hybrid-passkeys: there is no display for a window; set WAYLAND_DISPLAY or DISPLAY")
            exit(69)
        }
        exit(PasskeysProgram().run())
    }
}
