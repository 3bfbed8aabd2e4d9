// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridPrimitives
import TestSupport
import Testing

@testable import HybridCaBLE

enum KeyVectors {
    static func derivations(_ value: JSONValue) throws -> Int {
        var checked = 0
        for vector in try value.elements {
            let secret = try vector.hex("secret")
            let purpose = try #require(KeyPurpose(rawValue: UInt32(try vector.number("purpose"))))
            let output = try vector.hex("output")
            let derived = KeySchedule.derive(
                SymmetricKey(data: secret),
                salt: try vector.hex("salt"),
                info: CodeCeremony.signIn.info(purpose),
                length: try vector.number("length")
            )
            #expect(derived.testBytes == output, "\(vector)")
            let number = UInt8(purpose.rawValue)
            #expect(try vector.hex("info") == [number, 0, 0, 0])
            if try vector.hex("salt").isEmpty {
                let named = try #require(QRSecret(bytes: secret))
                switch purpose {
                case .eidKey:
                    let key = named.eidKey
                    #expect(key.encryption.testBytes + key.authentication.testBytes == output, "\(vector)")
                case .tunnelID: #expect(named.tunnelID.bytes == output, "\(vector)")
                default: break
                }
            }
            checked += 1
        }
        return checked
    }

    static func adverts(_ value: JSONValue) throws -> Int {
        let vectors = try value.elements
        var checked = 0
        for vector in vectors {
            if vector["expect"] != nil {
                try expectRefused(vector)
            } else if vector["plaintext"] != nil {
                try expectOpened(vector)
            } else {
                try expectSuffixLeftAlone(vector)
            }
            checked += 1
        }
        return checked
    }

    private static func expectOpened(_ vector: JSONValue) throws {
        let name = Comment(rawValue: try vector.text("name"))
        let secret = try #require(QRSecret(bytes: vector.hex("qr_secret")))
        let key = secret.eidKey
        #expect(key.encryption.testBytes + key.authentication.testBytes == (try vector.hex("eid_key")), name)
        let bytes = try vector.hex("advert")
        let advert = try #require(Advert(bytes: bytes))
        let eid = try #require(EID.open(advert, with: key), name)
        #expect(eid.plaintext == (try vector.hex("plaintext")), name)
        #expect(eid.routingID.hex == (try vector.text("routing_id")), name)
        #expect(Int(eid.domainID) == (try vector.number("domain")), name)
        #expect(EID.open(advert, with: key, for: .linked) == eid, name)
        let domain = try #require(eid.domain, name)
        let again = try #require(EID(nonce: vector.hex("nonce"), routingID: eid.routingID, domain: domain), name)
        #expect(again == eid, name)
        #expect(again.sealed(with: key).bytes == bytes, name)
        if vector["connect_url"] != nil {
            let path = TunnelPath.connect(eid.routingID, secret.tunnelID)
            let url = try vector.text("connect_url")
            #expect("wss://\(domain.host)\(path.text)" == url.lowercased(), name)
            #expect(try TunnelPath(parsing: url.dropFirst("wss://\(domain.host)".count)) == path, name)
        }
    }

    private static func expectRefused(_ vector: JSONValue) throws {
        let name = Comment(rawValue: try vector.text("name"))
        let key = try #require(EIDKey(bytes: vector.hex("eid_key")))
        let bytes = try vector.hex("advert")
        if let advert = Advert(bytes: bytes) {
            #expect(EID.open(advert, with: key) == nil, name)
        } else {
            #expect(bytes.count != 20, name)
            #expect(Advert(serviceData: bytes) == nil, name)
        }
    }

    private static func expectSuffixLeftAlone(_ vector: JSONValue) throws {
        let name = Comment(rawValue: try vector.text("name"))
        let data = try vector.hex("service_data")
        let advert = try #require(Advert(serviceData: data), name)
        #expect(advert.bytes + (try vector.hex("suffix")) == data, name)
        if vector["advert"] != nil { #expect(advert.bytes == (try vector.hex("advert")), name) }
        #expect(Advert(bytes: data) == nil, "an advert without a suffix has a fixed length; \(name)")
    }

    static func contact(_ value: JSONValue, handshakes: [JSONValue]) throws -> Int {
        let linked = try #require(handshakes.first { $0["link_secret"] != nil })
        let secret = try #require(LinkSecret(bytes: linked.hex("link_secret")))
        let nonce = try #require(ContactNonce(bytes: linked.hex("client_nonce")))
        let contact = try #require(ContactID(bytes: value.hex("contact_id")))
        #expect(TunnelPath.contact(contact).text == (try value.text("path")))
        let payload = try #require(ClientPayload(bytes: value.hex("client_payload_cbor")))
        #expect("\(TunnelPath.clientPayloadHeader): \(payload.hex)" == (try value.text("header")))
        let request = try #require(ContactRequest(parsing: payload))
        #expect(request.nonce == nonce && request.hint == .getAssertion && request.payload == payload)
        let key = secret.eidKey(nonce: nonce)
        #expect(key.encryption.testBytes + key.authentication.testBytes == (try value.hex("eid_key")))
        let advert = try #require(Advert(bytes: value.hex("advert")))
        let eid = try #require(EID.open(advert, with: key, for: .linked))
        #expect(eid.plaintext == (try linked.hex("eid_plaintext")))
        #expect(eid.sealed(with: key) == advert)
        #expect(secret.psk(for: eid).key.testBytes == (try linked.hex("psk")))
        return 1
    }
}
