// SPDX-License-Identifier: Apache-2.0

import HybridBLEAdvert
import HybridCaBLE
import HybridDBus
import HybridVirtualBlueZ
import IntegrationTestSupport
import Testing

private struct Thrown: Error {}

@Suite("An advert is sent while its body runs", .timeLimit(.minutes(10)))
struct AdvertisingTests {
    @Test("It is withdrawn when the body returns")
    func bodyReturns() async throws {
        try await TestRadio.run { testRadio in
            try await testRadio.radio(.advertiser) { radio in
                let sent = try advert(1)
                let result = try await radio.withAdvert(sent) { _ in
                    try await testRadio.expectActive([sent])
                    return 42
                }
                #expect(result == 42)
                try await testRadio.expectActive([])
            }
        }
    }

    @Test("It is withdrawn when the body throws")
    func bodyThrows() async throws {
        try await TestRadio.run { testRadio in
            try await testRadio.radio(.advertiser) { radio in
                await #expect(throws: Thrown.self) {
                    try await radio.withAdvert(try advert(1)) { _ in throw Thrown() }
                }
                try await testRadio.expectActive([])
            }
        }
    }

    @Test("It is withdrawn when the task is cancelled")
    func cancelled() async throws {
        try await TestRadio.run { testRadio in
            try await testRadio.radio(.advertiser) { radio in
                let sent = try advert(1)
                await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        try await radio.withAdvert(sent) { active in
                            #expect(await active.waitUntilGone() == nil)
                            try Task.checkCancellation()
                        }
                    }
                    try? await testRadio.untilActive([sent])
                    group.cancelAll()
                    await #expect(throws: CancellationError.self) { try await group.next() }
                }
                try await testRadio.expectActive([])
            }
        }
    }

    @Test("It is not sent if the task is cancelled before the registration")
    func cancelledBefore() async throws {
        try await TestRadio.run { testRadio in
            try await testRadio.radio(.advertiser) { radio in
                let sent = try advert(1)
                await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        withUnsafeCurrentTask { $0?.cancel() }
                        _ = try await radio.withAdvert(sent) { _ in Issue.record("the body ran") }
                    }
                    await #expect(throws: CancellationError.self) { try await group.next() }
                }
                try await testRadio.expectActive([])
            }
        }
    }

    @Test("It can be withdrawn inside the body, twice and from two tasks")
    func withdraw() async throws {
        try await TestRadio.run { testRadio in
            try await testRadio.radio(.advertiser) { radio in
                try await radio.withAdvert(try advert(1)) { active in
                    async let gone = active.waitUntilGone()
                    async let once: Void = active.withdraw()
                    async let twice: Void = active.withdraw()
                    _ = await (once, twice)
                    try await testRadio.expectActive([])
                    #expect(await gone == nil)
                }
            }
        }
    }

    @Test("It ends with the connection, as when the process is killed")
    func connectionEnds() async throws {
        try await TestRadio.run { testRadio in
            let radio = try await testRadio.open(.advertiser)
            try await radio.withAdvert(try advert(1)) { active in
                await radio.close()
                #expect(await active.waitUntilGone() == .bluetoothServiceGone)
                try await testRadio.untilActive([])
            }
        }
    }

    @Test("It frees its slot, so that a hundred adverts can follow each other")
    func many() async throws {
        try await TestRadio.run { testRadio in
            try await testRadio.radio(.advertiser, "hci0") { radio in
                for number in 0..<100 {
                    try await radio.withAdvert(try advert(UInt8(number))) { _ in }
                }
            }
        }
    }

    @Test("Two adverts of one radio can be sent at the same time")
    func two() async throws {
        try await TestRadio.run { testRadio in
            try await testRadio.radio(.advertiser) { radio in
                let (one, other) = (try advert(1), try advert(2))
                try await radio.withAdvert(one) { _ in
                    try await radio.withAdvert(other) { _ in try await testRadio.untilActive([one, other]) }
                    try await testRadio.untilActive([one])
                }
            }
        }
    }

    @Test("It is registered without an interval if bluetoothd does not support intervals")
    func withoutInterval() async throws {
        try await TestRadio.run { testRadio in
            try await testRadio.radio(.advertiser) { radio in
                try await testRadio.control.failNext(
                    "RegisterAdvertisement",
                    name: "org.bluez.Error.Failed",
                    message: "Failed to parse advertisement."
                )
                let sent = try advert(1)
                try await radio.withAdvert(sent) { _ in try await testRadio.untilActive([sent]) }
            }
        }
    }

    @Test("It is sent although bluetoothd refuses at first", arguments: ["InProgress", "NotReady", "Failed"])
    func busy(name: String) async throws {
        try await TestRadio.run { testRadio in
            try await testRadio.radio(.advertiser) { radio in
                // The delays between three attempts are well below the patience, also on a busy machine.
                for _ in 0..<2 {
                    let error = "org.bluez.Error.\(name)"
                    try await testRadio.control.failNext("RegisterAdvertisement", name: error, message: "later")
                }
                let (sent, refusals) = (try advert(1), Refusals())
                try await radio.withAdvert(sent, retrying: refusals.add) { _ in
                    try await testRadio.untilActive([sent])
                }
                #expect(refusals.all.count == 1)
            }
        }
    }

    @Test("A refusal that lasts is final")
    func refused() async throws {
        try await TestRadio.run { testRadio in
            try await testRadio.radio(.advertiser) { radio in
                for _ in 0..<40 {
                    let error = "org.bluez.Error.InProgress"
                    try await testRadio.control.failNext("RegisterAdvertisement", name: error, message: "later")
                }
                let error = await radioError { try await radio.withAdvert(try advert(1)) { _ in } }
                #expect(error == .busy("org.bluez.Error.InProgress: later"))
            }
        }
    }

    @Test("Only bluetoothd can read or release its object")
    func otherPrograms() async throws {
        try await TestRadio.run { testRadio in
            try await testRadio.radio(.advertiser) { radio in
                let sent = try advert(1)
                try await radio.withAdvert(sent) { _ in
                    let names = try await testRadio.connection.call(
                        BusNames.daemon,
                        BusNames.daemonPath,
                        BusNames.daemon,
                        "ListNames"
                    )
                    guard case .array(_, let all)? = names.first else { throw NotReached() }
                    var refusals = 0
                    for name in all.compactMap(\.text)
                    where name.hasPrefix(":") && name != testRadio.connection.uniqueName {
                        let calls: [(String, String, [BusValue])] = [
                            (BusNames.properties, "GetAll", [.string("org.bluez.LEAdvertisement1")]),
                            ("org.bluez.LEAdvertisement1", "Release", []),
                        ]
                        for (interface, member, arguments) in calls {
                            do {
                                _ = try await testRadio.connection.call(
                                    name,
                                    "/org/hybrid/advert1",
                                    interface,
                                    member,
                                    arguments
                                )
                                Issue.record("\(member) was answered")
                            } catch let error as BusError where error.name == "org.freedesktop.DBus.Error.AccessDenied"
                            {
                                refusals += 1
                            } catch {
                                // The other programs on the bus have no such object.
                            }
                        }
                    }
                    #expect(refusals == 2)
                    try await testRadio.untilActive([sent])
                }
            }
        }
    }
}
