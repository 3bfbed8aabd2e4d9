// SPDX-License-Identifier: Apache-2.0

internal import HybridSystemBus

// org.bluez.Adapter1 and the properties of all objects.
extension BlueZModel {
    mutating func adapter(_ call: BusMessage, now: ContinuousClock.Instant) -> BusReply {
        let path = call.path
        switch call.member {
        case "SetDiscoveryFilter":
            guard let fields = call.body.first?.fields else { return .invalidArguments }
            guard isPowered(path) else { return .notReady }
            guard let filter = DiscoveryFilter(fields) else { return .invalidArguments }
            filters[path, default: [:]][call.sender] = filter
            return .done
        case "GetDiscoveryFilters":
            let filters = ["UUIDs", "RSSI", "Pathloss", "Transport", "DuplicateData", "Discoverable", "Pattern"]
            return .values([.strings(filters)])
        case "StartDiscovery":
            guard isPowered(path) else { return .notReady }
            guard scanners[path]?.contains(call.sender) == false else { return .inProgress }
            let isFirst = scanners[path]?.isEmpty != false
            scanners[path]?.insert(call.sender)
            if isFirst { tree.set(path, BlueZNames.adapter, ["Discovering": .bool(true)]) }
            air.scanStarted(on: path, now: now)
            return .done
        case "StopDiscovery":
            guard isPowered(path) else { return .notReady }
            guard scanners[path]?.contains(call.sender) == true else { return .notScanning }
            stopScan(of: call.sender, on: path)
            return .done
        case "RemoveDevice":
            guard let device = call.body.first?.text, tree.objects[device]?[BlueZNames.device] != nil else {
                return .doesNotExist
            }
            air.forget(device)
            tree.remove(device)
            tree.replyHere()
            return .done
        default:
            return .noMethod(call)
        }
    }

    func isPowered(_ adapter: String) -> Bool {
        tree.get(adapter, BlueZNames.adapter, "Powered") == .bool(true)
    }

    mutating func stopScan(of name: String, on adapter: String) {
        scanners[adapter]?.remove(name)
        if scanners[adapter]?.isEmpty == true {
            air.scanEnded(on: adapter, &tree)
            tree.set(adapter, BlueZNames.adapter, ["Discovering": .bool(false)])
        }
    }

    /// Turns an adapter on or off.
    ///
    /// Off ends every scan there; adverts are suspended until it is on again.
    mutating func setPowered(_ adapter: String, _ isOn: Bool) {
        guard isPowered(adapter) != isOn else { return }
        tree.set(adapter, BlueZNames.adapter, ["PowerState": .string(isOn ? "off-enabling" : "on-disabling")])
        tree.replyHere()
        if isOn {
            tree.set(adapter, BlueZNames.adapter, ["PowerState": .string("on"), "Powered": .bool(true)])
        } else {
            scanners[adapter] = []
            air.scanEnded(on: adapter, &tree)
            let changes: ObjectTree.Properties = [
                "Class": .uint32(0), "Discovering": .bool(false), "PowerState": .string("off"), "Powered": .bool(false),
            ]
            tree.set(adapter, BlueZNames.adapter, changes)
        }
    }

    /// Blocks an adapter as rfkill does, or unblocks it.
    ///
    /// Both leave it off.
    mutating func setBlocked(_ adapter: String, _ isBlocked: Bool) {
        setPowered(adapter, false)
        tree.set(adapter, BlueZNames.adapter, ["PowerState": .string(isBlocked ? "off-blocked" : "off")])
    }

    mutating func properties(_ call: BusMessage, now: ContinuousClock.Instant) -> BusReply {
        let texts = call.body.map { $0.text ?? "" }
        guard let interface = texts.first, let properties = tree.objects[call.path]?[interface] else {
            return .noInterface(texts.first ?? "")
        }
        switch call.member {
        case "GetAll": return .values([.properties(properties)])
        case "Get":
            guard texts.count == 2, let value = properties[texts[1]] else { return .noProperty(texts.last ?? "") }
            return .values([.variant(value)])
        case "Set" where texts.count == 3:
            guard let old = properties[texts[1]] else { return .noPropertyToSet(texts[1]) }
            return set(call.path, interface, texts[1], from: old, to: call.body[2].unwrapped)
        default: return .noMethod(call)
        }
    }

    private static let writable: Set = [
        "Powered", "Alias", "Connectable", "Discoverable", "DiscoverableTimeout", "Pairable", "PairableTimeout",
    ]

    private mutating func set(
        _ path: String,
        _ interface: String,
        _ name: String,
        from old: BusValue,
        to new: BusValue
    ) -> BusReply {
        guard interface == BlueZNames.adapter, Self.writable.contains(name) else { return .readOnly(name) }
        guard new.typeSignature == old.typeSignature else { return .wrongType(name) }
        if name == "Powered", let isOn = new.flag {
            // The kernel's reply to SET_POWERED of the mgmt API, which bluetoothd passes on.
            if isOn, tree.get(path, BlueZNames.adapter, "PowerState") == .string("off-blocked") { return .blocked }
            setPowered(path, isOn)
        } else if new != old {
            tree.set(path, interface, [name: new])
        }
        return .done
    }
}
