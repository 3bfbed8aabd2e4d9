// SPDX-License-Identifier: Apache-2.0

import HybridBLEAdvert
import HybridCaBLE
import HybridSystemBus
import HybridVirtualBlueZ
import Testing

private struct Thrown: Error {}

@Suite("An advert is on the air as long as its body runs", .timeLimit(.minutes(10)))
struct AdvertLifeTests {
    @Test("It is withdrawn when the body returns")
    func bodyReturns() async throws {
        try await Bench.run { bench in
            try await bench.radio(.advertiser) { radio in
                let sent = try advert(1)
                let result = try await radio.withAdvert(sent) { _ in
                    try await bench.expectActive([sent])
                    return 42
                }
                #expect(result == 42)
                try await bench.expectActive([])
            }
        }
    }

    @Test("It is withdrawn when the body throws")
    func bodyThrows() async throws {
        try await Bench.run { bench in
            try await bench.radio(.advertiser) { radio in
                await #expect(throws: Thrown.self) {
                    try await radio.withAdvert(try advert(1)) { _ in throw Thrown() }
                }
                try await bench.expectActive([])
            }
        }
    }

    @Test("It is withdrawn when the task is cancelled")
    func cancelled() async throws {
        try await Bench.run { bench in
            try await bench.radio(.advertiser) { radio in
                let sent = try advert(1)
                await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        try await radio.withAdvert(sent) { live in
                            #expect(await live.waitUntilGone() == nil)
                            try Task.checkCancellation()
                        }
                    }
                    try? await bench.untilActive([sent])
                    group.cancelAll()
                    await #expect(throws: CancellationError.self) { try await group.next() }
                }
                try await bench.expectActive([])
            }
        }
    }

    @Test("A task cancelled before it registers leaves nothing on the air")
    func cancelledBefore() async throws {
        try await Bench.run { bench in
            try await bench.radio(.advertiser) { radio in
                let sent = try advert(1)
                await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        withUnsafeCurrentTask { $0?.cancel() }
                        _ = try await radio.withAdvert(sent) { _ in Issue.record("the body ran") }
                    }
                    await #expect(throws: CancellationError.self) { try await group.next() }
                }
                try await bench.expectActive([])
            }
        }
    }

    @Test("Withdrawing inside the body works, twice and from two tasks")
    func withdraw() async throws {
        try await Bench.run { bench in
            try await bench.radio(.advertiser) { radio in
                try await radio.withAdvert(try advert(1)) { live in
                    async let gone = live.waitUntilGone()
                    async let once: Void = live.withdraw()
                    async let twice: Void = live.withdraw()
                    _ = await (once, twice)
                    try await bench.expectActive([])
                    #expect(await gone == nil)
                }
            }
        }
    }

    @Test("It goes with the connection, as when the process is killed")
    func connectionEnds() async throws {
        try await Bench.run { bench in
            let radio = try await bench.open(.advertiser)
            try await radio.withAdvert(try advert(1)) { live in
                await radio.close()
                #expect(await live.waitUntilGone() == .bluetoothServiceGone)
                try await bench.untilActive([])
            }
        }
    }

    @Test("It frees its slot, so that a hundred can follow each other")
    func many() async throws {
        try await Bench.run { bench in
            try await bench.radio(.advertiser, "hci0") { radio in
                for number in 0..<100 {
                    try await radio.withAdvert(try advert(UInt8(number))) { _ in }
                }
            }
        }
    }

    @Test("Two adverts of one radio are on the air at one time")
    func two() async throws {
        try await Bench.run { bench in
            try await bench.radio(.advertiser) { radio in
                let (one, other) = (try advert(1), try advert(2))
                try await radio.withAdvert(one) { _ in
                    try await radio.withAdvert(other) { _ in try await bench.untilActive([one, other]) }
                    try await bench.untilActive([one])
                }
            }
        }
    }

    @Test("A bluetoothd that cannot set the interval gets the advert without")
    func withoutInterval() async throws {
        try await Bench.run { bench in
            try await bench.radio(.advertiser) { radio in
                try await bench.control.failNext(
                    "RegisterAdvertisement",
                    name: "org.bluez.Error.Failed",
                    message: "Failed to parse advertisement."
                )
                let sent = try advert(1)
                try await radio.withAdvert(sent) { _ in try await bench.untilActive([sent]) }
            }
        }
    }

    @Test("Nobody but bluetoothd can read or release the advert's object")
    func strangers() async throws {
        try await Bench.run { bench in
            try await bench.radio(.advertiser) { radio in
                let sent = try advert(1)
                try await radio.withAdvert(sent) { _ in
                    let names = try await bench.connection.call(
                        BusNames.daemon,
                        BusNames.daemonPath,
                        BusNames.daemon,
                        "ListNames"
                    )
                    guard case .array(_, let all)? = names.first else { throw NeverCame() }
                    var refusals = 0
                    for name in all.compactMap(\.text) where name.hasPrefix(":") && name != bench.connection.uniqueName
                    {
                        let calls: [(String, String, [BusValue])] = [
                            (BusNames.properties, "GetAll", [.string("org.bluez.LEAdvertisement1")]),
                            ("org.bluez.LEAdvertisement1", "Release", []),
                        ]
                        for (interface, member, arguments) in calls {
                            do {
                                _ = try await bench.connection.call(
                                    name,
                                    "/org/hybrid/advert1",
                                    interface,
                                    member,
                                    arguments
                                )
                                Issue.record("\(member) was answered")
                            } catch BusError.refused(name: "org.freedesktop.DBus.Error.AccessDenied", message: _) {
                                refusals += 1
                            } catch {
                                // The others on the bus have no such object.
                            }
                        }
                    }
                    #expect(refusals == 2)
                    try await bench.untilActive([sent])
                }
            }
        }
    }
}
