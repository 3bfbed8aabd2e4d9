// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridQRScanning

/// The flags that say where a code is; exactly one of them is given.
struct ScanInputOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The text of the code. Other users may see it; prefer standard input.", valueName: "FIDO:/…")
    )
    var url: String?

    @Option(
        help: ArgumentHelp(
            "The text of the code, from a link that was opened: asks before anything else is done.",
            valueName: "FIDO:/…"
        )
    )
    var link: String?

    @Option(
        help: ArgumentHelp("A picture of the code, PNG or JPEG: a photograph, or a whole desktop.", valueName: "file")
    )
    var image: String?

    @Flag(help: "PictureView through the camera \(Camera.usualDevice); another one is named behind it.")
    var camera = false

    @Flag(help: "PictureView at this device's own screen, through the desktop's portal.")
    var screen = false

    @Argument(
        help: ArgumentHelp("A dash: read the text from standard input. Behind --camera, its device.", valueName: "-")
    )
    var argument: String?

    /// Whether a link started the program.
    var isLink: Bool { link != nil }

    func validate() throws {
        let isDash = !camera && argument == "-"
        guard camera || argument == nil || isDash else {
            throw ValidationError("Unexpected argument; a dash stands for standard input.")
        }
        guard !camera || argument == nil || argument?.hasPrefix("/") == true else {
            throw ValidationError("The camera is named by its device, such as \(Camera.usualDevice).")
        }
        let given = [url != nil, link != nil, image != nil, camera, screen, isDash].count { $0 }
        guard given == 1 else {
            throw ValidationError(
                "Give the code in one way: --url FIDO:/…, --image FILE, --camera [DEV], --screen, or - for standard input."
            )
        }
    }

    /// Where the code is.
    ///
    /// - Parameter patience: How long to look through a camera.
    func input(patience: Duration) -> ScanInput {
        if let text = url ?? link { return .text(text) }
        if let image { return .image(path: image) }
        if camera { return .camera(device: argument ?? Camera.usualDevice, patience: patience) }
        return screen ? .screen : .standardInput
    }
}
