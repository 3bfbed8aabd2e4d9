// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import HybridCommandSupport
internal import HybridProgram

/// The command `hybrid-remote announce`, which lets browsers look again whether a phone can be reached.
struct AnnounceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "announce",
        abstract: "Tell this user's browsers that an ssh session has begun or ended.",
        discussion: """
            Chromium wakes the extension when the file of the extension in its folder for remote sessions changes. Login \
            shells and a user unit run this command.
            """
    )

    func run() throws {
        let isAvailable = ForwardedAgent.isAvailable
        for path in Self.files(ProcessEnvironment.variables) {
            if isAvailable { Self.touch(path) } else { unlink(path) }
        }
    }

    /// The folders of browsers in the user's configuration folder.
    static let browsers = ["chromium", "google-chrome"]

    /// Returns the files of the extension, for each browser that the user has started before.
    static func files(_ environment: [String: String]) -> [String] {
        guard let home = environment["HOME"] else { return [] }
        let configuration = environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "\(home)/.config"
        let folders: [String] = browsers.map { "\(configuration)/\($0)" }.filter { access($0, F_OK) == 0 }
        return folders.map { "\($0)/WebAuthenticationProxyRemoteSessionStateChange/\(BrowserExtension.identifier)" }
    }

    /// Writes the file anew, because the browser watches for changes.
    private static func touch(_ path: String) {
        let folder = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
        mkdir(folder, 0o700)
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            HybridRemote.report("\(path) can't be written: \(String(cString: strerror(errno)))")
            return
        }
        writeAll([UInt8(ascii: "\n")], to: descriptor)
        close(descriptor)
    }
}

/// The extension of the browser.
enum BrowserExtension {
    /// The identifier, which follows from the key in the extension's manifest.
    static let identifier = "ehnlpifebkfbbnhalojmhoakhidfhifo"
    /// The name of the native messaging host.
    static let hostName = "hybrid.remote"
}
