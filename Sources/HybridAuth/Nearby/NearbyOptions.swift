// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import HybridBLEAdvert
internal import HybridClientCeremony
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridTPM
internal import HybridVault

/// Options of all commands that transfer passkeys or the key of a vault.
struct NearbyOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The name of this device for the other one; default: its host name.", valueName: "name")
    )
    var name: String?

    @Option(AuthSettings.vault) var vault: String?
    @Option(AuthSettings.pinentry) var pinentry: String?
    @Option(AuthSettings.ask) var ask: String?
    @Option(AuthSettings.cacert) var cacert: String?

    @OptionGroup
    var network: NetworkOptions<AdapterName>

    @Flag(AuthSettings.bleChannel) var bleChannel: Bool?

    @Flag(
        help: """
            Report progress as JSON on standard error, one object per line, and the result as one object on standard \
            output.
            """
    )
    var json = false

    func validate() throws {
        if let name, !(1...64).contains(name.unicodeScalars.count) {
            throw ValidationError("--name takes 1 to 64 characters.")
        }
    }

    /// The name of this device.
    var deviceName: String {
        if let name { return name }
        var host = [CChar](repeating: 0, count: 65)
        guard gethostname(&host, host.count - 1) == 0 else { return HybridAuth.programName }
        let bytes = host.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return bytes.isEmpty ? HybridAuth.programName : String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the location of the vault.
    func location(_ settings: Configuration) throws -> VaultLocation {
        try VaultLocation(path: try settings.value(AuthSettings.vault), tpm: try settings.value(AuthSettings.tpm))
    }

    /// Creates the report of the progress; pinentry may use the same terminal.
    ///
    /// - Parameter isForProgram: True if a program shows it, and not a user's terminal.
    func report(isForProgram: Bool = false) -> ProgressReport {
        ProgressReport(program: HybridAuth.programName, format: json || isForProgram ? .json : .lines)
    }

    /// Prints the result: an object for programs, or nothing, because users have read it already.
    func show(_ members: [(String, JSONText)]) throws(CommandFailure) {
        guard json else { return }
        try StandardOutput.writeLine(JSONText.object(members).description)
    }
}

/// Options of commands that show a code.
struct TransferCodeOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Where the code is shown: terminal, window, page, or a new image file.", valueName: "place")
    )
    var show = CodePlace.terminal

    @Option(AuthSettings.prompt) var prompt: String?

    @Option(help: ArgumentHelp("How long the code is shown, in seconds.", valueName: "s"))
    var timeout: Int = 120

    func validate() throws {
        guard (1...3600).contains(timeout) else { throw ValidationError("--timeout takes 1 to 3600 seconds.") }
    }
}

/// The place where a code is shown.
enum CodePlace: Hashable, ExpressibleByArgument, Sendable {
    case terminal
    /// The window of `hybrid-prompt`.
    case window
    /// A page in the browser.
    case page
    /// A new image file with this path.
    case image(String)

    /// Reads `terminal`, `window`, `page`, or the name of a file that ends in `.png` or `.svg`.
    init?(argument: String) {
        switch argument {
        case "terminal": self = .terminal
        case "window": self = .window
        case "page": self = .page
        default:
            guard ImageFile.Format(path: argument) != nil else { return nil }
            self = .image(argument)
        }
    }

    /// The path of the image; `nil` for another place.
    var imagePath: String? {
        if case .image(let path) = self { return path }
        return nil
    }

    var defaultValueDescription: String { "terminal" }
}
