// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import HybridPrimitives
import Testing

@testable import HybridTransfer

@Suite("The digits of a transfer")
struct TransferDigitsTests {
    private let vault = Session.giverVault

    @Test("are the same on both sides")
    func same() throws {
        let (receiver, giver) = try Session().compared()
        #expect(receiver.digits == giver.digits)
        #expect(receiver.digits.description.wholeMatch(of: #/[0-9]{3} [0-9]{3}/#) != nil)
        #expect(receiver.giver.name.description == "\"Bob's phone\"" && receiver.giver.vault == "1234")
        #expect(giver.receiver.name.description == "\"Ada's laptop\"" && giver.receiver.vault == "9988")
    }

    @Test("differ in each session, although both handshakes have the same hash")
    func fresh() throws {
        let all = try (0..<20).map { _ in try Session().compared().giver.digits }
        #expect(Set(all).count >= 19, "there are a million, and twenty attempts")
    }

    @Test("depend on the handshake, and on the nonce of each side")
    func inputs() {
        func digits(_ hash: UInt8, _ receiver: UInt8, _ giver: UInt8) -> TransferDigits {
            func bytes(_ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: 32) }
            return TransferDigits(
                TransferBinding(
                    hash: HandshakeHash(checked: bytes(hash)),
                    receiver: TransferNonce(checked: bytes(receiver)),
                    giver: TransferNonce(checked: bytes(giver))
                )
            )
        }
        let first = digits(1, 2, 3)
        #expect(first == digits(1, 2, 3))
        #expect(first != digits(9, 2, 3))
        #expect(first != digits(1, 9, 3))
        #expect(first != digits(1, 2, 9))
        #expect(first != digits(1, 3, 2))
    }

    @Test("differ if a stranger is between both, who must choose its nonces first")
    func stranger() throws {
        // The stranger has one handshake with each side, and passes everything on that it can.
        let receiver = TransferReceiver(name: "Ada's laptop", vault: Session.receiverVault)
        let giver = TransferGiver(purpose: .give, name: "Bob's phone", vault: vault)
        let toReceiver = HandshakeHash(checked: [UInt8](repeating: 1, count: 32))
        let toGiver = HandshakeHash(checked: [UInt8](repeating: 2, count: 32))
        let greeted = try giver.receive(receiver.frame, hash: toGiver)
        let met = try receiver.receive(greeted.frame, hash: toReceiver)
        let compared = try greeted.receive(met.frame)
        #expect(met.digits != compared.digits)
    }

    @Test("can't be chosen: a nonce that was not committed to is refused")
    func commitment() throws {
        let session = Session()
        let greeted = try session.giver.receive(session.receiver.frame, hash: session.hash)
        let met = try session.receiver.receive(greeted.frame, hash: session.hash)
        let other = TransferNonce.random()
        let reveal = try changing(met.frame, "nonce", to: .bytes(other.bytes))
        #expect(throws: TransferFailure.manipulated) { _ = try greeted.receive(reveal) }
        _ = try greeted.receive(met.frame)
    }
}
