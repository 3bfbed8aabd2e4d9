// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridCBOR
internal import HybridCaBLE
internal import HybridPrimitives

/// The file of a link: canonical CBOR, followed by its SHA-256 hash, so that damage is detected.
///
/// Keys: 0 version, 1 link ID, 2 link secret, 3 contact key, 4 number of the tunnel domain, 5 label, 6 created, 7 last
/// used, 8 numbers of wake-ups (the highest, and the bits of the window), 9 times of declines by cause, 10 muted by cause,
/// 11 time of forgetting, 12 confirmed by the relay, 13 push subscription. Keys 2 and 7 to 10 belong to active links only,
/// 11 and 12 to forgotten ones. Key 13 is absent if the device listens.
enum PhoneLinkFile {
    private static let version = 2
    private static let hashLength = 32
    /// Maximum length of a file in bytes.
    static let maximumSize = 1024 + PushReserve.maximumSize
    /// Maximum length of a file of the first version in bytes; it had 1,024 nonces.
    static let maximumOutdatedSize = 1024 * 16 + maximumSize

    /// Returns the contents of the file of a record, which the caller wipes.
    static func encode(_ record: StoredPhoneLink) -> [UInt8] {
        var map: CBORMap = [
            0: .integer(version),
            1: .bytes(record.id.bytes),
            3: .bytes(record.contactKey.withUnsafeBytes { Array($0) }),
            4: .unsigned(UInt64(record.domain.id)),
            5: .text(record.label),
            6: .unsigned(record.created),
        ]
        switch record.state {
        case .active(let activity):
            map[2] = .bytes(activity.secret.withUnsafeBytes { Array($0) })
            map[7] = activity.lastUsed.map { .unsigned($0) }
            map[8] = [.unsigned(activity.numbers.highest), .unsigned(activity.numbers.counted)]
            map[9] = .array(Requester.allCases.map { .array(activity[$0].times.map { .unsigned($0) }) })
            map[10] = .array(Requester.allCases.map { .boolean(activity[$0].isMuted) })
        case .forgotten(let revocation):
            map[11] = .unsigned(revocation.time)
            map[12] = .boolean(revocation.isConfirmed)
        }
        map[13] = record.push.map { .map($0.stored) }
        let body = CBOREncoder.encode(map)
        return body + SHA256.hash(data: body)
    }

    /// Returns the record in a file; `nil` if the file is damaged or of a later version.
    static func decode(_ bytes: [UInt8]) -> StoredPhoneLink? {
        guard bytes.count > hashLength, bytes.count <= maximumSize else { return nil }
        var body = Array(bytes.dropLast(hashLength))
        defer { SecretBytes.wipe(&body) }
        let limits = CBORLimits(depth: 4, items: 64, bytes: maximumSize)
        guard let map = (try? CBORDecoder.decode(body, mode: .strict, limits: limits))?.map, let record = record(map)
        else { return nil }
        // This verifies the hash, and rejects unknown members and those of the other state.
        var again = encode(record)
        defer { SecretBytes.wipe(&again) }
        return again == bytes ? record : nil
    }

    /// Returns true if a file has the first version, whose links accept wake-ups without a number.
    static func isOutdated(_ bytes: [UInt8]) -> Bool {
        guard bytes.count > hashLength else { return false }
        var body = Array(bytes.dropLast(hashLength))
        defer { SecretBytes.wipe(&body) }
        let limits = CBORLimits(depth: 3, items: 64, bytes: maximumOutdatedSize)
        return (try? CBORDecoder.decode(body, mode: .strict, limits: limits))?.map?[0] == 1
    }

    private static func record(_ map: CBORMap) -> StoredPhoneLink? {
        guard map[0]?.integer == version,
            let id = map[1]?.bytes.flatMap({ LinkID(bytes: $0) }),
            let contactKey = map[3]?.bytes.flatMap({ ContactKey(bytes: $0) }),
            let domain = map[4]?.integer.flatMap({ UInt16(exactly: $0) }).flatMap({ TunnelDomain(id: $0) }),
            let label = map[5]?.text, StoredPhoneLink.isLabel(label),
            case .unsigned(let created)? = map[6],
            let state = map[2] == nil ? revocation(map) : activity(map)
        else { return nil }
        var push: PushRegistration?
        if let stored = map[13] {
            guard let read = stored.map.flatMap({ PushRegistration(stored: $0) }) else { return nil }
            push = read
        }
        return StoredPhoneLink(
            id: id,
            contactKey: contactKey,
            domain: domain,
            label: label,
            created: created,
            state: state,
            push: push
        )
    }

    private static func activity(_ map: CBORMap) -> StoredPhoneLink.State? {
        guard let secret = map[2]?.bytes.flatMap({ LinkSecret(bytes: $0) }),
            let numbers = map[8]?.array, numbers.count == 2,
            case .unsigned(let highest) = numbers[0], case .unsigned(let counted) = numbers[1],
            let times = map[9]?.array, times.count == Requester.allCases.count,
            let muted = map[10]?.array, muted.count == times.count
        else { return nil }
        var activity = StoredPhoneLink.Activity(secret: secret)
        activity.numbers = WakeUpNumbers(highest: highest, counted: counted)
        for (requester, (times, isMuted)) in zip(Requester.allCases, zip(times, muted)) {
            guard let declines = declines(times, isMuted) else { return nil }
            activity[requester] = declines
        }
        switch map[7] {
        case nil: break
        case .unsigned(let time)?: activity.lastUsed = time
        default: return nil
        }
        return .active(activity)
    }

    private static func declines(_ times: CBORValue, _ isMuted: CBORValue) -> StoredPhoneLink.Declines? {
        guard let times = times.array, times.count <= StoredPhoneLink.maximumDeclines, let isMuted = isMuted.boolean
        else { return nil }
        var declines = StoredPhoneLink.Declines(isMuted: isMuted)
        for time in times {
            guard case .unsigned(let time) = time else { return nil }
            declines.times.append(time)
        }
        return declines
    }

    private static func revocation(_ map: CBORMap) -> StoredPhoneLink.State? {
        guard case .unsigned(let time)? = map[11], let isConfirmed = map[12]?.boolean else { return nil }
        return .forgotten(StoredPhoneLink.Revocation(time: time, isConfirmed: isConfirmed))
    }
}
