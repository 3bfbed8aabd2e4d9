// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import HybridDBus
import HybridThreads
import HybridVirtualBlueZ
import TestSupport
import Testing

@testable import HybridPhoneLinks

@Suite("UnifiedPush on the session bus", .timeLimit(.minutes(5)))
struct PushConnectorTests {
    private static func registration(_ distributor: String = StandInDistributor.name) throws -> PushRegistration {
        PushRegistration(distributor: distributor, relayKey: try Sample.pushKey())
    }

    @Test("A registration names service, token, purpose and the relay's key, and the address arrives as a call")
    func register() async throws {
        try await PrivateBus.run { bus in
            try await StandInDistributor.serve(on: bus) { distributor in
                let registration = try Self.registration()
                try await PushConnector.with(on: bus.busAddress) { connector in
                    #expect(try await connector.distributor(nil) == StandInDistributor.name)
                    #expect(try await connector.distributor("Test") == StandInDistributor.name)
                    try await connector.register(registration)
                    let fields = distributor.state.withLock { $0.registered[registration.token.text] }
                    #expect(fields?["service"]?.text == "org.hybrid.Auth")
                    #expect(fields?["vapid"]?.text == registration.relayKey.base64URL)
                    #expect(fields?["description"]?.text?.isEmpty == false)
                    var calls = connector.calls.makeAsyncIterator()
                    let call = try #require(await calls.next())
                    guard case .endpoint("https://push.example/1") = call.event else {
                        Issue.record("another call")
                        return
                    }
                    #expect(registration.token.matches(call.token))
                    #expect(call.distributors == [StandInDistributor.name])
                    try await connector.unregister(registration)
                    #expect(distributor.state.withLock { $0.unregistered } == [registration.token.text])
                    #expect(try await !connector.isActivatable())
                }
            }
        }
    }

    @Test("The reasons of a distributor become sentences with a remedy")
    func refusals() async throws {
        try await PrivateBus.run { bus in
            try await StandInDistributor.serve(on: bus) { distributor in
                try await PushConnector.with(on: bus.busAddress) { connector in
                    for reason in ["NETWORK", "ACTION_REQUIRED", "UNAUTHORIZED", "INTERNAL_ERROR", "something"] {
                        distributor.state.withLock { $0.refusal = reason }
                        let failure = PushFailure.refused(reason)
                        #expect(failure.sentence.contains(";"))
                        await #expect(throws: failure) { try await connector.register(try Self.registration()) }
                    }
                }
            }
        }
    }

    @Test("The distributor must be clear")
    func choice() async throws {
        try await PrivateBus.run { bus in
            try await PushConnector.with(on: bus.busAddress) { connector in
                await #expect(throws: PushFailure.noDistributor) { _ = try await connector.distributor(nil) }
                await #expect(throws: PushFailure.noDistributor) { _ = try await connector.distributor("Test") }
                try await StandInDistributor.serve(on: bus) { _ async throws in
                    let other = UnifiedPush.distributorPrefix + "Other"
                    try await StandInDistributor.serve(on: bus, name: other) { _ async throws in
                        let names = [other, StandInDistributor.name]
                        for chosen in [nil, "X"] {
                            await #expect(throws: PushFailure.choose(names)) {
                                _ = try await connector.distributor(chosen)
                            }
                        }
                        for chosen in ["Other", other] { #expect(try await connector.distributor(chosen) == other) }
                    }
                }
            }
        }
        for name in ["org.unifiedpush.Distributor.", "org.unifiedpush.Distributor.a b", "org.example.Distributor.a"] {
            #expect(!UnifiedPush.isDistributor(name))
        }
    }

