// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram

/// The command `hybrid-lab shiny`, which serves the demo site in a lab environment.
struct ShinyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shiny",
        abstract: "Serve a demo site for passkeys, and open it in Chromium with a phone that asks you.",
        discussion: """
            The site is at https://\(ShinySite.host), and again at https://\(ShinySite.relatedHost), which uses the same \
            passkeys. Both names exist only for programs with the switches in HYBRID_LAB_CHROMIUM_ARGS. The site is \
            the program hybrid-shiny, a package of its own: swift build --package-path Shiny.

            With --browser, Chromium opens the site in a new profile, and each code that it shows is answered by \
            hybrid-auth, which asks you with pinentry, as a phone would. The first question chooses the phone's PIN. \
            The command ends when the window is closed.

            Without --browser, it prints the settings of the environment as hybrid-lab up does, and runs until Ctrl-C \
            or SIGTERM.
            """
    )

    @OptionGroup(title: "The lab environment")
    var options: LabEnvironmentOptions

    @Flag(help: "Open the site in Chromium, with a phone.")
    var browser = false

    @Option(help: ArgumentHelp("With --browser: keep the phone's passkeys in this folder.", valueName: "folder"))
    var phone: String?

    @Option(help: ArgumentHelp("With --browser: the program that asks for the phone.", valueName: "program"))
    var pinentry: String?

    @Option(help: ArgumentHelp("The program hybrid-shiny, if it is elsewhere.", valueName: "path"))
    var program: String?

    @Flag(help: "Print the settings as JSON.")
    var json = false

    func validate() throws {
        guard browser || phone == nil && pinentry == nil else {
            throw ValidationError("--phone and --pinentry need --browser.")
        }
        guard !browser || !json else { throw ValidationError("--json and --browser exclude each other.") }
    }

    func run() async throws {
        let command = self
        let program = try ShinySite.program(program)
        let ending = await withTerminationSignals {
            try await command.options.run { environment in
                try await ShinySite.run(program, environment.relay.authority) { site in
                    var environment = environment
                    environment.site = site
                    try await command.serve(environment)
                }
            }
        }
        // A signal is the normal end.
        if ending.signal == nil { try ending.result.get() }
    }

    private func serve(_ environment: LabEnvironment) async throws {
        StandardError.writeLine("\(HybridLab.programName): VIRTUAL RADIO: no proximity proof")
        guard !browser else {
            return try await PhoneAndBrowser(environment: environment, folder: phone, pinentry: pinentry).run()
        }
        let lines = ["# Shiny: \(ShinySite.address)"] + environment.shellLines
        try StandardOutput.writeLine(json ? environment.json.description : lines.joined(separator: "\n"))
        StandardError.writeLine("\(HybridLab.programName): ready; Ctrl-C ends it")
        while true { try await Task.sleep(for: .seconds(3600)) }
    }
}
