// SPDX-License-Identifier: Apache-2.0

internal import CHybridSystemd
private import Glibc
internal import HybridThreads

/// What the bus told a new connection.
struct BusGreeting: Sendable {
    let uniqueName: String
    let isSystemsOwn: Bool
}

/// The one thread of a connection, and all that only it may touch.
///
/// No callback of sd-bus is used: every message that sd-bus does not answer itself comes out of
/// `sd_bus_process`, and is an answer to a pending call, a method call, or a signal.
final class BusThread {
    struct Plan: Sendable {
        let address: BusAddress
        let deadline: UInt64
        let inbox: BusInbox
        /// What of signals is read.
        let selection: BusSelection
        let handler: BusConnection.Handler
        let ready: CheckedContinuation<Result<BusGreeting, BusError>, Never>
    }

    private let plan: Plan
    private var bus: OpaquePointer?
    private var isGreeted = false
    private var isAnonymous = false
    private var isClosing = false
    private var pending: [UInt64: PendingCall] = [:]
    private var deferred: [BusMessage.Ticket: OpaquePointer] = [:]
    private var lastTicket: UInt64 = 0

    /// Starts the thread; it resumes `plan.ready` once, and ends on `.close` or when the bus goes away.
    static func start(_ plan: Plan) {
        guard !DedicatedThread.start({ BusThread(plan).run() }) else { return }
        _ = plan.inbox.shut()
        plan.ready.resume(returning: .failure(.notReachable(address: plan.address.text)))
    }

    private init(_ plan: Plan) {
        self.plan = plan
    }

    private func run() {
        var failure = connect()
        while failure == nil, !isClosing {
            failure = turn()
        }
        end(because: failure ?? .cancelled)
    }

    /// - Parameter anonymously: whether to say no name; a bus for users whose number has none takes only such.
    private func connect(anonymously: Bool = false) -> BusError? {
        let unreachable = BusError.notReachable(address: plan.address.text)
        guard sd_bus_new(&bus) >= 0, let bus,
            sd_bus_set_address(bus, plan.address.text) >= 0,
            sd_bus_set_bus_client(bus, 1) >= 0,
            sd_bus_negotiate_fds(bus, 0) >= 0,
            sd_bus_set_anonymous(bus, anonymously ? 1 : 0) >= 0,
            sd_bus_start(bus) >= 0
        else { return unreachable }
        return nil
    }

    /// One round: commands, messages, deadlines, then sleep until there is more.
    private func turn() -> BusError? {
        for command in plan.inbox.take() {
            perform(command)
        }
        if isClosing { return nil }
        if let failure = receive() { return failure }
        if let failure = greet() { return failure }
        expire()
        return wait()
    }

    private func receive() -> BusError? {
        while true {
            var message: OpaquePointer?
            let result = sd_bus_process(bus, &message)
            guard result >= 0 else {
                if isGreeted { return .disconnected }
                // Refused by name. The system's own bus lets nobody in without one.
                guard result == -EPERM, !isAnonymous, !plan.address.namesSystemSocket else {
                    return .notReachable(address: plan.address.text)
                }
                isAnonymous = true
                bus = sd_bus_close_unref(bus)
                return connect(anonymously: true)
            }
            if result == 0 { return nil }
            guard let message else { continue }
            dispatch(message)
            sd_bus_message_unref(message)
        }
    }

    private func greet() -> BusError? {
        guard !isGreeted else { return nil }
        guard sd_bus_is_ready(bus) > 0 else {
            return BusClock.now < plan.deadline ? nil : .timedOut
        }
        var name: UnsafePointer<CChar>?
        guard sd_bus_get_unique_name(bus, &name) >= 0 else {
            return .notReachable(address: plan.address.text)
        }
        isGreeted = true
        let greeting = BusGreeting(
            uniqueName: BusMessage.text(name),
            isSystemsOwn: plan.address.namesSystemSocket && BusAddress.peerIsSystemSocket(sd_bus_get_fd(bus))
        )
        plan.ready.resume(returning: .success(greeting))
        return nil
    }

