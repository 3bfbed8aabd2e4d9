// SPDX-License-Identifier: Apache-2.0

internal import HybridDBus

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
            halted.remove(adapter)
            air.scanEnded(on: adapter, &tree)
            tree.set(adapter, BlueZNames.adapter, ["Discovering": .bool(false)])
        }
    }

    /// Stops discovery as after a failure of the controller: the clients are kept, and none can start it again before
    /// it has stopped.
    mutating func haltDiscovery(of adapter: String) {
        halted.insert(adapter)
        air.scanEnded(on: adapter, &tree)
        tree.set(adapter, BlueZNames.adapter, ["Discovering": .bool(false)])
    }

    /// Turns an adapter on or off.
    ///
    /// Turning it off ends its scans and suspends its adverts until the adapter is on again.
    mutating func setPowered(_ adapter: String, _ isOn: Bool) {
        guard isPowered(adapter) != isOn else { return }
        tree.set(adapter, BlueZNames.adapter, ["PowerState": .string(isOn ? "off-enabling" : "on-disabling")])
        tree.replyHere()
        if isOn {
            tree.set(adapter, BlueZNames.adapter, ["PowerState": .string("on"), "Powered": .bool(true)])
        } else {
            scanners[adapter] = []
            halted.remove(adapter)
            air.scanEnded(on: adapter, &tree)
            let changes: ObjectTree.Properties = [
                "Class": .uint32(0), "Discovering": .bool(false), "PowerState": .string("off"), "Powered": .bool(false),
            ]
            tree.set(adapter, BlueZNames.adapter, changes)
        }
    }

    /// Blocks or unblocks an adapter as rfkill does; in both cases the adapter is then off.
    mutating func setBlocked(_ adapter: String, _ isBlocked: Bool) {
        setPowered(adapter, false)
        tree.set(adapter, BlueZNames.adapter, ["PowerState": .string(isBlocked ? "off-blocked" : "off")])
    }

    mutating func properties(_ call: BusMessage) -> BusReply {
        let interface = call.body[0].text ?? ""
        let name = call.body.dropFirst().first?.text ?? ""
        guard let properties = tree.objects[call.path]?[interface] else { return .noInterface(interface) }
        switch call.member {
        case "GetAll": return .values([.properties(properties)])
        case "Get": return properties[name].map { .values([.variant($0)]) } ?? .noProperty(name)
        case "Set":
            guard let old = properties[name] else { return .noPropertyToSet(name) }
            guard Self.isWritable(name, of: interface) else { return .readOnly(name) }
            let new = call.body[2].unwrapped
            guard new.typeSignature == old.typeSignature else { return .wrongType(name) }
            if name == "Powered", let isOn = new.flag {
                // bluetoothd returns the kernel's reply to SET_POWERED of the mgmt API.
                if isOn, tree.get(call.path, interface, "PowerState") == .string("off-blocked") { return .blocked }
                setPowered(call.path, isOn)
            } else if new != old {
                tree.set(call.path, interface, [name: new])
            }
            return .done
        default: return .noMethod(call)
        }
    }

    /// Returns true if clients can set the property.
    static func isWritable(_ name: String, of interface: String) -> Bool {
        let writable = [
            "Powered", "Alias", "Connectable", "Discoverable", "DiscoverableTimeout", "Pairable", "PairableTimeout",
        ]
        return interface == BlueZNames.adapter && writable.contains(name)
    }
}
