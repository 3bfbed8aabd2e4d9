// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
internal import HybridSystemBus

/// The control object of the lab, by which tests make the radio misbehave.
///
/// The shipped programs never use it.
enum LabControl {
    static let name = "org.hybrid.Lab"
    static let path = "/org/hybrid/lab/air"
    static let interface = "org.hybrid.Lab.Air1"
    /// The owner of injected adverts.
    ///
    /// No unique bus name looks like it.
    private static let owner = "injected"

    static func answer(
        _ call: BusMessage,
        _ model: inout BlueZModel,
        now: ContinuousClock.Instant
    ) -> BlueZModel.Outcome {
        switch call.member {
        case "Vanish": .vanish
        case "Return": .comeBack
        case "ActiveAdverts": .reply(.values([.strings(active(model))]))
        case "Inject": .reply(inject(call, &model))
        case "InjectProperties": .reply(injectProperties(call, &model))
        case "Flood": .reply(flood(call, &model, now: now))
        case "FloodCount": .reply(floodCount(call, model))
        case "Remove": .reply(remove(call, &model, now: now))
        case "SetPowered": .reply(setPowered(call, &model))
        case "SetBlocked": .reply(setBlocked(call, &model))
        case "SetSlots": .reply(setSlots(call, &model))
        case "FailNext": .reply(failNext(call, &model))
        case "SwallowNext": .reply(swallowNext(call, &model))
        default: .reply(.unknownMethod)
        }
    }

    /// Returns the service data of all adverts being sent, in hexadecimal.
    private static func active(_ model: BlueZModel) -> [String] {
        let adverts = model.air.adverts.values.filter { $0.adapter.map(model.isPowered) ?? true }
        return adverts.flatMap { advert -> [String] in
            (advert.properties["ServiceData"]?.fields ?? [:]).values.compactMap { $0.octets.map(Hex.encode) }
        }.sorted()
    }

    /// Inject(s uuid, ay data) → s handle: adds an advert of any length that belongs to no adapter.
    private static func inject(_ call: BusMessage, _ model: inout BlueZModel) -> BusReply {
        guard call.body.count == 2, let uuid = call.body[0].text, let data = call.body[1].octets else {
            return .invalidArguments
        }
        let full = AdvertContent.fullUUID(uuid)
        let properties: ObjectTree.Properties = [
            "UUIDs": .strings([full]),
            "ServiceData": AdvertContent.serviceDataProperty([(full, data)]),
        ]
        return put(properties, &model)
    }

    /// InjectProperties(a{sv}) → s handle: adds a device with exactly these properties.
    private static func injectProperties(_ call: BusMessage, _ model: inout BlueZModel) -> BusReply {
        guard call.body.count == 1, let properties = call.body[0].fields else { return .invalidArguments }
        return put(properties, &model)
    }

    private static func put(_ properties: ObjectTree.Properties, _ model: inout BlueZModel) -> BusReply {
        model.lastInjected += 1
        let handle = "injected\(model.lastInjected)"
        model.air.inject(Air.Key(owner: owner, path: handle), properties)
        return .values([.string(handle)])
    }

    /// Remove(s handle).
    private static func remove(
        _ call: BusMessage,
        _ model: inout BlueZModel,
        now: ContinuousClock.Instant
    ) -> BusReply {
        guard let handle = call.body.first?.text else { return .invalidArguments }
        let key = Air.Key(owner: owner, path: handle)
        guard model.air.adverts[key] != nil else { return .doesNotExist }
        model.remove(key, now: now)
        return .done
    }

    /// Flood(s adapter, u rate, u seconds): starts a flood of `rate` adverts per second.
    private static func flood(
        _ call: BusMessage,
        _ model: inout BlueZModel,
        now: ContinuousClock.Instant
    ) -> BusReply {
        guard let adapter = adapter(call, model), call.body.count == 3, case .uint32(let rate) = call.body[1],
            case .uint32(let seconds) = call.body[2],
            let flood = Flood(rate: Int(rate), seconds: Int(seconds), now: now)
        else { return .invalidArguments }
        model.air.start(flood, on: adapter, &model.tree)
        return .done
    }

    /// FloodCount(s adapter) → (uu): the numbers of the flood's adverts that were sent and that a scan received.
    private static func floodCount(_ call: BusMessage, _ model: BlueZModel) -> BusReply {
        guard let adapter = adapter(call, model), let flood = model.air.floods[adapter] else { return .doesNotExist }
        let counts = [flood.sent, flood.received].map { BusValue.uint32(UInt32(clamping: $0)) }
        return .values([.structure(counts)])
    }

    /// SetPowered(s adapter, b on), with a name such as `hci0`.
    private static func setPowered(_ call: BusMessage, _ model: inout BlueZModel) -> BusReply {
        guard let adapter = adapter(call, model), call.body.count == 2, let isOn = call.body[1].flag else {
            return .invalidArguments
        }
        model.setPowered(adapter, isOn)
        return .done
    }

    /// SetBlocked(s adapter, b blocked): blocks or unblocks as rfkill does.
    private static func setBlocked(_ call: BusMessage, _ model: inout BlueZModel) -> BusReply {
        guard let adapter = adapter(call, model), call.body.count == 2, let isBlocked = call.body[1].flag else {
            return .invalidArguments
        }
        model.setBlocked(adapter, isBlocked)
        return .done
    }

    /// SetSlots(s adapter, u count).
    private static func setSlots(_ call: BusMessage, _ model: inout BlueZModel) -> BusReply {
        guard let adapter = adapter(call, model), call.body.count == 2, case .uint32(let count) = call.body[1] else {
            return .invalidArguments
        }
        model.slots[adapter] = UInt8(clamping: count)
        model.updateSlots(of: adapter)
        return .done
    }

    /// FailNext(s method, s errorName, s text): makes the next call of a method fail with this error.
    private static func failNext(_ call: BusMessage, _ model: inout BlueZModel) -> BusReply {
        let texts = call.body.compactMap(\.text)
        guard texts.count == 3, call.body.count == 3 else { return .invalidArguments }
        model.failures[texts[0]] = .error(name: texts[1], message: texts[2])
        return .done
    }

    /// SwallowNext(s method): makes the next call of a method take effect without a reply.
    private static func swallowNext(_ call: BusMessage, _ model: inout BlueZModel) -> BusReply {
        guard call.body.count == 1, let method = call.body[0].text else { return .invalidArguments }
        model.swallowed.insert(method)
        return .done
    }

    private static func adapter(_ call: BusMessage, _ model: BlueZModel) -> String? {
        guard let name = call.body.first?.text else { return nil }
        return model.tree.objects["/org/bluez/" + name]?[BlueZNames.adapter] == nil ? nil : "/org/bluez/" + name
    }
}
