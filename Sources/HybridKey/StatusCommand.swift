// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridBLEAdvert
internal import HybridCaBLE
internal import HybridClientCeremony
internal import HybridCommandSupport
internal import HybridDataChannel
internal import HybridDoctor
internal import HybridKeyService
internal import HybridNetwork
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSecurityKey

/// The command `hybrid-key status`, which prints the state of the security key.
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Print the state of the security key, and of what it needs.",
        discussion: """
            Exits with 0 if programs of this user can use the key, otherwise with 69. hybrid-client doctor explains failures of \
            Bluetooth and of the relays.
            """
    )

    /// Time for a relay to respond.
    private static let relayTimeout = Duration.seconds(4)

    @Flag(help: "Print one JSON object on standard output.")
    var json = false

    @OptionGroup
    var ceremony: CeremonyOptions

    /// A line of the status.
    private struct Item: Sendable {
        let name: String
        let text: String
        let isFine: Bool
        /// The members of the JSON object for programs.
        let members: [(String, JSONText)]

        init(_ name: String, _ text: String, isFine: Bool = true, _ members: [(String, JSONText)]) {
            // It may have names from outside, such as those of files and of a certificate's issuer.
            self.text = StandardError.oneLine(text)
            (self.name, self.isFine, self.members) = (name, isFine, members)
        }

        var line: String { name + String(repeating: " ", count: max(1, 14 - name.utf8.count)) + text }
    }

    func run() async throws {
        let settings = try KeySettings.resolve(ceremony)
        let inspection = SecurityKeyInspection.inspect()
        let memory = try CredentialMemoryStore(in: try KeySettings.stateFolder()).memory().count
        let items = try await untilSignal {
            async let relays = relays(settings)
            return [
                Self.device(inspection), Self.helper(inspection), try prompt(settings), await radio(),
                try await relays, Self.others(inspection),
                Item("credentials", "\(memory) of local services remembered", [("credentials", .number(memory))]),
            ]
        }
        if json {
            try StandardOutput.writeLine(JSONText.object(items.flatMap(\.members)).description)
        } else {
            for item in items { try StandardOutput.writeLine(item.line) }
        }
        guard let device = items.first, !device.isFine else { return }
        throw CommandFailure("programs can't use the security key: \(device.text)", status: .unavailable)
    }

    // MARK: - The system

    private static func device(_ inspection: SecurityKeyInspection) -> Item {
        let usable = inspection.usableDevice
        let text: String
        if let usable {
            text = "\(usable.path), which programs of this user can open"
        } else if let other = inspection.virtualDevices.first {
            text = "\(other.path), which programs of this user can't open; log in at this computer, not remotely"
        } else if !inspection.hasHelper {
            text = "none; start the helper: sudo systemctl enable --now hybrid-uhid.socket"
        } else if !inspection.hasModule {
            text = "none; load the kernel's module: sudo modprobe uhid"
        } else {
            text = "none; run: systemctl --user restart hybrid-key, in a session at this computer"
        }
        return Item(
            "device",
            text,
            isFine: usable != nil,
            [
                ("device", (usable ?? inspection.virtualDevices.first).map { .string($0.path) } ?? .null),
                ("accessible", .boolean(usable != nil)), ("module", .boolean(inspection.hasModule)),
            ]
        )
    }

    private static func helper(_ inspection: SecurityKeyInspection) -> Item {
        let path = SecurityKeyInspection.helperPath
        return Item(
            "helper",
            inspection.hasHelper ? path : "none: \(path) does not exist",
            [("helper", inspection.hasHelper ? .string(path) : .null)]
        )
    }

    private func prompt(_ settings: Configuration) throws -> Item {
        let display = try KeySettings.display(settings)
        let problem = display.problem(in: ProcessEnvironment.variables)
        var (text, path) = ("none; codes appear in the browser; install hybrid-prompt", JSONText.null)
        if case .prompt(let program) = display { (text, path) = (program, .string(program)) }
        let members: [(String, JSONText)] = [("prompt", path), ("promptProblem", problem.map { .string($0) } ?? .null)]
        return Item("prompt", problem ?? text, members)
    }

    private static func others(_ inspection: SecurityKeyInspection) -> Item {
        let paths = inspection.otherDevices.map(\.path)
        let text = "\(paths.joined(separator: ", ")); the prompt asks first whether to use the phone"
        return Item(
            "other keys",
            paths.isEmpty ? "none" : text,
            [("otherKeys", .array(paths.map { .string($0) }))]
        )
    }

    // MARK: - The phone

    private func radio() async -> Item {
        func item(_ text: String, _ isFine: Bool, isVirtual: Bool = false) -> Item {
            let members: [(String, JSONText)] = [
                ("works", .boolean(isFine)), ("found", .string(text)), ("virtual", .boolean(isVirtual)),
            ]
            return Item("radio", text, [("radio", .object(members))])
        }
        do {
            let inspection = try await RadioInspection.inspect()
            let wanted = inspection.adapters.filter {
                ceremony.network.adapter == nil || $0.name == ceremony.network.adapter
            }
            guard let adapter = wanted.first(where: \.isPowered) ?? wanted.first else {
                return item("no Bluetooth adapter", false, isVirtual: inspection.isVirtual)
            }
            let state = "\(adapter.name) is \(adapter.isPowered ? "on" : "off")"
            let warning = inspection.isVirtual ? "; VIRTUAL RADIO: no proximity proof" : ""
            return item(state + warning, adapter.isPowered, isVirtual: inspection.isVirtual)
        } catch {
            return item(error.message, false)
        }
    }

    private func relays(_ settings: Configuration) async throws -> Item {
        let network = try ceremony.networkConfiguration(settings)
        // The relays of Google and Apple; a phone names its own.
        let domains = [0, 1].compactMap { TunnelDomain(id: $0) }
        let end = ContinuousClock.now + Self.relayTimeout
        let results = try await withThrowingTaskGroup(of: (String, String).self) { group in
            for domain in domains {
                group.addTask {
                    let probe = try await RelayProbe.run(
                        at: RelayEndpoint(domain: domain, network: network),
                        until: end
                    )
                    guard case .failed(let error) = probe.ending else { return (domain.host, "responds") }
                    return (domain.host, error.message)
                }
            }
            let unordered: [(String, String)] = try await group.reduce(into: []) { $0.append($1) }
            return domains.compactMap { domain in unordered.first { $0.0 == domain.host } }
        }
        let list = results.map { host, found in
            JSONText.object([
                ("host", .string(host)), ("works", .boolean(found == "responds")), ("found", .string(found)),
            ])
        }
        return Item(
            "relays",
            results.map { "\($0.0) \($0.1 == "responds" ? "" : "fails: ")\($0.1)" }.joined(separator: "; "),
            [("relays", .array(list))]
        )
    }
}
