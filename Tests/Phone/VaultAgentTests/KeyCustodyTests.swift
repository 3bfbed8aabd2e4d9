// SPDX-License-Identifier: Apache-2.0

import HybridCommandSupport
import HybridPrimitives
import Testing

@testable import HybridVaultAgent

@Suite("The custody of keys")
struct KeyCustodyTests {
    private static let fingers = ["left-thumb", "right-index-finger"]
    private static let hour = 3600.0

    private let vault: VaultID
    private let other: VaultID

    init() throws {
        vault = try #require(VaultID(bytes: [UInt8](repeating: 1, count: 16)))
        other = try #require(VaultID(bytes: [UInt8](repeating: 2, count: 16)))
    }

    /// A time at which the computer was never suspended.
    private func awake(_ seconds: Double) -> BootTime { BootTime(total: seconds, awake: seconds) }

    private func custody(survivesSuspend: Bool = false, isTest: Bool = true) throws -> KeyCustody {
        var custody = KeyCustody(survivesSuspend: survivesSuspend)
        try hold(&custody, isTest: isTest)
        return custody
    }

    private func hold(
        _ custody: inout KeyCustody,
        _ vault: VaultID? = nil,
        isTest: Bool = true,
        enrolled: [String] = fingers,
        at seconds: Double = 100
    ) throws {
        let key = try [UInt8](repeating: 7, count: 32).withUnsafeBytes { bytes in try LockedMemory(copying: bytes) }
        try custody.hold(
            vault ?? self.vault,
            key,
            isTest: isTest,
            recorded: Self.fingers,
            enrolled: enrolled,
            at: awake(seconds)
        )
    }

    @Test("One match releases the key once")
    func once() throws {
        var custody = try custody()
        let permit = try custody.begin(vault, isSystemBus: false, at: awake(101))
        try custody.check(permit, enrolled: Self.fingers)
        let key = try custody.redeem(permit, at: awake(102))
        #expect(key.withUnsafeBytes { $0.allSatisfy { $0 == 7 } && $0.count == 32 })
        #expect("\(key)" == "LockedMemory(hidden)")
        #expect(throws: FingerprintFailure.noKey) { try custody.redeem(permit, at: awake(102)) }
        let next = try custody.begin(vault, isSystemBus: false, at: awake(103))
        #expect(next != permit)
    }

    @Test("One request waits for a finger at a time, and its end makes room")
    func busy() throws {
        var custody = try custody()
        let permit = try custody.begin(vault, isSystemBus: true, at: awake(101))
        #expect(throws: FingerprintFailure.busy) { try custody.begin(vault, isSystemBus: true, at: awake(101)) }
        custody.end(permit)
        #expect(throws: FingerprintFailure.noKey) { try custody.redeem(permit, at: awake(101)) }
        _ = try custody.begin(vault, isSystemBus: true, at: awake(101))
    }

    @Test("The PIN is needed after 12 hours, which include suspends")
    func lifetime() throws {
        for survives in [false, true] {
            var custody = try custody(survivesSuspend: survives)
            custody.expire(at: awake(99 + 12 * Self.hour))
            #expect(custody.held(at: awake(99 + 12 * Self.hour)).map(\.secondsLeft) == [1])
            custody.expire(at: BootTime(total: 100 + 12 * Self.hour, awake: survives ? 200 : 100 + 12 * Self.hour))
            #expect(custody.isEmpty)
            #expect(throws: FingerprintFailure.expired) { try custody.begin(vault, isSystemBus: true, at: awake(1e6)) }
        }
    }

    @Test("A key that expires while the finger is on the sensor is not released")
    func expiresMeanwhile() throws {
        var custody = try custody()
        let permit = try custody.begin(vault, isSystemBus: true, at: awake(99 + 12 * Self.hour))
        #expect(throws: FingerprintFailure.expired) { try custody.redeem(permit, at: awake(100 + 12 * Self.hour)) }
    }

    @Test("The clocks reveal a suspend without logind, unless keys survive it")
    func suspend() throws {
        let later = BootTime(total: 400, awake: 110)
        var custody = try custody()
        #expect(throws: FingerprintFailure.suspended) { try custody.begin(vault, isSystemBus: true, at: later) }
        #expect(custody.isEmpty)
        custody = try self.custody(survivesSuspend: true)
        custody.suspend()
        _ = try custody.begin(vault, isSystemBus: true, at: later)
        custody = try self.custody()
        custody.suspend()
        #expect(throws: FingerprintFailure.suspended) { try custody.begin(vault, isSystemBus: true, at: awake(101)) }
    }