    private func wait() -> BusError? {
        let events = sd_bus_get_events(bus)
        guard events >= 0 else { return isGreeted ? .disconnected : .notReachable(address: plan.address.text) }
        var soonest = UInt64.max
        _ = sd_bus_get_timeout(bus, &soonest)
        if !isGreeted { soonest = min(soonest, plan.deadline) }
        for call in pending.values {
            soonest = min(soonest, call.deadline)
        }
        var milliseconds: CInt = -1
        if soonest != .max {
            let now = BusClock.now
            // Rounded up, so that a deadline has passed when poll returns.
            milliseconds = soonest <= now ? 0 : CInt(min((soonest - now + 999) / 1000, 3_600_000))
        }
        var descriptors = [
            pollfd(fd: sd_bus_get_fd(bus), events: CShort(events), revents: 0),
            pollfd(fd: plan.inbox.wake, events: CShort(POLLIN), revents: 0),
        ]
        _ = poll(&descriptors, nfds_t(descriptors.count), milliseconds)
        return nil
    }

    /// Lets go of everything and resumes all who wait.
    private func end(because reason: BusError) {
        for message in deferred.values {
            sd_bus_message_unref(message)
        }
        deferred = [:]
        // Closed, not flushed: flushing waits for a daemon that may never read.
        if bus != nil { bus = sd_bus_close_unref(bus) }
        let leftOver = plan.inbox.shut()
        if !isGreeted { plan.ready.resume(returning: .failure(reason)) }
        for call in pending.values {
            call.continuation.resume(returning: .failure(.disconnected))
        }
        for case .call(let call) in leftOver {
            call.continuation.resume(returning: .failure(.disconnected))
        }
        for observer in plan.inbox.observers {
            observer(.disconnected)
        }
        plan.inbox.ended.set(true)
    }
}

// MARK: - Commands

extension BusThread {
    private func perform(_ command: BusInbox.Command) {
        switch command {
        case .call(let call): start(call)
        case .cancel(let ticket):
            guard let cookie = pending.first(where: { $0.value.ticket === ticket })?.key else { return }
            pending.removeValue(forKey: cookie)?.continuation.resume(returning: .failure(.cancelled))
        case .reply(let ticket, let reply):
            guard let message = deferred.removeValue(forKey: ticket) else { return }
            answer(message, with: reply)
            sd_bus_message_unref(message)
        case .emit(let target, let arguments):
            _ = send(target, arguments, expectsReply: false)
        case .close:
            isClosing = true
        }
    }

    private func start(_ call: PendingCall) {
        if call.ticket.isCancelled {
            call.continuation.resume(returning: .failure(.cancelled))
        } else if pending.count >= BusLimits.pendingCalls {
            call.continuation.resume(returning: .failure(.malformed("too many calls at one time")))
        } else {
            switch send(call.target, call.arguments, expectsReply: true) {
            case .success(let cookie): pending[cookie] = call
            case .failure(let error): call.continuation.resume(returning: .failure(error))
            }
        }
    }

    private func send(_ target: BusTarget, _ arguments: [BusValue], expectsReply: Bool) -> Result<UInt64, BusError> {
        var message: OpaquePointer?
        let result =
            if let destination = target.destination {
                sd_bus_message_new_method_call(
                    bus,
                    &message,
                    destination,
                    target.path,
                    target.interface,
                    target.member
                )
            } else {
                sd_bus_message_new_signal(bus, &message, target.path, target.interface, target.member)
            }
        guard result >= 0, let message else { return .failure(.malformed("no such name can be sent to")) }
        defer { sd_bus_message_unref(message) }
        do throws(BusError) {
            try MessageWriter.append(arguments, to: message)
        } catch {
            return .failure(error)
        }
        if target.destination != nil, !expectsReply { sd_bus_message_set_expect_reply(message, 0) }
        var cookie: UInt64 = 0
        guard sd_bus_send(bus, message, &cookie) >= 0 else { return .failure(.disconnected) }
        return .success(cookie)
    }

