// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import HybridProgram

/// A program with a window that takes no arguments and is controlled by lines on standard input.
package enum WindowProgram {
    /// The failure of a program; the compiler does not see that a closure's signature needs the import.
    package typealias Failure = CommandFailure

    /// Runs the program, or shows its help or its version; does not return after a failure.
    ///
    /// - Parameters:
    ///   - name: The name of the program.
    ///   - help: A text that says what it does.
    ///   - body: A closure that shows the window until the end.
    package static func main(_ name: String, help: String, _ body: () throws(Failure) -> Void) {
        StandardStreams.prepare()
        do throws(CommandFailure) {
            switch Array(CommandLine.arguments.dropFirst()) {
            case []:
                try StandardOutput.requireOpen()
                try body()
            case ["--version"]: try StandardOutput.writeLine(ProductVersion.text)
            case ["--help"], ["-h"]: try StandardOutput.write(text(name, help))
            default:
                StandardError.writeText("Error: \(name) takes no arguments\nUsage: \(name)\n")
                StandardError.writeText("  See '\(name) --help' for more information.\n")
                exit(64)
            }
        } catch {
            error.exit(program: name)
        }
    }

    private static func text(_ name: String, _ help: String) -> String {
        """
        OVERVIEW: \(help)

        USAGE: \(name)

        OPTIONS:
          --version               Show the version.
          -h, --help              Show help information.

        """
    }
}
