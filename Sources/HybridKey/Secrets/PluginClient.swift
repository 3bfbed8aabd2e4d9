// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridAge
internal import HybridKeyService
internal import HybridPrimitives
internal import HybridProgram
internal import HybridQRCode
internal import HybridThreads

/// The age client on the other side of standard input and output.
///
/// It answers each command before the next one. If it ends, no signal comes, so a thread watches the input.
final class PluginClient: Sendable {
    private struct State {
        var purpose: String?
        var input = PluginInput()
        var stanzas: ArraySlice<AgeStanza> = []
        var isGone = false
    }

    private let state = Locked(State())
    private let cancellation: SigningCancellation
    /// `POLLRDHUP`, which is declared only with _GNU_SOURCE.
    private static let peerClosed: Int16 = 0x2000

    init(_ cancellation: SigningCancellation) { self.cancellation = cancellation }

    /// True once the client has ended.
    var isGone: Bool { state.withLock { $0.isGone } }

    /// Lets the client show the code of the next ceremony, with its purpose; otherwise a window shows it.
    func showCode(for purpose: String) { state.withLock { $0.purpose = purpose } }

    static let malformed = CommandFailure(
        "standard input is not that of an age client; age starts this program",
        status: .dataError
    )

    /// Reads the client's part, without its last command, and begins to watch the input.
    func readPart() throws(CommandFailure) -> [AgeStanza] {
        var part: [AgeStanza] = []
        while let stanza = try read() {
            guard stanza.type != PluginMachine.end else {
                watch()
                return part
            }
            part.append(stanza)
        }
        throw Self.malformed
    }

    /// Sends a command, and waits for its answer.
    func send(_ stanza: AgeStanza) throws(CommandFailure) {
        var bytes = stanza.encoded
        defer { SecretBytes.wipe(&bytes) }
        guard writeAll(bytes, to: STDOUT_FILENO) else { throw .outputNotWritten }
        // Any answer will do: no command here asks for a value.
        guard try read() != nil else {
            leave()
            throw CommandFailure("the age client has ended", status: .interrupted)
        }
    }

    /// Ends the conversation.
    func end() throws(CommandFailure) {
        guard writeAll(AgeStanza(PluginMachine.end).encoded, to: STDOUT_FILENO) else { throw .outputNotWritten }
    }

    /// Shows the progress of a ceremony, a line of JSON.
    func show(_ line: String) {
        guard let purpose = state.withLock({ $0.purpose }), let event = try? JSONText(parsing: Array(line.utf8)),
            let text = Self.text(event, purpose)
        else { return }
        do throws(CommandFailure) {
            try send(.message(text))
        } catch {
            leave()
        }
    }

    private static func text(_ event: JSONText, _ purpose: String) -> String? {
        let message = event.member("message")?.text
        switch event.member("event")?.text {
        case "qr":
            // The client puts its own words before the first line.
            guard let text = event.member("text")?.text, let matrix = try? QRMatrix(text: text) else { return nil }
            return "scan to \(purpose)\n" + matrix.terminalText(style: .plainOnDark)
        case "state":
            let shown: Set = ["contacting", "phone-notified", "link-failed", "confirm"]
            return shown.contains(event.member("state")?.text ?? "") ? message : nil
        case "notice": return message
        default: return nil
        }
    }

    private func read() throws(CommandFailure) -> AgeStanza? {
        var chunk = [UInt8](repeating: 0, count: 4096)
        defer { SecretBytes.wipe(&chunk) }
        while true {
            if let stanza = state.withLock({ $0.stanzas.popFirst() }) { return stanza }
            let count = Glibc.read(STDIN_FILENO, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return nil }
            let new = chunk[..<count]
            let isRead = state.withLock { state in
                guard let stanzas = try? state.input.add(new) else { return false }
                state.stanzas += stanzas
                return true
            }
            guard isRead else { throw Self.malformed }
        }
    }

    private func watch() {
        _ = DedicatedThread.start { [self] in
            // Reports the end of the other side only, and reads nothing.
            var polled = pollfd(fd: STDIN_FILENO, events: Self.peerClosed, revents: 0)
            while polled.revents == 0 {
                if poll(&polled, 1, -1) < 0, errno != EINTR { return }
            }
            leave()
        }
    }

    private func leave() {
        state.withLock { $0.isGone = true }
        cancellation.cancel()
    }
}
