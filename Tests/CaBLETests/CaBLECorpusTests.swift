// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import CaBLE

/// The fuzzers' seeds and former crashes, through the same calls as in the fuzz targets.
@Suite("CaBLE fuzz corpora")
struct CaBLECorpusTests {
    @Test("QR texts")
    func qr() throws {
        let inputs = try FuzzCorpus.inputs("qr")
        #expect(!inputs.isEmpty)
        for input in inputs {
            guard let offer = try? QROffer(parsing: String(decoding: input.bytes, as: UTF8.self)) else { continue }
            let again = try QROffer(parsing: offer.text)
            #expect(again.text == offer.text, "\(input.name)")
        }
    }

    @Test("Service data")
    func serviceData() throws {
        let inputs = try FuzzCorpus.inputs("service-data")
        #expect(!inputs.isEmpty)
        let secret = try #require(QRSecret(bytes: Array(0..<16)))
        var opened = 0
        for input in inputs {
            guard let advert = Advert(serviceData: input.bytes) else { continue }
            guard let eid = EID.open(advert, with: secret.eidKey, for: .linked) else { continue }
            opened += 1
            #expect(eid.sealed(with: secret.eidKey) == advert, "\(input.name)")
        }
        #expect(opened > 0, "a seed opens under the fuzz target's key")
    }

    @Test("First messages and those that follow")
    func postHandshake() throws {
        let inputs = try FuzzCorpus.inputs("post-handshake")
        #expect(!inputs.isEmpty)
        for input in inputs {
            if let message = try? PostHandshakeMessage(parsing: input.bytes) {
                let again = try PostHandshakeMessage(parsing: message.encoded)
                #expect(again.info == message.info && again.features == message.features, "\(input.name)")
            }
            if let message = try? ChannelMessage(parsing: input.bytes) {
                #expect(try ChannelMessage(parsing: message.encoded).encoded == message.encoded, "\(input.name)")
            }
        }
    }
}