    @Test("Only one process has the name of this program")
    func name() async throws {
        try await PrivateBus.run { bus in
            try await PushConnector.with(on: bus.busAddress) { first in
                await #expect(throws: PushFailure.nameTaken) {
                    try await PushConnector.with(on: bus.busAddress) { _ in }
                }
                #expect(try await first.releaseName(ifNoCallAfter: 0))
                try await PushConnector.with(on: bus.busAddress) { _ in }
            }
        }
        await #expect(throws: PushFailure.noSessionBus) {
            try await PushConnector.with(on: BusAddress("unix:path=/nonexistent/bus")) { _ in }
        }
    }

    @Test("A call that arrives before the name is given up is kept")
    func lateCall() async throws {
        try await PrivateBus.run { bus in
            try await StandInDistributor.serve(on: bus) { distributor in
                try await PushConnector.with(on: bus.busAddress, hearing: [StandInDistributor.name]) { connector in
                    distributor.deliver([1], token: "token")
                    try await Waiting.until("the call") { connector.callCount == 1 }
                    #expect(try await !connector.releaseName(ifNoCallAfter: 0))
                    #expect(try await connector.releaseName(ifNoCallAfter: 1))
                }
            }
        }
    }

    @Test(
        "Calls of other programs take no place, whether the distributor runs at the start or not",
        arguments: [true, false]
    )
    func strangers(isRunning: Bool) async throws {
        try await PrivateBus.run { bus in
            let stranger = try await BusConnection.connect(to: bus.busAddress)
            @Sendable func flood() async throws {
                let fields: [String: BusValue] = ["token": .string("stranger"), "message": .bytes([1])]
                for _ in 0..<100 {
                    _ = try await stranger.call(
                        UnifiedPush.service,
                        UnifiedPush.connectorPath,
                        UnifiedPush.connector,
                        "Message",
                        [.properties(fields)]
                    )
                }
            }
            @Sendable func check(_ connector: PushConnector, _ distributor: StandInDistributor) async throws {
                try await flood()
                distributor.deliver([1], token: "token")
                var calls = connector.calls.makeAsyncIterator()
                #expect(await calls.next()?.token == "token")
                #expect(connector.callCount == 1)
                for await _ in connector.strangers { break }
            }
            let names: Set = [StandInDistributor.name]
            if isRunning {
                try await StandInDistributor.serve(on: bus) { distributor in
                    try await PushConnector.with(on: bus.busAddress, hearing: names) {
                        try await check($0, distributor)
                    }
                }
            } else {
                try await PushConnector.with(on: bus.busAddress, hearing: names) { connector in
                    try await StandInDistributor.serve(on: bus) { try await check(connector, $0) }
                }
            }
            await stranger.close()
        }
    }

    @Test("Malformed calls are ignored, and the others are bounded")
    func malformed() async throws {
        try await PrivateBus.run { bus in
            try await StandInDistributor.serve(on: bus) { distributor in
                try await PushConnector.with(on: bus.busAddress, hearing: [StandInDistributor.name]) { connector in
                    let token = BusValue.string("token")
                    let long = BusValue.string(String(repeating: "x", count: 101))
                    let url = BusValue.string("https://push.example/" + String(repeating: "x", count: 1000))
                    distributor.call("Message", ["token": token])
                    distributor.call("Message", ["token": token, "message": .string("text")])
                    distributor.call("Message", ["token": token, "message": .bytes([])])
                    let tooLong = BusValue.bytes([UInt8](repeating: 0, count: 4097))
                    distributor.call("Message", ["token": token, "message": tooLong])
                    distributor.call("Message", ["token": long, "message": .bytes([1])])
                    distributor.call("NewEndpoint", ["token": token, "endpoint": .string("not_an_url")])
                    distributor.call("NewEndpoint", ["token": token, "endpoint": url])
                    distributor.call("Unregistered", [:])
                    distributor.connection.send(
                        UnifiedPush.service,
                        UnifiedPush.connectorPath,
                        UnifiedPush.connector,
                        "Message",
                        [.string("no dictionary")]
                    )
                    distributor.call("Unregistered", ["token": .string("last")])
                    var calls = connector.calls.makeAsyncIterator()
                    #expect(await calls.next()?.token == "last")
                    #expect(connector.callCount == 1)
                }
            }
        }
    }

    @Test("A message is acknowledged by its ID")
    func acknowledgement() async throws {
        try await PrivateBus.run { bus in
            try await PushConnector.with(on: bus.busAddress) { _ in
                let other = try await BusConnection.connect(to: bus.busAddress)
                let fields: [String: BusValue] = [
                    "token": .string("token"), "message": .bytes([1, 2]), "id": .string("number 1"),
                ]
                let reply = try await other.call(
                    UnifiedPush.service,
                    UnifiedPush.connectorPath,
                    UnifiedPush.connector,
                    "Message",
                    [.properties(fields)]
                )
                #expect(reply.first?.fields?["id"]?.text == "number 1")
                await #expect(throws: BusError.self) {
                    _ = try await other.call(
                        UnifiedPush.service,
                        "/elsewhere",
                        UnifiedPush.connector,
                        "Message",
                        [.properties(fields)]
                    )
                }
                await other.close()
            }
        }
    }
}
