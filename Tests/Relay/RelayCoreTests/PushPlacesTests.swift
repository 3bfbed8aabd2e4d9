// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import HybridRelayCore

@Suite("Places of messages for push servers")
struct PushPlacesTests {
    private let now = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    /// Admits messages of a party, each for another push server unless one is named; returns the number of those admitted.
    private func admit(
        _ count: Int,
        party: Int?,
        to server: String? = nil,
        isProof: Bool = false,
        perMinute: Int = 0,
        in places: inout PushPlaces
    ) -> Int {
        var admitted = 0
        for number in 0..<count {
            let origin = server ?? "https://push\(party ?? 0)-\(number).example"
            let request = PushPlaces.Request(origin: origin, party: party, isProof: isProof)
            guard places.admit(request, perMinuteAndHost: perMinute, now: now) else { continue }
            admitted += 1
            // Otherwise, the places of a push server are the limit before its rate is.
            if perMinute > 0 { places.remove(request) }
        }
        return admitted
    }

    @Test("A hundred parties with slow push servers leave places to others")
    func slow() {
        var places = PushPlaces()
        let taken = (0..<100).map { admit(20, party: $0, in: &places) }
        #expect(taken.prefix(8).allSatisfy { $0 == 16 } && taken.dropFirst(8).allSatisfy { $0 == 1 }, "\(taken)")
        #expect(admit(1, party: 100, in: &places) == 1)
    }

    @Test("A push server gets a sixth of its rate at once, a quarter of that as proofs")
    func rates() {
        var (proofs, wakeUps) = (PushPlaces(), PushPlaces())
        let server = "https://push.example"
        #expect(admit(200, party: nil, to: server, isProof: true, perMinute: 600, in: &proofs) == 25)
        #expect(admit(200, party: nil, to: server, perMinute: 600, in: &proofs) == 75)
        #expect(admit(200, party: nil, to: server, perMinute: 600, in: &wakeUps) == 100)
    }

    @Test("Many parties leave a part of a push server's rate to others", arguments: [(32, false), (12, true)])
    func shares(parties: Int, isProof: Bool) {
        var places = PushPlaces()
        for party in 0...parties {
            let taken = admit(
                200,
                party: party,
                to: "https://push.example",
                isProof: isProof,
                perMinute: 600,
                in: &places
            )
            #expect(taken >= 1, "party \(party)")
        }
    }
}
