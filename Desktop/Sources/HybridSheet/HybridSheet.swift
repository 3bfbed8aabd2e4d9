// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridProgram

/// The program `hybrid-ask`, which asks the user of hybrid-auth in a window, as pinentry does.
///
/// `SheetModel` decides what is shown; the other files of this target draw it with libadwaita. It is the only program with
/// a window that sees a PIN.
@main
struct HybridSheet {
    private static let help = """
        OVERVIEW: Ask the user of hybrid-auth in a window.

        Reads questions of hybrid-auth on standard input and writes the answers on standard output, one JSON object per
        line. Started by hybrid-auth, with --ask or HYBRID_ASK.

        USAGE: hybrid-ask

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
                try SheetProgram().run()
            case ["--version"]: try StandardOutput.writeLine(ProductVersion.text)
            case ["--help"], ["-h"]: try StandardOutput.write(help)
            default:
                StandardError.writeText("Error: hybrid-ask takes no arguments\nUsage: hybrid-ask\n")
                StandardError.writeText("  See 'hybrid-ask --help' for more information.\n")
                exit(64)
            }
        } catch {
            error.exit(program: "hybrid-ask")
        }
    }
}