    private func expire() {
        let now = BusClock.now
        for (cookie, call) in pending where call.deadline <= now {
            pending.removeValue(forKey: cookie)
            call.continuation.resume(returning: .failure(.timedOut))
        }
    }
}

// MARK: - Messages

extension BusThread {
    private func dispatch(_ message: OpaquePointer) {
        var type: UInt8 = 0
        sd_bus_message_get_type(message, &type)
        switch Int(type) {
        case Int(SD_BUS_MESSAGE_METHOD_RETURN), Int(SD_BUS_MESSAGE_METHOD_ERROR): finish(message)
        case Int(SD_BUS_MESSAGE_METHOD_CALL): serve(message)
        case Int(SD_BUS_MESSAGE_SIGNAL):
            guard let signal = try? BusMessage(message, kind: .signal, ticket: .init(number: 0), plan.selection)
            else { return }
            for observer in plan.inbox.observers {
                observer(.signal(signal))
            }
        default: break
        }
    }

    private func finish(_ message: OpaquePointer) {
        var cookie: UInt64 = 0
        guard sd_bus_message_get_reply_cookie(message, &cookie) >= 0,
            let call = pending.removeValue(forKey: cookie)
        else { return }
        if let error = sd_bus_message_get_error(message) {
            let name = BusMessage.text(error.pointee.name)
            let text = String(BusMessage.text(error.pointee.message).prefix(500))
            call.continuation.resume(returning: .failure(.refused(name: name, message: text)))
            return
        }
        do throws(BusError) {
            call.continuation.resume(returning: .success(try MessageReader.body(of: message, call.selection)))
        } catch {
            call.continuation.resume(returning: .failure(error))
        }
    }

    private func serve(_ message: OpaquePointer) {
        lastTicket += 1
        let ticket = BusMessage.Ticket(number: lastTicket)
        let call: BusMessage
        do throws(BusError) {
            call = try BusMessage(message, kind: .methodCall, ticket: ticket)
        } catch {
            answer(message, with: .error(name: "org.freedesktop.DBus.Error.InvalidArgs", message: "Unreadable call."))
            return
        }
        let reply = plan.handler(call)
        guard case .later = reply else { return answer(message, with: reply) }
        guard deferred.count < BusLimits.deferredReplies else {
            let limits = "org.freedesktop.DBus.Error.LimitsExceeded"
            return answer(message, with: .error(name: limits, message: "Too many calls at one time."))
        }
        deferred[ticket] = sd_bus_message_ref(message)
    }

    private func answer(_ call: OpaquePointer, with reply: BusReply) {
        guard sd_bus_message_get_expect_reply(call) > 0 else { return }
        var message: OpaquePointer?
        switch reply {
        case .later: return
        case .error(let name, let text): message = errorAnswer(to: call, name: name, text: text)
        case .values(let values):
            guard sd_bus_message_new_method_return(call, &message) >= 0, let built = message else { return }
            do throws(BusError) {
                try MessageWriter.append(values, to: built)
            } catch {
                sd_bus_message_unref(built)
                message = errorAnswer(to: call, name: "org.freedesktop.DBus.Error.Failed", text: "No answer.")
            }
        }
        guard let message else { return }
        sd_bus_send(bus, message, nil)
        sd_bus_message_unref(message)
    }

    private func errorAnswer(to call: OpaquePointer, name: String, text: String) -> OpaquePointer? {
        var message: OpaquePointer?
        name.withCString { name in
            text.withCString { text in
                var error = sd_bus_error(name: name, message: text, _need_free: 0)
                _ = sd_bus_message_new_method_error(call, &message, &error)
            }
        }
        return message
    }
}
