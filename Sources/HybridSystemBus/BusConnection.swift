// SPDX-License-Identifier: Apache-2.0

/// A connection to a D-Bus message bus.
///
/// Who takes part: the programs' tasks, which call and are called; one thread for each connection, which alone
/// touches sd-bus (a connection of sd-bus must not be used by two threads); the bus daemon; and whoever else is on
/// the bus, none of whom is trusted but for the names the daemon vouches for.
///
/// A call goes through an inbox to the thread, which sends it and keeps the waiting continuation under the
/// message's serial number until the answer, the deadline, a cancellation or the end of the connection resumes it.
/// Method calls of others go to the handler given to `connect`, signals to every observer; both run on the thread
/// and must return at once. Closing ends the thread, closes its descriptors and resumes all that wait.
///
/// Text and sizes from the bus are bounded by `BusLimits`. A direct signal reaches a connection whatever it
/// subscribed to: observers must compare `BusMessage.sender` with the unique name they expect.
public final class BusConnection: Sendable {
    /// Answers a method call; runs on the connection's thread and must not block.
    public typealias Handler = @Sendable (BusMessage) -> BusReply

    /// What an observer is told; it runs on the connection's thread and must not block.
    public enum Event: Sendable {
        /// A signal came.
        case signal(BusMessage)
        /// The connection has ended; nothing follows.
        case disconnected
    }

    /// Handed out by `observe`, to be given back to `stopObserving`.
    public struct Observation: Sendable {
        let number: Int
        let rules: [String]
    }

    /// The connection's unique name, such as `:1.42`.
    public let uniqueName: String
    /// Whether the bus is the system's own, judged by the socket that is connected.
    public let isSystemsOwn: Bool

    private let inbox: BusInbox

    private init(inbox: BusInbox, greeting: BusGreeting) {
        self.inbox = inbox
        uniqueName = greeting.uniqueName
        isSystemsOwn = greeting.isSystemsOwn
    }

    deinit {
        inbox.post(.close)
    }

