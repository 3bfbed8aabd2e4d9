// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSSHAgent
internal import HybridThreads

/// The command `hybrid-remote host`, the native messaging host that the browser starts for each request.
///
/// It answers one message and ends. The end of its input cancels the request.
struct HostCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "host",
        abstract: "Answer one message of the browser's extension; the browser starts this.",
        shouldDisplay: false
    )

    @Argument(help: "The origin of the extension, which the browser names.")
    var caller: [String] = []

    func run() throws {
        let message: JSONText
        switch NativeMessages.read() {
        case .message(let json): message = json
        case .closed: return
        case .malformed: return try NativeMessages.write(Self.unusable.json)
        }
        guard message.member("type")?.text != "available" else { return try reportAvailability() }
        let request: RemoteMessage
        do throws(RemoteMessageError) {
            request = try RemoteMessage(message)
        } catch {
            return try NativeMessages.write(Self.unusable.json)
        }
        if let answer = try answer(request) { try NativeMessages.write(answer) }
    }

    private static let unusable = RemoteAnswer.failure(.init(.unusable, name: "NotSupportedError"))

    private func reportAvailability() throws {
        if try RemoteSettings.isLocal {
            let isThere = LocalClient.isInstalled
            let reason = "hybrid-client is not installed on this computer"
            return try NativeMessages.write(Self.availability(isThere, via: "local", reason))
        }
        let reason = "no ssh session forwards an agent that knows a phone; connect with ssh -A"
        try NativeMessages.write(Self.availability(ForwardedAgent.isAvailable, via: "ssh", reason))
    }

    private static func availability(_ isAvailable: Bool, via: String, _ reason: String) -> JSONText {
        let detail: (String, JSONText) = isAvailable ? ("via", .string(via)) : ("reason", .string(reason))
        return .object([("available", .boolean(isAvailable)), detail])
    }

    /// Returns the answer for the extension; `nil` if the browser has closed the port.
    private func answer(_ request: RemoteMessage) throws -> JSONText? {
        if try RemoteSettings.isLocal {
            return LocalClient.perform(request, unlessEnded: STDIN_FILENO)?.json
        }
        switch ForwardedAgent.perform(request, unlessEnded: STDIN_FILENO) {
        case .answer(let answer): return answer.json
        case .cancelled: return nil
        case .noAgent:
            return .object([
                (
                    "error",
                    .object([
                        ("name", .string("NotAllowedError")), ("code", .string("no-agent")),
                        ("message", .string("no ssh session forwards an agent that knows a phone")),
                    ])
                )
            ])
        }
    }
}
