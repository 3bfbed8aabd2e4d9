// SPDX-License-Identifier: Apache-2.0

internal import SystemBus

// org.bluez.LEAdvertisingManager1.
extension BlueZModel {
    mutating func advertisingManager(_ call: BusMessage, now: ContinuousClock.Instant) -> Outcome {
        guard case .objectPath(let path)? = call.body.first else { return .reply(.invalidArguments) }
        let key = Air.Key(owner: call.sender, path: path)
        switch call.member {
        case "RegisterAdvertisement":
            guard air.adverts[key] == nil, registering[key] == nil else { return .reply(.alreadyExists) }
            guard isPowered(call.path) else { return .reply(.notReady) }
            guard used(on: call.path) < Int(slots[call.path] ?? 0) else { return .reply(.noFreeSlot) }
            registering[key] = call.path
            return .readAdvert(key)
        case "UnregisterAdvertisement":
            if registering.removeValue(forKey: key) != nil { return .reply(.done) }
            guard air.adverts[key] != nil else { return .reply(.doesNotExist) }
            remove(key, now: now)
            return .reply(.done)
        default:
            return .reply(.unknownMethod)
        }
    }

    /// Ends what `readAdvert` began, with the object's properties or `nil` if it could not be read.
    mutating func finishRegistering(_ key: Air.Key, _ properties: ObjectTree.Properties?) -> BusReply {
        guard let adapter = registering.removeValue(forKey: key) else { return .unreadableAdvert }
        guard let content = properties.flatMap({ AdvertContent($0) }) else { return .unreadableAdvert }
        guard content.length <= AdvertContent.longest else { return .tooLong }
        air.put(key, from: adapter, content.deviceProperties)
        count(on: adapter)
        return .done
    }

    /// The advert's object says that its properties have changed.
    mutating func advertChanged(_ key: Air.Key, _ properties: ObjectTree.Properties, now: ContinuousClock.Instant) {
        guard let content = AdvertContent(properties), content.length <= AdvertContent.longest else { return }
        air.change(key, content.deviceProperties, now: now)
    }

    mutating func remove(_ key: Air.Key, now: ContinuousClock.Instant) {
        let adapter = air.adverts[key]?.adapter
        air.remove(key, now: now)
        if let adapter { count(on: adapter) }
    }

    /// Slots of an adapter that are taken.
    private func used(on adapter: String) -> Int {
        air.adverts.values.count { $0.adapter == adapter } + registering.values.count { $0 == adapter }
    }

    /// Tells how many slots are taken and how many are left.
    mutating func count(on adapter: String) {
        let active = air.adverts.values.count { $0.adapter == adapter }
        let free = max(0, Int(slots[adapter] ?? 0) - active)
        set(
            adapter,
            Names.advertisingManager,
            ["ActiveInstances": .byte(UInt8(clamping: active)), "SupportedInstances": .byte(UInt8(clamping: free))]
        )
    }
}
