// SPDX-License-Identifier: Apache-2.0

internal import HybridDBus
internal import HybridPrimitives

// The control object, with which tests simulate failures of the radio. The shipped programs never use it.
extension BlueZModel {
    /// The owner of injected adverts, which is not a valid unique bus name.
    private static let injector = "injected"

    mutating func control(_ call: BusMessage, now: ContinuousClock.Instant) -> BusReply {
        guard Introspection.accepts(call) else { return .noMethod(call) }
        switch call.member {
        case "Inject":
            let uuid = AdvertContent.fullUUID(call.body[0].text ?? "")
            let data = AdvertContent.serviceDataProperty([(uuid, call.body[1].octets ?? [])])
            return inject(["UUIDs": .strings([uuid]), "ServiceData": data])
        case "InjectProperties":
            guard let properties = call.body[0].fields else { return .invalidArguments }
            return inject(properties)
        case "Remove":
            let key = Air.Key(owner: Self.injector, path: call.body[0].text ?? "")
            guard air.adverts[key] != nil else { return .doesNotExist }
            remove(key, now: now)
        case "Flood":
            guard let adapter = adapter(named: call.body[0]), case .uint32(let rate) = call.body[1],
                case .uint32(let seconds) = call.body[2],
                let flood = Flood(rate: Int(rate), seconds: Int(seconds), now: now)
            else { return .invalidArguments }
            air.start(flood, on: adapter, &tree)
        case "FloodCount":
            guard let adapter = adapter(named: call.body[0]), let flood = air.floods[adapter] else {
                return .doesNotExist
            }
            return .values([.structure([flood.sent, flood.received].map { .uint32(UInt32(clamping: $0)) })])
        case "SetPowered":
            guard let adapter = adapter(named: call.body[0]) else { return .invalidArguments }
            setPowered(adapter, call.body[1].flag == true)
        case "SetBlocked":
            guard let adapter = adapter(named: call.body[0]) else { return .invalidArguments }
            setBlocked(adapter, call.body[1].flag == true)
        case "SetSlots":
            guard let adapter = adapter(named: call.body[0]), case .uint32(let count) = call.body[1] else {
                return .invalidArguments
            }
            slots[adapter] = UInt8(clamping: count)
            updateSlots(of: adapter)
        case "SetRoles":
            guard let adapter = adapter(named: call.body[0]) else { return .invalidArguments }
            tree.set(adapter, BlueZNames.adapter, ["Roles": call.body[1]])
        case "FailNext":
            let texts = call.body.compactMap(\.text)
            failures[texts[0], default: []].append(.error(name: texts[1], message: texts[2]))
        case "HaltDiscovery":
            guard let adapter = adapter(named: call.body[0]) else { return .invalidArguments }
            haltDiscovery(of: adapter)
        case "SwallowNext": swallowed.formUnion(call.body.compactMap(\.text))
        case "Vanish": stopService()
        case "Return": startService()
        case "ActiveAdverts": return .values([.strings(activeAdverts)])
        default: return .noMethod(call)
        }
        return .done
    }

    /// The service data of all adverts being sent, in hexadecimal.
    private var activeAdverts: [String] {
        let adverts = air.adverts.values.filter { $0.adapter.map(isPowered) ?? true }
        let data = adverts.flatMap { $0.properties["ServiceData"]?.fields?.values.compactMap(\.octets) ?? [] }
        return data.map(Hex.encode).sorted()
    }

    /// Starts sending an advert from a sender that is not an adapter, and returns its handle.
    private mutating func inject(_ properties: ObjectTree.Properties) -> BusReply {
        lastInjected += 1
        let handle = "injected\(lastInjected)"
        air.inject(Air.Key(owner: Self.injector, path: handle), properties)
        return .values([.string(handle)])
    }

    /// Returns the path of the adapter with a name such as `hci0`; `nil` if there is no such adapter.
    private func adapter(named name: BusValue) -> String? {
        let path = "/org/bluez/" + (name.text ?? "")
        return tree.objects[path]?[BlueZNames.adapter] == nil ? nil : path
    }
}
