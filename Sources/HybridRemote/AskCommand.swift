// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSSHAgent

/// The command `hybrid-remote ask`, which performs a website's request without a browser.
struct AskCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ask",
        abstract: "Send a website's request to the phone, print its response.",
        discussion: """
            The request is {"publicKey": …} with the options that a website passes to navigator.credentials.create() or \
            get(), as JSON, as for hybrid-client show-qr. Standard output carries only the response as JSON. The question \
            and the code appear on the computer that forwards its SSH agent to this host.
            """
    )

    @Option(help: ArgumentHelp("The website's request; a dash reads standard input.", valueName: "file|-"))
    var request: String

    @Option(help: ArgumentHelp("The website, such as https://example.com.", valueName: "origin"))
    var origin: String

    @Option(
        help: ArgumentHelp(
            "The top-level page, if the website is a frame in a page of another origin.",
            valueName: "origin"
        )
    )
    var topOrigin: String?

    func run() throws {
        switch ForwardedAgent.perform(try message()) {
        case .answer(.response(let response)): try StandardOutput.writeLine(response.description)
        case .answer(.failure(let failure)): throw AskFailure(failure)
        case .noAgent:
            throw CommandFailure(
                "no SSH agent on this host carries requests to a phone; connect with ssh -A from a computer with "
                    + "hybrid-key, or see hybrid-remote doctor",
                code: "no-agent",
                status: .unavailable
            )
        case .cancelled: throw CommandFailure("interrupted", status: .interrupted)
        }
    }

    private func message() throws(CommandFailure) -> RemoteMessage {
        let bytes: [UInt8]
        do throws(FileReadError) {
            bytes = try readWholeFileOrStandardInput(request, atMost: RemoteMessage.maximumLength)
        } catch {
            throw CommandFailure("the request \(request): \(error.sentence)", status: .noInput)
        }
        guard let document = try? JSONText(parsing: bytes), document.isObject else {
            throw CommandFailure("the request is not a JSON object", code: "request-unusable", status: .dataError)
        }
        let options = document.member("publicKey") ?? document
        guard options.isObject, options.member("challenge") != nil else {
            throw CommandFailure(
                "the request has no options for a passkey; expected {\"publicKey\": {\"challenge\": …}}",
                code: "request-unusable",
                status: .dataError
            )
        }
        let isCreation = ["rp", "user", "pubKeyCredParams"].contains { options.member($0) != nil }
        return RemoteMessage(isCreation ? .create : .get, origin: origin, topOrigin: topOrigin, publicKey: options)
    }
}

/// A failure that the other computer has reported.
private struct AskFailure: ExplainedFailure {
    let code: String
    let status: ExitStatus
    let sentence: String

    init(_ failure: RemoteAnswer.Failure) {
        let text: String
        (code, status, text) =
            switch failure.code {
            case _ where failure.name == "InvalidStateError": ("already-registered", .notPermitted, failure.message)
            case .refused: ("remote-refused", .notPermitted, Self.refused)
            case .timedOut: ("remote-timed-out", .temporary, "there was no answer in time; try again")
            case .unusable: ("remote-unusable", .dataError, Self.unusable)
            case .failed: ("remote-failed", .unavailable, Self.failed)
            }
        sentence = "\(text) (\(failure.name))"
    }

    private static let refused = "the request was not confirmed on your computer; look there, and at: hybrid-key log"
    private static let unusable =
        "the request can't be sent to a phone; check --origin and the options: hybrid-key log has the reason"
    private static let failed = "the sign-in did not succeed; see hybrid-key log on your computer"
}
