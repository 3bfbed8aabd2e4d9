// SPDX-License-Identifier: Apache-2.0

package import ArgumentParser

/// Options for where the code goes instead of the terminal.
package struct CodeOptions: ParsableArguments {
    /// The path of an image.
    @Option(
        help: ArgumentHelp("Write the code to an image instead of drawing it here.", valueName: "file.png|file.svg")
    )
    package var qrOutput: String?

    /// True to print the code's text.
    @Flag(help: "Print the text of the code on a line of its own instead of drawing it.")
    package var printUrl = false

    /// Creates the options of an empty command line.
    package init() {}

    /// Checks the image's format.
    package func validate() throws {
        if let qrOutput, ImageFile.Format(path: qrOutput) == nil {
            throw ValidationError("--qr-output takes a file name that ends in .png or .svg.")
        }
    }
}
