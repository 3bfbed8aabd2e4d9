// SPDX-License-Identifier: Apache-2.0

internal import CHybridSystemd
private import Glibc
internal import HybridThreads

/// The thread of a connection, with all state that only this thread may access.
///
/// No sd-bus callbacks are used. `sd_bus_process` returns every message that sd-bus does not handle itself: a reply to
/// a pending call, a method call or a signal.
final class BusThread {
    /// The result of connecting.
    typealias Greeting = (uniqueName: String, origin: BusOrigin)

    struct Configuration: Sendable {
        let address: BusAddress
        let deadline: UInt64
        let inbox: BusInbox
        /// The dictionary entries to read from signals.
        let selection: BusSelection
        let handler: BusConnection.Handler
        let connected: CheckedContinuation<Result<Greeting, BusError>, Never>
    }

    private let configuration: Configuration
    private var bus: OpaquePointer?
    private var isConnected = false
    private var isAnonymous = false
    private var isClosing = false
    private var pending: [UInt64: PendingCall] = [:]
    private var deferred: [UInt64: OpaquePointer] = [:]
    private var lastReplyToken: UInt64 = 0

    /// Starts the thread.
    ///
    /// The thread resumes `configuration.connected` once, and ends on `.close` or when the bus disconnects.
    static func start(_ configuration: Configuration) {
        guard !DedicatedThread.start({ BusThread(configuration).run() }) else { return }
        _ = configuration.inbox.close()
        configuration.connected.resume(returning: .failure(.notReachable(address: configuration.address.text)))
    }

    private init(_ configuration: Configuration) {
        self.configuration = configuration
    }

    private var unreachable: BusError { .notReachable(address: configuration.address.text) }

    private func run() {
        var failure = connect()
        while failure == nil, !isClosing {
            failure = runOnce()
        }
        end(because: failure ?? .cancelled)
    }

    /// Connects to the bus.
    ///
    /// - Parameter anonymously: True to authenticate without a user ID. A private bus accepts only that method from
    ///   users who are not in the user database.
    private func connect(anonymously: Bool = false) -> BusError? {
        guard sd_bus_new(&bus) >= 0, let bus,
            sd_bus_set_address(bus, configuration.address.text) >= 0,
            sd_bus_set_bus_client(bus, 1) >= 0,
            sd_bus_negotiate_fds(bus, 0) >= 0,
            sd_bus_set_anonymous(bus, anonymously ? 1 : 0) >= 0,
            sd_bus_start(bus) >= 0
        else { return unreachable }
        return nil
    }

    /// Handles all pending commands, messages and deadlines, then waits until there are more.
    private func runOnce() -> BusError? {
        for command in configuration.inbox.takeCommands() {
            perform(command)
        }
        if isClosing { return nil }
        if let failure = receive() { return failure }
        if let failure = finishConnecting() { return failure }
        expire()
        return wait()
    }