    /// Connects to `address` and waits for the bus's greeting.
    ///
    /// - Parameters:
    ///   - address: the bus; by default the one `DBUS_SYSTEM_BUS_ADDRESS` names, else the system's.
    ///   - timeout: longest wait for the greeting.
    ///   - selection: what is read of the signals that come.
    ///   - handler: answers the method calls of others; by default there is no object.
    /// - Throws: `BusError.notReachable`, `.timedOut` or `.cancelled`.
    public static func connect(
        to address: BusAddress = .system,
        timeout: Duration = .seconds(10),
        reading selection: BusSelection = .everything,
        handler: @escaping Handler = { _ in .unknownObject }
    ) async throws(BusError) -> BusConnection {
        guard let inbox = BusInbox() else { throw .notReachable(address: address.text) }
        let greeting = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                BusThread.start(
                    BusThread.Plan(
                        address: address,
                        deadline: BusClock.deadline(after: timeout),
                        inbox: inbox,
                        selection: selection,
                        handler: handler,
                        ready: continuation
                    )
                )
            }
        } onCancel: {
            inbox.post(.close)
        }
        return BusConnection(inbox: inbox, greeting: try greeting.get())
    }

    /// Calls a method and returns the values of its answer.
    ///
    /// - Parameters:
    ///   - destination: well-known or unique name of who is called.
    ///   - path: the object.
    ///   - interface: the method's interface.
    ///   - member: the method.
    ///   - arguments: its arguments.
    ///   - selection: what is read of the answer.
    ///   - timeout: longest wait for the answer.
    ///   - cancellable: whether cancelling the task ends the wait; clean-up calls say no.
    public func call(
        _ destination: String,
        _ path: String,
        _ interface: String,
        _ member: String,
        _ arguments: [BusValue] = [],
        reading selection: BusSelection = .everything,
        timeout: Duration = .seconds(10),
        cancellable: Bool = true
    ) async throws(BusError) -> [BusValue] {
        let ticket = CallToken()
        let target = BusTarget(destination: destination, path: path, interface: interface, member: member)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                inbox.post(
                    .call(
                        PendingCall(
                            target: target,
                            arguments: arguments,
                            selection: selection,
                            deadline: BusClock.deadline(after: timeout),
                            ticket: ticket,
                            continuation: continuation
                        )
                    )
                )
            }
        } onCancel: {
            if cancellable {
                ticket.cancel()
                inbox.post(.cancel(ticket))
            }
        }
        return try result.get()
    }

    /// Sends a signal to everybody who subscribed; lost if the connection has ended.
    public func emit(_ path: String, _ interface: String, _ member: String, _ arguments: [BusValue]) {
        let target = BusTarget(destination: nil, path: path, interface: interface, member: member)
        inbox.post(.emit(target, arguments))
    }

    /// Calls a method without asking for an answer; lost if the connection has ended.
    public func send(
        _ destination: String,
        _ path: String,
        _ interface: String,
        _ member: String,
        _ arguments: [BusValue] = []
    ) {
        let target = BusTarget(destination: destination, path: path, interface: interface, member: member)
        inbox.post(.emit(target, arguments))
    }

    /// Answers a method call to which the handler said `.later`; further answers are dropped.
    public func reply(to message: BusMessage, with reply: BusReply) {
        inbox.post(.reply(message.ticket, reply))
    }

    /// Subscribes to signals.
    ///
    /// - Parameters:
    ///   - rules: match rules in D-Bus notation; see the D-Bus Specification, "Match Rules".
    ///   - observer: told every signal that reaches the connection, also those of other observers' rules.
    public func observe(
        _ rules: [String],
        _ observer: @escaping @Sendable (Event) -> Void
    ) async throws(BusError) -> Observation {
        let observation = Observation(number: inbox.addObserver(observer), rules: rules)
        do throws(BusError) {
            for rule in rules {
                _ = try await callBus("AddMatch", [.string(rule)])
            }
        } catch {
            stopObserving(observation)
            throw error
        }
        return observation
    }

    /// Ends a subscription; the observer is not called again once this has returned, but for a call under way.
    public func stopObserving(_ observation: Observation) {
        inbox.removeObserver(observation.number)
        for rule in observation.rules {
            send(BusNames.daemon, BusNames.daemonPath, BusNames.daemon, "RemoveMatch", [.string(rule)])
        }
    }

    /// Takes a well-known name without queueing for it; `false` if somebody else has it.
    public func requestName(_ name: String) async throws(BusError) -> Bool {
        let doNotQueue: UInt32 = 4
        let answer = try await callBus("RequestName", [.string(name), .uint32(doNotQueue)])
        let (primaryOwner, alreadyOwner) = (BusValue.uint32(1), BusValue.uint32(4))
        return answer.first == primaryOwner || answer.first == alreadyOwner
    }

    /// Gives a well-known name up.
    public func releaseName(_ name: String) async throws(BusError) {
        _ = try await callBus("ReleaseName", [.string(name)])
    }

    /// The unique name of who owns `name`; `nil` if nobody does.
    public func owner(of name: String) async throws(BusError) -> String? {
        do throws(BusError) {
            return try await callBus("GetNameOwner", [.string(name)]).first?.text
        } catch .refused(name: "org.freedesktop.DBus.Error.NameHasNoOwner", message: _) {
            return nil
        }
    }

    /// Ends the connection and waits until its thread and descriptors are given back; again is harmless.
    public func close() async {
        inbox.post(.close)
        await inbox.ended.waitWhateverHappens()
    }

    private func callBus(_ member: String, _ arguments: [BusValue]) async throws(BusError) -> [BusValue] {
        try await call(BusNames.daemon, BusNames.daemonPath, BusNames.daemon, member, arguments)
    }
}

/// Names of the bus daemon and the standard interfaces.
public enum BusNames {
    /// The daemon's own name and interface.
    public static let daemon = "org.freedesktop.DBus"
    /// The daemon's object.
    public static let daemonPath = "/org/freedesktop/DBus"
    /// Get, Set, GetAll and PropertiesChanged.
    public static let properties = "org.freedesktop.DBus.Properties"
    /// GetManagedObjects, InterfacesAdded and InterfacesRemoved.
    public static let objectManager = "org.freedesktop.DBus.ObjectManager"
    /// Introspect.
    public static let introspectable = "org.freedesktop.DBus.Introspectable"
}
