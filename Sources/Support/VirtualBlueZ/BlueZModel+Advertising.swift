// SPDX-License-Identifier: Apache-2.0

internal import HybridDBus

// org.bluez.LEAdvertisingManager1.
extension BlueZModel {
    mutating func advertisingManager(_ call: BusMessage, now: ContinuousClock.Instant) -> BusReply {
        let key = Air.Key(ofAdvertIn: call)
        switch call.member {
        case "RegisterAdvertisement":
            guard air.adverts[key] == nil, registering[key] == nil else { return .alreadyExists }
            guard used(on: call.path) < Int(slots[call.path] ?? 0) else { return .noFreeSlot }
            registering[key] = call.path
            return .later
        case "UnregisterAdvertisement":
            if registering.removeValue(forKey: key) != nil { return .done }
            guard air.adverts[key] != nil else { return .doesNotExist }
            remove(key, now: now)
            tree.replyHere()
            return .done
        default:
            return .noMethod(call)
        }
    }

    /// Completes a registration whose reply was deferred with `later`.
    ///
    /// - Parameter properties: The object's properties; empty if it could not be read.
    mutating func finishRegistering(_ key: Air.Key, _ properties: ObjectTree.Properties) -> BusReply {
        guard let adapter = registering.removeValue(forKey: key), let content = AdvertContent(properties) else {
            return .unreadableAdvert
        }
        // The kernel rejects an advert that is too long, and any advert of an adapter that is off.
        guard isPowered(adapter), content.length <= AdvertContent.maximumLength else { return .notRegistered }
        advertObjects[key] = properties
        put(key, from: adapter, content)
        updateSlots(of: adapter)
        tree.replyHere()
        return .done
    }

    private mutating func put(_ key: Air.Key, from adapter: String, _ content: AdvertContent) {
        let address = tree.get(adapter, BlueZNames.adapter, "Address")?.text ?? ""
        air.put(key, from: adapter, of: address, content)
    }

    /// Restarts an advert whose object has reported changed properties; a broadcast is sent from a new address.
    ///
    /// - Returns: True if the changed advert is being sent.
    mutating func advertChanged(_ signal: BusMessage, now: ContinuousClock.Instant) -> Bool {
        let key = Air.Key(owner: signal.sender, path: signal.path)
        guard let adapter = air.adverts[key]?.adapter, var properties = advertObjects[key], signal.body.count == 3,
            let changes = signal.body[1].fields, case .array(_, let gone) = signal.body[2]
        else { return false }
        properties.merge(changes) { $1 }
        for name in gone.compactMap(\.text) {
            properties[name] = nil
        }
        guard let content = AdvertContent(properties), content.length <= AdvertContent.maximumLength else {
            return false
        }
        advertObjects[key] = properties
        air.remove(key, now: now)
        put(key, from: adapter, content)
        return true
    }

    mutating func remove(_ key: Air.Key, now: ContinuousClock.Instant) {
        let adapter = air.adverts[key]?.adapter
        air.remove(key, now: now)
        advertObjects[key] = nil
        if let adapter { updateSlots(of: adapter) }
    }

    /// Returns the number of an adapter's slots that are in use.
    private func used(on adapter: String) -> Int {
        air.adverts.values.count { $0.adapter == adapter } + registering.values.count { $0 == adapter }
    }

    /// Updates the numbers of used and free slots.
    mutating func updateSlots(of adapter: String) {
        let active = air.adverts.values.count { $0.adapter == adapter }
        let free = max(0, Int(slots[adapter] ?? 0) - active)
        tree.set(
            adapter,
            BlueZNames.advertisingManager,
            ["ActiveInstances": .byte(UInt8(clamping: active)), "SupportedInstances": .byte(UInt8(clamping: free))]
        )
    }
}
