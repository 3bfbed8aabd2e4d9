// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridProgram

/// The program `hybrid-prompt`, which shows the code and the progress of a sign-in in a window.
///
/// It does for codes what pinentry does for PINs. ``PromptModel`` decides what is shown; the other files of this target
/// draw it with GTK.
@main
struct HybridPrompt {
    private static let help = """
        OVERVIEW: Show the code and the progress of a sign-in in a window.

        Reads the events of `hybrid-client show-qr --json` or of hybrid-key on standard input. Writes the user's answers on
        standard output, one per line: cancel, proceed, proceed-always or show-code. Ends with the ceremony or the
        input.

        USAGE: hybrid-prompt

        OPTIONS:
          --version               Show the version.
          -h, --help              Show help information.

        """

    static func main() {
        ProcessMemory.protect()
        StandardStreams.prepare()
        do throws(CommandFailure) {
            switch Array(CommandLine.arguments.dropFirst()) {
            case []:
                try StandardOutput.requireOpen()
                try PromptProgram().run()
            case ["--version"]: try StandardOutput.writeLine(ProductVersion.text)
            case ["--help"], ["-h"]: try StandardOutput.write(help)
            default:
                StandardError.writeText("Error: hybrid-prompt takes no arguments\nUsage: hybrid-prompt\n")
                StandardError.writeText("  See 'hybrid-prompt --help' for more information.\n")
                exit(64)
            }
        } catch {
            error.exit(program: "hybrid-prompt")
        }
    }
}
