// SPDX-License-Identifier: Apache-2.0

import HybridCTAP
import HybridCaBLE
import HybridPrimitives
import TestSupport
import Testing

@testable import HybridTransfer

@Suite("Messages of a transfer that break a rule")
struct HostileMessageTests {
    private let session = Session()

    @Test("Another version is refused before anything else is read, and says so")
    func version() throws {
        let hello = try changing(session.receiver.frame, "version", to: .number(2))
        let other = try changing(hello, "commitment", to: nil)
        #expect(throws: TransferFailure.version) { _ = try session.giver.receive(other, hash: session.hash) }
        let greeted = try session.giver.receive(session.receiver.frame, hash: session.hash)
        let answer = try changing(greeted.frame, "version", to: .number(0))
        #expect(throws: TransferFailure.version) { _ = try session.receiver.receive(answer, hash: session.hash) }
        #expect(TransferFailure.version.refusal == .version)
    }

    @Test("Another purpose than the code's is refused", arguments: TransferPurpose.allCases)
    func purpose(expected: TransferPurpose) throws {
        let giver = TransferGiver(purpose: expected, name: "Bob", vault: Session.giverVault)
        let hellos = [session.receiver.frame, TransferReceiver(joiningAs: "New").frame]
        let other = expected == .give ? hellos[1] : hellos[0]
        #expect(throws: TransferFailure.purpose(expected: expected)) {
            _ = try giver.receive(other, hash: session.hash)
        }
    }

    @Test("The same vault on both sides is refused, also if its key was replaced on one")
    func sameVault() throws {
        var session = Session()
        let replaced = TransferVault(fingerprint: "55555 55555", id: Session.giverVault.id)
        session.receiver = TransferReceiver(name: "Ada", vault: replaced)
        #expect(throws: TransferFailure.sameVault) { _ = try session.compared() }
        #expect(TransferFailure.sameVault.refusal == .sameVault)
    }

    @Test("Vaults whose fingerprints begin alike are different vaults")
    func sameDigits() throws {
        var session = Session()
        session.receiver = TransferReceiver(name: "Ada", vault: TransferVault(fingerprint: "12345", id: [3]))
        _ = try session.compared()
    }

    @Test(
        "Greetings without a valid member are refused",
        arguments: [
            ("commitment", nil), ("commitment", .string("AAAA")), ("commitment", .string("=")), ("name", .number(1)),
            ("vault", .string("")), ("vault", .string("123")), ("vault", .string("12345")), ("vault", .string("1２34")),
            ("purpose", nil), ("purpose", .string("take")), ("version", .string("1")), ("type", .string("reveal")),
            ("type", .string("unknown")), ("type", nil),
        ] as [(String, JSONText?)]
    )
    func greetings(name: String, value: JSONText?) throws {
        let hello = try changing(session.receiver.frame, name, to: value)
        #expect(throws: TransferFailure.self) { _ = try session.giver.receive(hello, hash: session.hash) }
    }

    @Test(
        "Offers that are empty, too long or malformed are refused",
        arguments: [
            ("items", nil), ("items", .array([])), ("items", .array([.string("example.com")])), ("bytes", .number(-1)),
            ("bytes", nil), ("move", nil), ("move", .number(1)),
            ("items", .array([.object([("rpId", .string("not a domain")), ("user", .string(""))])])),
            ("items", .array([.object([("rpId", .string("example.com"))])])),
        ] as [(String, JSONText?)]
    )
    func offers(name: String, value: JSONText?) throws {
        let (receiver, giver) = try session.compared()
        let sent = try giver.answer(.agreed).offer([passkey(1)], isMove: false, time: 0)
        let frame = try changing(sent.frame, name, to: value)
        #expect(throws: TransferFailure.self) { _ = try receiver.receive(frame) }
    }

    @Test("Offers of more than 4,096 passkeys are refused")
    func tooMany() throws {
        let (receiver, giver) = try session.compared()
        let sent = try giver.answer(.agreed).offer([passkey(1)], isMove: false, time: 0)
        let most = [JSONText](repeating: Self.offered, count: 4096)
        _ = try receiver.receive(changing(sent.frame, "items", to: .array(most)))
        let more = try changing(sent.frame, "items", to: .array(most + [Self.offered]))
        #expect(throws: TransferFailure.self) { _ = try receiver.receive(more) }
    }

    private static let offered = JSONText.object([("rpId", .string("example.com")), ("user", .string("ada"))])

    @Test("An offer before the digits are known is refused")
    func earlyOffer() throws {
        let (_, sent) = try session.offered([passkey(1)])
        let fresh = TransferReceiver(name: "Ada", vault: Session.receiverVault)
        #expect(throws: TransferFailure.self) { _ = try fresh.receive(sent.frame, hash: session.hash) }
    }

    @Test("Indices that were not offered are not accepted", arguments: [[], [2], [-1], [1, 0], [0, 0], [0, 1, 2]])
    func indices(which: [Int]) throws {
        let (offer, sent) = try session.offered([passkey(1), passkey(2)])
        #expect(throws: TransferFailure.self) { _ = try offer.answer(.agreed, which: which) }
        let awaited = try offer.answer(.agreed)
        let frame = try changing(awaited.frame, "which", to: .array(which.map { .number($0) }))
        #expect(throws: TransferFailure.self) { _ = try sent.receive(frame) }
    }

    @Test(
        "Requests for anything else than this encryption of passkeys are refused",
        arguments: [
            ("version", .number(1)), ("importer", nil), ("hpke", .array([])), ("hpke", nil),
            ("credentialTypes", .array([.string("totp")])),
            ("hpke", .array([parameters(mode: "auth")])), ("hpke", .array([parameters(aead: 3)])),
            ("hpke", .array([parameters(key: "AAAA")])),
            ("hpke", .array([JSONText](repeating: parameters(mode: "psk"), count: 17))),
            // No secret can be shared with this point.
            ("hpke", .array([parameters(key: Base64URL.encode([UInt8](repeating: 0, count: 32)))])),
        ] as [(String, JSONText?)]
    )
    func requests(name: String, value: JSONText?) throws {
        let (offer, sent) = try session.offered([passkey(1)])
        let awaited = try offer.answer(.agreed)
        guard case .object(var request)? = try member(awaited.frame, "request") else { throw TransferFailure.failed }
        request.removeAll { $0.0 == name }
        if let value { request.append((name, value)) }
        let frame = try changing(awaited.frame, "request", to: .object(request))
        #expect(throws: TransferFailure.self) { _ = try sent.receive(frame) }
    }

    @Test("A request may offer other kinds of encryption, too")
    func alternatives() throws {
        let (offer, sent) = try session.offered([passkey(1)])
        let awaited = try offer.answer(.agreed)
        guard case .object(var request)? = try member(awaited.frame, "request"),
            let own = request.first(where: { $0.0 == "hpke" })?.1.elements
        else { throw TransferFailure.failed }
        request.removeAll { $0.0 == "hpke" || $0.0 == "credentialTypes" }
        request.append(("hpke", .array([Self.parameters(mode: "auth"), Self.parameters(aead: 1)] + own)))
        let batch = try sent.receive(changing(awaited.frame, "request", to: .object(request)))
        _ = try awaited.receive(batch.frame, checking: Session.takeAll)
    }

    private static func parameters(mode: String = "base", aead: Int = 2, key: String? = nil) -> JSONText {
        let x = key ?? Base64URL.encode([UInt8](repeating: 9, count: 32))
        let jwk = JSONText.object([("kty", .string("OKP")), ("crv", .string("X25519")), ("x", .string(x))])
        return .object([
            ("mode", .string(mode)), ("kem", .number(32)), ("kdf", .number(1)), ("aead", .number(aead)), ("key", jwk),
        ])
    }

    @Test("Unknown members are ignored")
    func unknown() throws {
        let hello = try changing(session.receiver.frame, "later", to: .array([.null, .object([])]))
        _ = try session.giver.receive(hello, hash: session.hash)
    }

    @Test(
        "Text that is no strict JSON is refused",
        arguments: ["", "{}", "[]", "null", "{\"type\":\"hello\"", "\u{FEFF}{}"]
    )
    func malformed(text: String) throws {
        let frame = TransferFrame(received: Array(text.utf8))
        #expect(throws: TransferFailure.self) { _ = try session.giver.receive(frame, hash: session.hash) }
        let repeated = try edit(session.receiver.frame) { $0.append(("name", .string("other"))) }
        #expect(throws: TransferFailure.self) { _ = try session.giver.receive(repeated, hash: session.hash) }
    }

    @Test("Truncated greetings are refused")
    func truncated() throws {
        let text = Array(session.receiver.frame.bytes.prefix { $0 != UInt8(ascii: "}") })
        for bytes in Damage.truncations(of: text) {
            let frame = TransferFrame(received: bytes)
            #expect(throws: TransferFailure.self) { _ = try session.giver.receive(frame, hash: session.hash) }
        }
    }

    @Test("A name with deceptive characters is shown without them")
    func names() throws {
        let deceptive = "A\u{202E}\n\"<b>" + String(repeating: "x", count: 90)
        let hello = try changing(session.receiver.frame, "name", to: .string(deceptive))
        let greeted = try session.giver.receive(hello, hash: session.hash)
        let name = greeted.hello.peer.name.description
        #expect(name.hasPrefix("\"A'bxx") && name.unicodeScalars.count <= 66)
    }

    @Test("A refusal ends each stage with its reason", arguments: TransferRefusal.allCases)
    func refusals(reason: TransferRefusal) throws {
        let failure = TransferFailure.refused(reason)
        #expect(failure.refusal == nil && failure.code == "transfer-refused")
        #expect(throws: failure) { _ = try session.giver.receive(reason.frame, hash: session.hash) }
        #expect(throws: failure) { _ = try session.receiver.receive(reason.frame, hash: session.hash) }
        let greeted = try session.giver.receive(session.receiver.frame, hash: session.hash)
        #expect(throws: failure) { _ = try greeted.receive(reason.frame) }
        let (receiver, _) = try session.compared()
        #expect(throws: failure) { _ = try receiver.receive(reason.frame) }
        let (_, sent) = try session.offered([passkey(1)])
        #expect(throws: failure) { _ = try sent.receive(reason.frame) }
        let (awaited, batch) = try session.accepted([passkey(1)])
        #expect(throws: failure) { _ = try awaited.receive(reason.frame, checking: Session.takeAll) }
        #expect(throws: failure) { _ = try batch.receive(reason.frame) }
    }

    @Test("An unknown reason counts as a failure there")
    func unknownReason() throws {
        let frame = try changing(TransferRefusal.full.frame, "reason", to: .string("moon"))
        #expect(throws: TransferFailure.refused(.failed)) {
            _ = try session.giver.receive(frame, hash: session.hash)
        }
    }
}
