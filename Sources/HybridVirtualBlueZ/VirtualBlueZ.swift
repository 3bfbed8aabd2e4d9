// SPDX-License-Identifier: Apache-2.0

public import HybridSystemBus

/// A bluetoothd without Bluetooth: `org.bluez` on a private bus, with adapters that hear each other.
///
/// Programs under test are not changed and cannot tell: they register adverts with LEAdvertisingManager1, from an
/// object that is read back as bluetoothd does, and scanners see Device1 objects come, change and go. What
/// bluetoothd refuses is refused in its words: adverts over 31 bytes, one more than there are slots, an adapter
/// that is off. A second name on the same bus, `org.hybrid.Lab`, makes it misbehave (`AirControl`).
///
/// It proves nothing about who is near whom. Programs see that the bus is not the system's own and say so.
public actor VirtualBlueZ {
    /// How often time is looked at.
    private static let beat = Duration.milliseconds(25)
    /// Most messages that wait to be handled.
    private static let backlog = 4096

    private let connection: BusConnection
    private var model: BlueZModel

    private init(_ connection: BusConnection, _ settings: AirSettings) {
        self.connection = connection
        model = BlueZModel(settings)
    }

    /// Serves `org.bluez` on the bus at `address` while `body` runs.
    ///
    /// - Throws: `BusError` if the bus cannot be used or already has an `org.bluez`, or what `body` throws.
    public static func serve<R: Sendable>(
        on address: BusAddress,
        _ settings: AirSettings = AirSettings(),
        isolation: isolated (any Actor)? = #isolation,
        while body: () async throws -> R
    ) async throws -> R {
        let (messages, sink) = AsyncStream.makeStream(
            of: BusMessage.self,
            bufferingPolicy: .bufferingOldest(backlog)
        )
        let connection = try await BusConnection.connect(to: address) { message in
            if case .enqueued = sink.yield(message) { return .later }
            return .error(name: "org.freedesktop.DBus.Error.LimitsExceeded", message: "Too many calls at one time.")
        }
        let bluez = VirtualBlueZ(connection, settings)
        do {
            try await bluez.takeNames(telling: sink)
            let result = try await withThrowingTaskGroup(of: Void.self, isolation: isolation) { group in
                group.addTask { await bluez.handle(messages) }
                group.addTask { await bluez.keepTime() }
                defer { group.cancelAll() }
                return try await body()
            }
            await bluez.end()
            return result
        } catch {
            await bluez.end()
            throw error
        }
    }

    private func takeNames(telling sink: AsyncStream<BusMessage>.Continuation) async throws(BusError) {
        let rules = [
            "type='signal',sender='\(BusNames.daemon)',member='NameOwnerChanged',arg2=''",
            "type='signal',interface='\(BusNames.properties)',member='PropertiesChanged',"
                + "arg0='\(Names.advertisement)'",
        ]
        _ = try await connection.observe(rules) { event in
            switch event {
            case .signal(let signal): sink.yield(signal)
            case .disconnected: sink.finish()
            }
        }
        for name in [LabControl.name, Names.bluez] {
            guard try await connection.requestName(name) else {
                throw .refused(name: "org.freedesktop.DBus.Error.AddressInUse", message: name + " is taken")
            }
        }
    }

    /// Takes the names down and tells the owners of adverts that these are over.
    private func end() async {
        for (key, advert) in model.air.adverts where advert.adapter != nil {
            connection.send(key.owner, key.path, Names.advertisement, "Release")
        }
        await connection.close()
    }

    private func keepTime() async {
        while !Task.isCancelled {
            emit(model.advance(to: .now, isBeat: true))
            try? await Task.sleep(for: Self.beat)
        }
    }

    private func handle(_ messages: AsyncStream<BusMessage>) async {
        await withDiscardingTaskGroup { group in
            for await message in messages {
                switch message.kind {
                case .signal: take(message)
                case .methodCall:
                    if let key = await answer(message) { group.addTask { await self.register(key, message) } }
                }
                settle()
            }
        }
    }

    /// Lets time pass and sends what is due.
    private func settle() {
        emit(model.advance(to: .now, isBeat: false))
    }

    private func emit(_ signals: [ObjectTree.Signal]) {
        for signal in signals {
            connection.emit(signal.path, signal.interface, signal.member, signal.body)
        }
    }

    /// Answers a call, or returns the advert whose object must be read before.
    private func answer(_ call: BusMessage) async -> Air.Key? {
        switch model.answer(call, now: .now) {
        case .reply(let reply):
            emit(model.takeSignalsBeforeAnswer())
            guard call.path == LabControl.path || model.swallowed.remove(call.member) == nil else { break }
            connection.reply(to: call, with: reply)
        case .readAdvert(let key):
            return key
        case .vanish:
            model.vanish()
            try? await connection.releaseName(Names.bluez)
            connection.reply(to: call, with: .done)
        case .comeBack:
            model.comeBack()
            _ = try? await connection.requestName(Names.bluez)
            connection.reply(to: call, with: .done)
        }
        return nil
    }

    /// Takes a signal in: somebody left the bus, or an advert has changed.
    private func take(_ signal: BusMessage) {
        if signal.sender == BusNames.daemon, signal.isSignal(BusNames.daemon, "NameOwnerChanged"),
            signal.body.count == 3, let name = signal.body[0].text, signal.body[2].text == ""
        {
            model.left(name, now: .now)
        } else if signal.isSignal(BusNames.properties, "PropertiesChanged"), model.advertChanged(signal, now: .now) {
            tellPower(to: Air.Key(owner: signal.sender, path: signal.path))
        }
    }

    private func register(_ key: Air.Key, _ call: BusMessage) async {
        let properties = await read(key)
        let reply = model.finishRegistering(key, properties)
        if case .values = reply { tellPower(to: key) }
        emit(model.takeSignalsBeforeAnswer())
        connection.reply(to: call, with: reply)
        settle()
    }

    /// Reads an advert's object: it is asked for what is below it, too, which does not matter here.
    private func read(_ key: Air.Key) async -> ObjectTree.Properties {
        connection.send(key.owner, key.path, BusNames.objectManager, "GetManagedObjects")
        let arguments = [BusValue.string(Names.advertisement)]
        let answer = try? await connection.call(key.owner, key.path, BusNames.properties, "GetAll", arguments)
        return answer?.first?.fields ?? [:]
    }

    /// Sets the power it is sent with on an advert's object, as bluetoothd does whether it has the property or not.
    private func tellPower(to key: Air.Key) {
        let arguments: [BusValue] = [.string(Names.advertisement), .string("TxPower"), .variant(.int16(0))]
        connection.send(key.owner, key.path, BusNames.properties, "Set", arguments)
    }
}