    private func receive() -> BusError? {
        while true {
            var message: OpaquePointer?
            let result = sd_bus_process(bus, &message)
            guard result >= 0 else {
                if isConnected { return .disconnected }
                // The bus has rejected the user ID. The system bus accepts no anonymous clients.
                guard result == -EPERM, !isAnonymous, !configuration.address.namesSystemSocket else {
                    return unreachable
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

    private func finishConnecting() -> BusError? {
        guard !isConnected else { return nil }
        guard sd_bus_is_ready(bus) > 0 else {
            return BusClock.now < configuration.deadline ? nil : .timedOut
        }
        var name: UnsafePointer<CChar>?
        guard sd_bus_get_unique_name(bus, &name) >= 0 else { return unreachable }
        isConnected = true
        let origin = BusOrigin(of: sd_bus_get_fd(bus), at: configuration.address)
        configuration.connected.resume(returning: .success((BusMessage.text(name), origin)))
        return nil
    }

    private func wait() -> BusError? {
        let events = sd_bus_get_events(bus)
        guard events >= 0 else { return isConnected ? .disconnected : unreachable }
        var soonest = UInt64.max
        _ = sd_bus_get_timeout(bus, &soonest)
        if !isConnected { soonest = min(soonest, configuration.deadline) }
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
            pollfd(fd: configuration.inbox.descriptor, events: CShort(POLLIN), revents: 0),
        ]
        _ = poll(&descriptors, nfds_t(descriptors.count), milliseconds)
        return nil
    }

    /// Releases all resources and resumes all waiting continuations.
    private func end(because reason: BusError) {
        for message in deferred.values {
            sd_bus_message_unref(message)
        }
        deferred = [:]
        // Close without flushing, which would wait for a daemon that may never read.
        if bus != nil { bus = sd_bus_close_unref(bus) }
        let waiting = configuration.inbox.close()
        if !isConnected { configuration.connected.resume(returning: .failure(reason)) }
        for call in pending.values {
            call.continuation.resume(returning: .failure(.disconnected))
        }
        for case .call(let call) in waiting {
            call.continuation.resume(returning: .failure(.disconnected))
        }
        for observer in configuration.inbox.observers {
            observer(.disconnected)
        }
        configuration.inbox.ended.set(true)
    }
}

// MARK: - Commands

extension BusThread {
    private func perform(_ command: BusInbox.Command) {
        switch command {
        case .call(let call): start(call)
        case .cancel(let cancellation):
            guard let cookie = pending.first(where: { $0.value.cancellation === cancellation })?.key else { return }
            pending.removeValue(forKey: cookie)?.continuation.resume(returning: .failure(.cancelled))
        case .reply(to: let token, let reply):
            guard let message = deferred.removeValue(forKey: token) else { return }
            answer(message, with: reply)
            sd_bus_message_unref(message)
        case .emit(let target, let arguments):
            _ = send(target, arguments, expectsReply: false)
        case .close:
            isClosing = true
        }
    }

    private func start(_ call: PendingCall) {
        if call.cancellation.current != nil {
            call.continuation.resume(returning: .failure(.cancelled))
        } else if pending.count >= BusLimits.pendingCalls {
            call.continuation.resume(returning: .failure(.malformed("too many calls at once")))
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
            guard let signal = try? BusMessage(message, kind: .signal, configuration.selection) else { return }
            for observer in configuration.inbox.observers {
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
        lastReplyToken += 1
        let token = lastReplyToken
        let call: BusMessage
        do throws(BusError) {
            call = try BusMessage(message, kind: .methodCall, replyToken: token)
        } catch {
            answer(message, with: .error(name: "org.freedesktop.DBus.Error.InvalidArgs", message: "Unreadable call."))
            return
        }
        let reply = configuration.handler(call)
        guard case .later = reply else { return answer(message, with: reply) }
        guard deferred.count < BusLimits.deferredReplies else {
            let limits = "org.freedesktop.DBus.Error.LimitsExceeded"
            return answer(message, with: .error(name: limits, message: "Too many calls at once."))
        }
        deferred[token] = sd_bus_message_ref(message)
    }

    private func answer(_ call: OpaquePointer, with reply: BusReply) {
        guard sd_bus_message_get_expect_reply(call) > 0 else { return }
        var message: OpaquePointer?
        switch reply {
        case .later: return
        case .error(let name, let text): message = errorReply(to: call, name: name, text: text)
        case .values(let values):
            guard sd_bus_message_new_method_return(call, &message) >= 0, let built = message else { return }
            do throws(BusError) {
                try MessageWriter.append(values, to: built)
            } catch {
                sd_bus_message_unref(built)
                message = errorReply(to: call, name: "org.freedesktop.DBus.Error.Failed", text: "No answer.")
            }
        }
        guard let message else { return }
        sd_bus_send(bus, message, nil)
        sd_bus_message_unref(message)
    }

    private func errorReply(to call: OpaquePointer, name: String, text: String) -> OpaquePointer? {
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

/// The monotonic clock in microseconds, the unit of sd-bus.
enum BusClock {
    static var now: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000 + UInt64(time.tv_nsec) / 1000
    }

    static func deadline(after duration: Duration) -> UInt64 {
        // Durations are limited to a year, so that the sum cannot overflow.
        now + UInt64(max(.zero, min(duration, .seconds(31_536_000))) / .microseconds(1))
    }

    static func remaining(until deadline: UInt64) -> UInt64 {
        let now = now
        return deadline > now ? deadline - now : 0
    }
}
