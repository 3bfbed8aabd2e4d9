// SPDX-License-Identifier: Apache-2.0

/// A connection to a D-Bus message bus.
///
/// Each connection has a dedicated thread, because an sd-bus connection must not be used by two threads. The other
/// programs on the bus are not trusted. Only the unique names are reliable, because the bus daemon assigns them.
///
/// A call is posted to an inbox. The thread sends it and stores its continuation under the message's serial number. The
/// continuation is resumed by the reply, the deadline, a cancellation or the end of the connection. Method calls from
/// others are passed to the handler given to `connect`, and signals are passed to every observer. Both run on the
/// thread and must not block. Closing ends the thread, closes its descriptors and resumes all pending calls.
///
/// `BusLimits` limits the size of messages from the bus. Any program can send a signal to this connection, even if no
/// match rule matches it. Observers must therefore compare `BusMessage.sender` with the unique name that they expect.
package final class BusConnection: Sendable {
    /// A closure that answers a method call.
    ///
    /// It runs on the connection's thread and must not block.
    package typealias Handler = @Sendable (BusMessage) -> BusReply

    /// An event for observers, which run on the connection's thread and must not block.
    package enum Event: Sendable {
        /// A signal was received.
        case signal(BusMessage)
        /// The connection has ended; this is the last event.
        case disconnected
    }

    /// A subscription, which `stopObserving` ends.
    package struct Observation: Sendable {
        let number: Int
        let rules: [String]
    }

    /// The connection's unique name, such as `:1.42`.
    package let uniqueName: String
    /// The origin of the bus.
    package let origin: BusOrigin
    /// True if the connection leads to the system bus.
    package var isSystemBus: Bool { origin == .system }

    private let inbox: BusInbox

    private init(inbox: BusInbox, greeting: BusThread.Greeting) {
        self.inbox = inbox
        uniqueName = greeting.uniqueName
        origin = greeting.origin
    }

    deinit {
        inbox.post(.close)
    }

    /// Connects to a bus, calls `body`, and closes the connection.
    package static func with<Result>(
        _ address: BusAddress,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (BusConnection) async throws(BusError) -> sending Result
    ) async throws(BusError) -> sending Result {
        try await connect(to: address).closing(after: body)
    }

    /// Connects to a bus, calls `body`, and closes the connection.
    ///
    /// - Parameters:
    ///   - address: The address of the bus.
    ///   - unreachable: The error to throw if there is no connection.
    ///   - cancelled: The error to throw if the task was canceled before.
    ///   - body: Uses the connection.
    package static func with<Result, Failure: Error>(
        _ address: BusAddress,
        isolation: isolated (any Actor)? = #isolation,
        unreachable: Failure,
        cancelled: Failure,
        _ body: (BusConnection) async throws(Failure) -> sending Result
    ) async throws(Failure) -> sending Result {
        let connection: BusConnection
        do throws(BusError) {
            connection = try await connect(to: address)
        } catch {
            throw error == .cancelled ? cancelled : unreachable
        }
        return try await connection.closing(after: body)
    }

    private func closing<Result, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        after body: (BusConnection) async throws(Failure) -> sending Result
    ) async throws(Failure) -> sending Result {
        let result: Result
        do throws(Failure) {
            result = try await body(self)
        } catch {
            await close()
            throw error
        }
        await close()
        return result
    }

    /// Connects to `address` and waits until the bus assigns a unique name.
    ///
    /// - Parameters:
    ///   - address: The address of the bus; the default is ``BusAddress/system``.
    ///   - timeout: The maximum time to wait for the bus.
    ///   - selection: The dictionary entries to read from signals.
    ///   - handler: The closure that answers method calls from others; by default, it exports no objects.
    /// - Throws: `BusError.notReachable`, `.timedOut` or `.cancelled`.
    package static func connect(
        to address: BusAddress = .system,
        timeout: Duration = .seconds(10),
        reading selection: BusSelection = .everything,
        handler: @escaping Handler = { _ in .unknownObject }
    ) async throws(BusError) -> BusConnection {
        guard let inbox = BusInbox() else { throw .notReachable(address: address.text) }
        let greeting = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                BusThread.start(
                    BusThread.Configuration(
                        address: address,
                        deadline: BusClock.deadline(after: timeout),
                        inbox: inbox,
                        selection: selection,
                        handler: handler,
                        connected: continuation
                    )
                )
            }
        } onCancel: {
            inbox.post(.close)
        }
        return BusConnection(inbox: inbox, greeting: try greeting.get())
    }

    /// Calls a method and returns the values of the reply.
    ///
    /// - Parameters:
    ///   - destination: The well-known or unique name of the called program.
    ///   - path: The path of the object.
    ///   - interface: The method's interface.
    ///   - member: The name of the method.
    ///   - arguments: The method's arguments.
    ///   - selection: The dictionary entries to read from the reply.
    ///   - timeout: The maximum time to wait for the reply.
    ///   - cancellable: True if canceling the task ends the wait; false for clean-up calls.
    package func call(
        _ destination: String,
        _ path: String,
        _ interface: String,
        _ member: String,
        _ arguments: [BusValue] = [],
        reading selection: BusSelection = .everything,
        timeout: Duration = .seconds(10),
        cancellable: Bool = true
    ) async throws(BusError) -> [BusValue] {
        let cancellation = CallCancellation()
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
                            cancellation: cancellation,
                            continuation: continuation
                        )
                    )
                )
            }
        } onCancel: {
            if cancellable {
                cancellation.set(())
                inbox.post(.cancel(cancellation))
            }
        }
        return try result.get()
    }

    /// Broadcasts a signal.
    ///
    /// The signal is lost if the connection has ended.
    package func emit(_ path: String, _ interface: String, _ member: String, _ arguments: [BusValue]) {
        let target = BusTarget(destination: nil, path: path, interface: interface, member: member)
        inbox.post(.emit(target, arguments))
    }

    /// Calls a method without requesting a reply.
    ///
    /// The call is lost if the connection has ended.
    package func send(
        _ destination: String,
        _ path: String,
        _ interface: String,
        _ member: String,
        _ arguments: [BusValue] = []
    ) {
        let target = BusTarget(destination: destination, path: path, interface: interface, member: member)
        inbox.post(.emit(target, arguments))
    }

    /// Answers a method call for which the handler returned `.later`.
    ///
    /// Additional replies to the same call are dropped.
    package func reply(to message: BusMessage, with reply: BusReply) {
        inbox.post(.reply(to: message.replyToken, reply))
    }

    /// Subscribes to signals.
    ///
    /// - Parameters:
    ///   - rules: Match rules in D-Bus notation; see the D-Bus Specification, "Match Rules".
    ///   - observer: The closure that receives all signals of the connection, including signals that match only the
    ///     rules of other observers.
    package func observe(
        _ rules: [String],
        _ observer: @escaping @Sendable (Event) -> Void
    ) async throws(BusError) -> Observation {
        let observation = Observation(number: inbox.addObserver(observer), rules: rules)
        // All at once, because a computer that contacts a phone waits for this.
        let failure = await withTaskGroup(of: BusError?.self) { group in
            for rule in rules {
                group.addTask {
                    do throws(BusError) {
                        _ = try await self.callBus("AddMatch", [.string(rule)])
                        return nil
                    } catch {
                        return error
                    }
                }
            }
            return await group.reduce(nil) { $0 ?? $1 }
        }
        guard let failure else { return observation }
        stopObserving(observation)
        throw failure
    }

    /// Ends a subscription.
    ///
    /// After this method has returned, the observer is not called again; a call in progress may still be running.
    package func stopObserving(_ observation: Observation) {
        inbox.removeObserver(observation.number)
        for rule in observation.rules {
            send(BusNames.daemon, BusNames.daemonPath, BusNames.daemon, "RemoveMatch", [.string(rule)])
        }
    }

    /// Requests a well-known name without queueing for it.
    ///
    /// - Returns: `false` if another program owns the name.
    package func requestName(_ name: String) async throws(BusError) -> Bool {
        let doNotQueue: UInt32 = 4
        let answer = try await callBus("RequestName", [.string(name), .uint32(doNotQueue)])
        let (primaryOwner, alreadyOwner) = (BusValue.uint32(1), BusValue.uint32(4))
        return answer.first == primaryOwner || answer.first == alreadyOwner
    }

    /// Releases a well-known name.
    package func releaseName(_ name: String) async throws(BusError) {
        _ = try await callBus("ReleaseName", [.string(name)])
    }

    /// Returns the unique name of the owner of `name`, or `nil` if there is none.
    package func owner(of name: String) async throws(BusError) -> String? {
        do throws(BusError) {
            return try await callBus("GetNameOwner", [.string(name)]).first?.text
        } catch {
            guard error.name == "org.freedesktop.DBus.Error.NameHasNoOwner" else { throw error }
            return nil
        }
    }

    /// Ends the connection and waits until its thread has ended and its descriptors are closed.
    ///
    /// This method is idempotent.
    package func close() async {
        inbox.post(.close)
        await inbox.ended.waitIgnoringCancellation()
    }

    private func callBus(_ member: String, _ arguments: [BusValue]) async throws(BusError) -> [BusValue] {
        try await call(BusNames.daemon, BusNames.daemonPath, BusNames.daemon, member, arguments)
    }
}

/// The names of the bus daemon and the standard interfaces.
package enum BusNames {
    /// The daemon's name and interface.
    package static let daemon = "org.freedesktop.DBus"
    /// The daemon's object.
    package static let daemonPath = "/org/freedesktop/DBus"
    /// The interface of Get, Set, GetAll and PropertiesChanged.
    package static let properties = "org.freedesktop.DBus.Properties"
    /// The interface of GetManagedObjects, InterfacesAdded and InterfacesRemoved.
    package static let objectManager = "org.freedesktop.DBus.ObjectManager"
    /// The interface of Introspect.
    package static let introspectable = "org.freedesktop.DBus.Introspectable"
}
