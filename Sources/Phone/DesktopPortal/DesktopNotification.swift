// SPDX-License-Identifier: Apache-2.0

package import HybridDBus
internal import HybridPrimitives

/// A notification that asks a question (`org.freedesktop.Notifications`, Desktop Notifications Specification 1.3).
///
/// The server is a program of the desktop on the session bus. No other program on the bus is trusted: only signals of
/// the server count. When the question is over, for whatever reason, the notification is closed.
package struct DesktopNotification: Sendable {
    static let name = "org.freedesktop.Notifications"
    static let path = "/org/freedesktop/Notifications"

    /// The user's answer.
    package enum Answer: Hashable, Sendable {
        /// The user chose the action that agrees.
        case agreed
        /// The user chose the other action.
        case declined
        /// The notification was closed without an action.
        case dismissed
        /// There was no answer in time.
        case expired
    }

    /// The reason why a question could not be asked.
    package enum Failure: Error, Hashable, Sendable {
        /// There is no notification server that shows actions; the text is the cause.
        case unavailable(String)
        /// The task was canceled.
        case interrupted

        init(_ error: BusError) {
            self =
                switch error {
                case .cancelled: .interrupted
                case .notReachable: .unavailable("there is no session bus")
                case .refused(let name, _): .unavailable("the notification server failed: \(SafeText(quoting: name))")
                case .timedOut: .unavailable("the notification server does not respond")
                case .disconnected: .unavailable("the session bus closed the connection")
                case .malformed: .unavailable("the notification server violated the protocol")
                }
        }
    }

    private static let agreement = "agree"
    private static let refusal = "decline"

    private let application: String
    private let summary: String
    private let text: String
    private let actions: (agree: String, decline: String)

    /// Creates a notification.
    ///
    /// - Parameters:
    ///   - application: The name of the program.
    ///   - summary: The title. Untrusted parts must be `SafeText`.
    ///   - text: The text below the title. Untrusted parts must be `SafeText`, because servers may interpret markup.
    ///   - agree: Label of the action that agrees.
    ///   - decline: Label of the other action.
    package init(application: String, summary: String, text: String, agree: String, decline: String) {
        (self.application, self.summary, self.text) = (application, summary, text)
        actions = (agree, decline)
    }

    /// Shows the notification and waits for the answer.
    ///
    /// - Parameters:
    ///   - address: The session bus.
    ///   - limit: The time to answer.
    ///   - activate: Called with the token that lets a window of the answer come to the front (xdg-activation), if the
    ///     server sends one.
    package func ask(
        on address: BusAddress,
        within limit: Duration,
        activate: @escaping @Sendable (_ token: String) -> Void = { _ in }
    ) async throws(Failure) -> Answer {
        do throws(BusError) {
            return try await BusConnection.with(address) { connection throws(BusError) in
                try await ask(over: connection, within: limit, activate)
            }
        } catch {
            throw Failure(error)
        }
    }

    /// Checks that a server shows notifications with actions, without showing one.
    ///
    /// - Parameter address: The session bus.
    /// - Returns: The server's name for itself; untrusted.
    package static func serverName(on address: BusAddress) async throws(Failure) -> String {
        do throws(BusError) {
            return try await BusConnection.with(address) { connection throws(BusError) in
                try await requireActions(over: connection)
                let reply = try await connection.call(name, path, name, "GetServerInformation")
                guard let server = reply.first?.text else { throw .malformed("no server name") }
                return server
            }
        } catch {
            throw Failure(error)
        }
    }

    /// Shows the notification without actions, and does not wait for the user.
    ///
    /// - Parameter address: The session bus.
    package func show(on address: BusAddress) async throws(BusError) {
        try await BusConnection.with(address) { connection throws(BusError) in
            _ = try await notify(over: connection, urgency: 1, expiry: -1, actions: [])
        }
    }

    /// Shows the notification and returns its ID.
    private func notify(
        over connection: BusConnection,
        urgency: UInt8,
        expiry: Int32,
        actions: [String]
    ) async throws(BusError) -> UInt32 {
        let reply = try await connection.call(
            Self.name,
            Self.path,
            Self.name,
            "Notify",
            [
                .string(application), .uint32(0), .string("dialog-password"), .string(summary), .string(text),
                .strings(actions), .properties(["urgency": .byte(urgency), "category": .string("device")]),
                .int32(expiry),
            ]
        )
        guard case .uint32(let number)? = reply.first else { throw .malformed("no notification ID") }
        return number
    }

    /// Throws an error unless the server shows actions, without which the user could not answer.
    private static func requireActions(over connection: BusConnection) async throws(BusError) {
        let capabilities = try await connection.call(name, path, name, "GetCapabilities")
        guard case .array(_, let names)? = capabilities.first, names.contains(where: { $0.text == "actions" }) else {
            throw .refused(name: "no actions", message: "")
        }
    }

    private func ask(
        over connection: BusConnection,
        within limit: Duration,
        _ activate: @escaping @Sendable (String) -> Void
    ) async throws(BusError) -> Answer {
        try await Self.requireActions(over: connection)
        let server = try await connection.owner(of: Self.name)
        let (signals, continuation) = AsyncStream<BusMessage>.makeStream(bufferingPolicy: .bufferingOldest(256))
        // The subscription precedes the call, because the user may answer before the call returns.
        let rule = "type='signal',sender='\(Self.name)',interface='\(Self.name)',path='\(Self.path)'"
        _ = try await connection.observe([rule]) { event in
            switch event {
            case .signal(let message):
                let names = ["ActionInvoked", "NotificationClosed", Self.activation]
                let isAnswer = names.contains { message.isSignal(Self.name, $0) }
                if isAnswer, message.sender == server { continuation.yield(message) }
            case .disconnected: continuation.finish()
            }
        }
        // Critical and without expiry: it stays until the question is over.
        let actions = [Self.agreement, actions.agree, Self.refusal, actions.decline]
        let number = try await notify(over: connection, urgency: 2, expiry: 0, actions: actions)
        let answer = await Self.firstAnswer(in: signals, about: number, within: limit, activate)
        connection.send(Self.name, Self.path, Self.name, "CloseNotification", [.uint32(number)])
        if Task.isCancelled { throw .cancelled }
        guard let answer else { throw .disconnected }
        return answer
    }

    /// The time after its end for which a notification can be answered.
    ///
    /// Some servers send `NotificationClosed` before the `ActionInvoked` that it belongs to.
    private static let graceAfterEnd = Duration.milliseconds(500)

    /// The meaning of a signal of the server.
    private enum Reaction: Sendable {
        /// The user chose an action.
        case chosen(Answer)
        /// The notification ended; the answer if no action follows.
        case ended(Answer)
    }

    /// Returns the first answer to a notification; `nil` if the stream ends or the task is canceled before.
    private static func firstAnswer(
        in signals: AsyncStream<BusMessage>,
        about number: UInt32,
        within limit: Duration,
        _ activate: @escaping @Sendable (String) -> Void
    ) async -> Answer? {
        @Sendable func next() async -> Reaction? {
            for await signal in signals where signal.body.first == .uint32(number) {
                if let token = Self.token(signal) { activate(token) }
                if let reaction = reaction(signal) { return reaction }
            }
            return nil
        }
        switch await first(within: limit, else: .expired, next) {
        case .chosen(let answer)?: return answer
        case .ended(let answer)?:
            while case .some(let reaction) = await first(within: graceAfterEnd, else: answer, next) {
                if case .chosen(let answer) = reaction { return answer }
            }
            return Task.isCancelled ? nil : answer
        case nil: return nil
        }
    }

    /// Returns the next reaction, or `answer` after `limit`; `nil` if there is none or the task is canceled before.
    private static func first(
        within limit: Duration,
        else answer: Answer,
        _ next: @escaping @Sendable () async -> Reaction?
    ) async -> Reaction? {
        await withTaskGroup(of: Reaction?.self) { group in
            group.addTask { await next() }
            group.addTask { (try? await Task.sleep(for: limit)).map { .chosen(answer) } }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }

    /// The signal with an activation token, which precedes `ActionInvoked`.
    private static let activation = "ActivationToken"
    /// Maximum length of an activation token in bytes.
    private static let maximumToken = 1024

    /// Returns the activation token of a signal; `nil` for other signals.
    private static func token(_ signal: BusMessage) -> String? {
        guard signal.member == activation, signal.body.count > 1, let token = signal.body[1].text else { return nil }
        return token.utf8.count <= maximumToken ? token : nil
    }

    /// Returns the meaning of a signal; `nil` for actions that were not offered, such as a click on the text.
    private static func reaction(_ signal: BusMessage) -> Reaction? {
        guard signal.body.count > 1, signal.member != activation else { return nil }
        if signal.member == "ActionInvoked" {
            return switch signal.body[1].text {
            case agreement: .chosen(.agreed)
            case refusal: .chosen(.declined)
            default: nil
            }
        }
        let expired = BusValue.uint32(1)
        return .ended(signal.body[1] == expired ? .expired : .dismissed)
    }
}