    @Test("Three misses in a row discard all keys; only a match resets the count")
    func misses() throws {
        var custody = try custody()
        try hold(&custody, other)
        custody.miss()
        custody.miss()
        let permit = try custody.begin(vault, isSystemBus: true, at: awake(101))
        _ = try custody.redeem(permit, at: awake(101))
        #expect(custody.misses == 0)
        custody.miss()
        custody.miss()
        #expect(!custody.isEmpty)
        // Any program of the user can pass a key, for any vault.
        for number in UInt8(10)..<30 { try? hold(&custody, VaultID(bytes: [UInt8](repeating: number, count: 16))) }
        #expect(custody.misses == 2)
        custody.miss()
        #expect(custody.isEmpty)
        for vault in [vault] {
            #expect(throws: FingerprintFailure.tooManyMisses) {
                try custody.begin(vault, isSystemBus: true, at: awake(102))
            }
        }
        try hold(&custody)
        #expect(custody.misses == 0)
        _ = try custody.begin(vault, isSystemBus: true, at: awake(103))
    }

    @Test(
        "Other fingers than recorded need the PIN",
        arguments: [
            ["left-thumb"], ["left-thumb", "right-index-finger", "right-thumb"], ["left-thumb", "right-thumb"],
        ]
    )
    func fingers(enrolled: [String]) throws {
        var custody = try custody()
        let permit = try custody.begin(vault, isSystemBus: true, at: awake(101))
        #expect(throws: FingerprintFailure.fingersChanged) { try custody.check(permit, enrolled: enrolled) }
        #expect(throws: FingerprintFailure.fingersChanged) { try custody.redeem(permit, at: awake(101)) }
        #expect(custody.isEmpty)
        #expect(throws: FingerprintFailure.fingersChanged) { try hold(&custody, enrolled: enrolled) }
        #expect(custody.isEmpty)
    }

    @Test("The key of a real vault needs the system's bus")
    func bus() throws {
        var custody = try custody(isTest: false)
        #expect(throws: FingerprintFailure.busUnverified) {
            try custody.begin(vault, isSystemBus: false, at: awake(101))
        }
        _ = try custody.begin(vault, isSystemBus: true, at: awake(101))
    }

    @Test("The number of keys is bounded, and no key displaces another one, whether a finger has released it or not")
    func bound() throws {
        var custody = try custody()
        try hold(&custody, other)
        let permit = try custody.begin(vault, isSystemBus: true, at: awake(101))
        _ = try custody.redeem(permit, at: awake(101))
        let others = try (10..<40).map { try #require(VaultID(bytes: [UInt8](repeating: $0, count: 16))) }
        let fitting = KeyCustody.maximumKeys - 2
        for other in others.prefix(fitting) { try hold(&custody, other, at: 102) }
        for other in others.dropFirst(fitting) {
            #expect(throws: FingerprintFailure.full) { try hold(&custody, other, at: 103) }
        }
        #expect(Set(custody.held(at: awake(104)).map(\.vault)) == Set([vault, other] + others.prefix(fitting)))
        _ = try custody.begin(other, isSystemBus: true, at: awake(104))
        // Another PIN of a vault whose key is held needs no room.
        try hold(&custody, vault, at: 105)
        // Keys that are too old make room.
        try hold(&custody, others[fitting], at: 102 + 12 * Self.hour)
        #expect(Set(custody.held(at: awake(102 + 12 * Self.hour)).map(\.vault)) == [vault, others[fitting]])
    }

    @Test("The memory of a key is locked, and neither dumped nor inherited")
    func memory() throws {
        let key = try [UInt8](repeating: 7, count: 32).withUnsafeBytes { bytes in try LockedMemory(copying: bytes) }
        let address = try #require(key.withUnsafeBytes { $0.baseAddress.map { UInt(bitPattern: $0) } })
        var mapping: Range<UInt> = 0..<0
        var flags: Set<Substring> = []
        let maps = String(decoding: try readWholeFile("/proc/self/smaps", atMost: 16 << 20), as: UTF8.self)
        for line in maps.split(separator: "\n") {
            let words = line.split(separator: " ")
            let ends = (words.first ?? "").split(separator: "-").compactMap { UInt($0, radix: 16) }
            if ends.count == 2 { mapping = ends[0]..<ends[1] }
            if words.first == "VmFlags:", mapping.contains(address) { flags = Set(words.dropFirst()) }
        }
        // VM_LOCKED, VM_DONTDUMP and VM_DONTCOPY (proc_pid_smaps(5)).
        #expect(flags.isSuperset(of: ["lo", "dd", "dc"]), "\(flags.sorted())")
        withExtendedLifetime(key) {}
    }

    @Test("Each failure has one sentence with a remedy, and its own code")
    func sentences() {
        let all = FingerprintFailure.allCases
        #expect(Set(all.map(\.code)).count == all.count)
        #expect(Set(all.map(\.sentence)).count == all.count)
        for failure in all where failure != .cancelled {
            #expect(failure.sentence.contains("; ") && !failure.sentence.contains("\n"), "\(failure)")
        }
    }
}
