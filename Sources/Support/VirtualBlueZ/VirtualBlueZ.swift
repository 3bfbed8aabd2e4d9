// SPDX-License-Identifier: Apache-2.0

package import HybridDBus
internal import HybridPrimitives

/// A simulated bluetoothd: `org.bluez` on a private bus, with virtual adapters that receive each other's adverts.
///
/// Programs under test are unmodified and see no difference. They register adverts with LEAdvertisingManager1, and
/// their advert objects are read as bluetoothd reads them. Scanners see Device1 objects appear, change and disappear.
/// Errors have the names and texts of bluetoothd, for example for an advert over 31 bytes, too many adverts, or an
/// adapter that is off. With a second name on the same bus, `org.hybrid.Lab`, tests simulate failures (`AirControl`).
///
/// A virtual radio does not prove proximity. Programs detect that the bus is not the system bus, and report this.
package actor VirtualBlueZ {
    /// The time between two timer ticks.
    private static let tick = Duration.milliseconds(25)
    /// The maximum number of messages that are waiting to be handled.
    private static let backlog = 4096

    private let connection: BusConnection
    private var model: BlueZModel

    private init(_ connection: BusConnection, _ settings: AirSettings) {
        self.connection = connection
        model = BlueZModel(settings)
    }

    /// Serves `org.bluez` on the bus at `address` while `body` runs.
    ///
    /// - Throws: `BusError` if the bus cannot be used or already has an `org.bluez`; the error that `body` throws.
    package static func serve<R: Sendable>(
        on address: BusAddress,
        _ settings: AirSettings = AirSettings(),
        isolation: isolated (any Actor)? = #isolation,
        while body: () async throws -> R
    ) async throws -> R {
        let (messages, sink) = AsyncStream.makeStream(of: BusMessage.self, bufferingPolicy: .bufferingOldest(backlog))
        let connection = try await BusConnection.connect(to: address) { message in
            if case .enqueued = sink.yield(message) { return .later }
            return .error(name: "org.freedesktop.DBus.Error.LimitsExceeded", message: "Too many calls at once.")
        }
        let bluez = VirtualBlueZ(connection, settings)
        return try await withCleanup {
            await bluez.end()
        } of: {
            try await bluez.requestNames(forwardingTo: sink)
            return try await withThrowingTaskGroup(of: Void.self, isolation: isolation) { group in
                group.addTask { await bluez.handle(messages) }
                group.addTask { await bluez.runTimer() }
                defer { group.cancelAll() }
                return try await body()
            }
        }
    }

    private func requestNames(forwardingTo sink: AsyncStream<BusMessage>.Continuation) async throws(BusError) {
        let rules = [
            "type='signal',sender='\(BusNames.daemon)',member='NameOwnerChanged',arg2=''",
            "type='signal',interface='\(BusNames.properties)',member='PropertiesChanged',"
                + "arg0='\(BlueZNames.advertisement)'",
        ]
        _ = try await connection.observe(rules) { event in
            switch event {
            case .signal(let signal): sink.yield(signal)
            case .disconnected: sink.finish()
            }
        }
        for name in [AirControl.name, BlueZNames.bluez] {
            guard try await connection.requestName(name) else {
                throw .refused(name: "org.freedesktop.DBus.Error.AddressInUse", message: name + " is taken")
            }
        }
    }

    /// Calls Release on all registered adverts, as bluetoothd does, and closes the connection.
    private func end() async {
        for (key, advert) in model.air.adverts where advert.adapter != nil {
            connection.send(key.owner, key.path, BlueZNames.advertisement, "Release")
        }
        await connection.close()
    }

    private func runTimer() async {
        while !Task.isCancelled {
            emit(model.advance(to: .now, isTick: true))
            try? await Task.sleep(for: Self.tick)
        }
    }

    private func handle(_ messages: AsyncStream<BusMessage>) async {
        await withDiscardingTaskGroup { group in
            for await message in messages {
                switch message.kind {
                case .signal: handle(message)
                case .methodCall:
                    if await !answer(message) { group.addTask { await self.register(message) } }
                }
                settle()
            }
        }
    }

    /// Advances the time and sends the signals that are due.
    private func settle() {
        emit(model.advance(to: .now, isTick: false))
    }

    private func emit(_ signals: [ObjectTree.Signal]) {
        for signal in signals {
            connection.emit(signal.path, signal.interface, signal.member, signal.body)
        }
    }

    /// Answers a call.
    ///
    /// - Returns: False if an advert's object must be read first.
    private func answer(_ call: BusMessage) async -> Bool {
        let wasPresent = model.isPresent
        let reply = model.answer(call, now: .now)
        if case .later = reply { return false }
        switch (wasPresent, model.isPresent) {
        case (true, false): try? await connection.releaseName(BlueZNames.bluez)
        case (false, true): _ = try? await connection.requestName(BlueZNames.bluez)
        default: break
        }
        send(reply, to: call)
        return true
    }

    private func send(_ reply: BusReply, to call: BusMessage) {
        emit(model.tree.takeSignalsBeforeReply())
        guard call.path == AirControl.path || model.swallowed.remove(call.member) == nil else { return }
        connection.reply(to: call, with: reply)
    }

    /// Handles a signal: a client has left the bus, or an advert has changed.
    private func handle(_ signal: BusMessage) {
        if signal.sender == BusNames.daemon, signal.isSignal(BusNames.daemon, "NameOwnerChanged"),
            signal.body.count == 3, let name = signal.body[0].text, signal.body[2].text == ""
        {
            model.clientLeft(name, now: .now)
        } else if signal.isSignal(BusNames.properties, "PropertiesChanged"), model.advertChanged(signal, now: .now) {
            setTransmissionPower(of: Air.Key(owner: signal.sender, path: signal.path))
        }
    }

    private func register(_ call: BusMessage) async {
        let key = Air.Key(ofAdvertIn: call)
        let reply = model.finishRegistering(key, await properties(of: key))
        if case .values = reply { setTransmissionPower(of: key) }
        send(reply, to: call)
        settle()
    }

    /// Reads the properties of an advert's object.
    ///
    /// Like bluetoothd, this also requests the objects below the advert's object and ignores the reply.
    private func properties(of key: Air.Key) async -> ObjectTree.Properties {
        connection.send(key.owner, key.path, BusNames.objectManager, "GetManagedObjects")
        let arguments = [BusValue.string(BlueZNames.advertisement)]
        let answer = try? await connection.call(key.owner, key.path, BusNames.properties, "GetAll", arguments)
        return answer?.first?.fields ?? [:]
    }

    /// Sets the transmission power on an advert's object, as bluetoothd does even if the object has no such property.
    private func setTransmissionPower(of key: Air.Key) {
        let arguments: [BusValue] = [.string(BlueZNames.advertisement), .string("TxPower"), .variant(.int16(0))]
        connection.send(key.owner, key.path, BusNames.properties, "Set", arguments)
    }
}
