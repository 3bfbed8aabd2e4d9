// SPDX-License-Identifier: Apache-2.0

internal import HybridLineInput
internal import HybridProgram

/// The program `hybrid-prompt`, which shows the code and the progress of a sign-in in a window.
///
/// It does for codes what pinentry does for PINs. ``PromptModel`` decides what is shown; the other files of this target
/// draw it with GTK.
@main
struct HybridPrompt {
    private static let help = """
        Show the code and the progress of a sign-in in a window.

        Reads the events of `hybrid-client show-qr --json` or of hybrid-key on standard input. Writes the user's answers on
        standard output, one per line: cancel, proceed, proceed-always or show-code. Ends with the ceremony or the
        input.
        """

    static func main() {
        ProcessMemory.protect()
        WindowProgram.main("hybrid-prompt", help: help) { () throws(CommandFailure) in try PromptProgram().run() }
    }
}
