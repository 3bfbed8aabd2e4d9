// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram

/// The command `hybrid-remote doctor`, which shows what a browser on this host would find.
struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check the forwarded SSH agents and the browsers on this host.",
        discussion: "Exits with 69 if no agent carries requests of websites."
    )

    @Flag(help: "Print one JSON object per line.")
    var json = false

    func run() throws {
        let agents = Self.agents()
        for finding in agents + Self.browsers() { try StandardOutput.writeLine(json ? finding.json : finding.text) }
        guard agents.contains(where: \.isFine) else {
            throw CommandFailure(
                "no agent here carries requests to a phone; connect with ssh -A from a computer with hybrid-key",
                code: "no-agent",
                status: .unavailable
            )
        }
    }

    /// A line of the report.
    private struct Finding {
        let subject: String
        let isFine: Bool
        let found: String

        var text: String { StandardError.oneLine("\(isFine ? "ok" : "--")  \(subject): \(found)") }
        var json: String {
            JSONText.object([
                ("subject", .string(subject)), ("ok", .boolean(isFine)), ("found", .string(found)),
            ]).description
        }
    }

    private static func agents() -> [Finding] {
        let paths = AgentSockets.paths()
        guard !paths.isEmpty else {
            return [Finding(subject: "SSH agent", isFine: false, found: "no socket; connect with ssh -A")]
        }
        return paths.map { path in
            switch ForwardedAgent.state(of: path) {
            case .capable: Finding(subject: path, isFine: true, found: "an agent that knows a phone")
            case .other:
                Finding(
                    subject: path,
                    isFine: false,
                    found: "another agent; set IdentityAgent or SSH_AUTH_SOCK to hybrid-key's on your computer"
                )
            case .dead: Finding(subject: path, isFine: false, found: "the socket of an ended session")
            }
        }
    }

    /// The folders of helpers' manifests for a browser: of a package, and below the user's configuration.
    private static let installations = [
        ("Chromium", "/etc/chromium/native-messaging-hosts", "chromium"),
        ("Google Chrome", "/etc/opt/chrome/native-messaging-hosts", "google-chrome"),
    ]

    private static func browsers() -> [Finding] {
        let extensionFolder = "/usr/share/chromium/extensions/hybrid-remote"
        let home = ProcessEnvironment.variables["HOME"] ?? ""
        let file = "\(BrowserExtension.hostName).json"
        var isByHand = false
        let manifests = installations.map { browser, folder, configuration in
            let path = "\(folder)/\(file)"
            let own = "\(home)/.config/\(configuration)/NativeMessagingHosts/\(file)"
            let isOwn = access(own, R_OK) == 0
            isByHand = isByHand || isOwn
            let isThere = isOwn || access(path, R_OK) == 0
            let found = isThere ? "knows the helper" : "\(path) is missing"
            return Finding(subject: browser, isFine: isThere, found: found)
        }
        let hasExtension = access("\(extensionFolder)/manifest.json", R_OK) == 0
        let found =
            hasExtension
            ? "installed for Chromium" : "\(extensionFolder) is missing; install the package hybrid-remote"
        // No other program can see which extensions a user has loaded.
        let loaded = "not installed for all users; chrome://extensions shows whether you have loaded it"
        let isManual = !hasExtension && isByHand
        let item = Finding(subject: "extension", isFine: hasExtension || isManual, found: isManual ? loaded : found)
        return manifests + [item] + sandboxed
    }

    /// Browsers in sandboxes, which start no helper outside.
    private static var sandboxed: [Finding] {
        let home = ProcessEnvironment.variables["HOME"] ?? ""
        let flatpaks = ["org.chromium.Chromium", "com.google.Chrome"].filter { name in
            ["/var/lib/flatpak", "\(home)/.local/share/flatpak"].contains { access("\($0)/app/\(name)", F_OK) == 0 }
        }.map { "Flatpak \($0)" }
        let snaps = access("/snap/chromium", F_OK) == 0 ? ["Snap chromium"] : []
        return (flatpaks + snaps).map { name in
            Finding(subject: name, isFine: false, found: "starts no helper outside its sandbox; use a packaged browser")
        }
    }
}
