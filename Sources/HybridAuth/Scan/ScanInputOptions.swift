// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridQRScanning

/// The flags that name the source of the code; exactly one must be given.
struct ScanInputOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The text of the code. Other users may see it; prefer standard input.", valueName: "FIDO:/…")
    )
    var url: String?

    @Option(
        name: .customLong("link"),
        help: ArgumentHelp(
            "The text of the code, from a link that was opened. Asks for confirmation first.",
            valueName: "FIDO:/…"
        )
    )
    var openedURL: String?

    @Option(
        help: ArgumentHelp("A picture of the code, PNG or JPEG: a photograph, or a whole desktop.", valueName: "file")
    )
    var image: String?

    @Flag(help: "Scan with the camera on the back, with any other, or with the one that follows.")
    var camera = false

    @Flag(help: "Scan this device's own screen, through the desktop's portal.")
    var screen = false

    @Argument(
        help: ArgumentHelp(
            "A dash: read the text from standard input. After --camera, its name or device.",
            valueName: "-"
        )
    )
    var argument: String?

    @Flag(help: "The text on standard input is from a link that was opened. Asks for confirmation first.")
    var fromLink = false

    /// True if a URL that the user opened started the program.
    var isOpenedURL: Bool { openedURL != nil || fromLink }

    func validate() throws {
        let isDash = !camera && argument == "-"
        guard camera || argument == nil || isDash else {
            throw ValidationError("Unexpected argument; a dash stands for standard input.")
        }
        guard !camera || argument != "-" else {
            throw ValidationError(
                "The camera is named by its name in PipeWire, or by a path such as \(Camera.defaultDevice)."
            )
        }
        guard !fromLink || isDash else {
            throw ValidationError("--from-link belongs to a text on standard input; add a dash.")
        }
        let given = [url != nil, openedURL != nil, image != nil, camera, screen, isDash].count { $0 }
        guard given == 1 else {
            throw ValidationError(
                "Give the code in one way: --url FIDO:/…, --image FILE, --camera [NAME], --screen, or - for standard input."
            )
        }
    }

    /// Returns the source of the code.
    ///
    /// - Parameter cameraTimeout: Time limit for the search with a camera.
    func input(cameraTimeout: Duration) -> ScanInput {
        if let text = url ?? openedURL { return .text(text) }
        if let image { return .image(path: image) }
        if camera { return .camera(name: argument, timeout: cameraTimeout) }
        return screen ? .screen : .standardInput
    }
}
