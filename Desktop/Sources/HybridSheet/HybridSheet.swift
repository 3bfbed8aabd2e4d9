// SPDX-License-Identifier: Apache-2.0

internal import HybridLineInput
internal import HybridProgram

/// The program `hybrid-ask`, which asks the user of hybrid-auth in a window, as pinentry does.
///
/// `SheetModel` decides what is shown; the other files of this target draw it with libadwaita. It is the only program with
/// a window that sees a PIN.
@main
struct HybridSheet {
    private static let help = """
        Ask the user of hybrid-auth in a window.

        Reads questions of hybrid-auth on standard input and writes the answers on standard output, one JSON object per
        line. Started by hybrid-auth, with --ask or HYBRID_ASK.
        """

    static func main() {
        ProcessMemory.protect()
        WindowProgram.main("hybrid-ask", help: help) { () throws(CommandFailure) in try SheetProgram().run() }
    }
}
