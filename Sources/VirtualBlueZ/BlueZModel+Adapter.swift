// SPDX-License-Identifier: Apache-2.0

internal import SystemBus

// org.bluez.Adapter1 and the properties of all objects.
extension BlueZModel {
    mutating func adapter(_ call: BusMessage, now: ContinuousClock.Instant) -> BusReply {
        let path = call.path
        switch call.member {
        case "SetDiscoveryFilter":
            guard call.body.first?.fields != nil else { return .invalidArguments }
            return isPowered(path) ? .done : .notReady
        case "GetDiscoveryFilters":
            let filters = ["UUIDs", "RSSI", "Pathloss", "Transport", "DuplicateData", "Discoverable", "Pattern"]
            return .values([.strings(filters)])
        case "StartDiscovery":
            guard isPowered(path) else { return .notReady }
            guard scanners[path]?.contains(call.sender) == false else { return .inProgress }
            scanners[path]?.insert(call.sender)
            set(path, Names.adapter, ["Discovering": .bool(true)])
            air.scanStarted(on: path, now: now)
            return .done
        case "StopDiscovery":
            guard scanners[path]?.contains(call.sender) == true else { return .notScanning }
            stopScan(of: call.sender, on: path)
            return .done
        case "RemoveDevice":
            guard let device = call.body.first?.text, tree.objects[device]?[Names.device] != nil else {
                return .doesNotExist
            }
            air.forget(device)
            removeObject(device)
            return .done
        default:
            return .unknownMethod
        }
    }

    func isPowered(_ adapter: String) -> Bool {
        tree.get(adapter, Names.adapter, "Powered") == .bool(true)
    }

    mutating func stopScan(of name: String, on adapter: String) {
        scanners[adapter]?.remove(name)
        if scanners[adapter]?.isEmpty == true {
            set(adapter, Names.adapter, ["Discovering": .bool(false)])
        }
    }

    /// Switches an adapter on or off; off ends every scan there.
    mutating func setPowered(_ adapter: String, _ isOn: Bool) {
        set(adapter, Names.adapter, ["Powered": .bool(isOn), "PowerState": .string(isOn ? "on" : "off")])
        if !isOn, scanners[adapter]?.isEmpty == false {
            scanners[adapter] = []
            set(adapter, Names.adapter, ["Discovering": .bool(false)])
        }
    }

    /// Blocks an adapter as rfkill does, or frees it; both leave it off.
    mutating func setBlocked(_ adapter: String, _ isBlocked: Bool) {
        setPowered(adapter, false)
        set(adapter, Names.adapter, ["PowerState": .string(isBlocked ? "off-blocked" : "off")])
    }

    mutating func properties(_ call: BusMessage, now: ContinuousClock.Instant) -> BusReply {
        guard let interface = call.body.first?.text, let properties = tree.objects[call.path]?[interface] else {
            return .invalidArgs("No such interface")
        }
        if call.member == "GetAll" { return .values([.properties(properties)]) }
        guard call.body.count >= 2, let name = call.body[1].text, let value = properties[name] else {
            return .invalidArgs("No such property")
        }
        switch (call.member, call.body.count) {
        case ("Get", 2):
            return .values([.variant(value)])
        case ("Set", 3):
            let new = call.body[2].unwrapped
            guard new.typeSignature == value.typeSignature else { return .invalidArguments }
            let writable = ["Powered", "Alias", "Discoverable", "DiscoverableTimeout", "Pairable", "PairableTimeout"]
            guard interface == Names.adapter, writable.contains(name) else {
                return .error(name: "org.freedesktop.DBus.Error.PropertyReadOnly", message: "Property is read-only")
            }
            if name == "Powered", let isOn = new.flag {
                // mgmt's answer to SET_POWERED, handed on by bluetoothd.
                if isOn, tree.get(call.path, Names.adapter, "PowerState") == .string("off-blocked") { return .blocked }
                setPowered(call.path, isOn)
            } else {
                set(call.path, interface, [name: new])
            }
            return .done
        default:
            return .unknownMethod
        }
    }
}
