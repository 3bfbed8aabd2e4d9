// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import HybridDBus

/// The decision whether a bus is the system's; Tests/CeremonyTests/SystemBusTests.swift makes it in real namespaces.
@Suite("The origin of a bus")
struct BusOriginTests {
    private static let (root, account, user, other): (UInt32, UInt32, UInt32, UInt32) = (0, 101, 1000, 1001)

    private func origin(
        owner: UInt32?,
        user: UInt32 = user,
        mapping: String? = BusOrigin.identity,
        accountName: String = "messagebus",
        namesSystemSocket: Bool = true
    ) -> BusOrigin {
        BusOrigin(namesSystemSocket: namesSystemSocket, mapping: mapping, owner: owner, user: user) {
            $0 == Self.account ? accountName : $0 == Self.user ? "ada" : nil
        }
    }

    @Test("is the system if root or the account of the bus has opened it")
    func system() {
        for user in [Self.user, Self.root] {
            #expect(origin(owner: Self.root, user: user) == .system)
            #expect(origin(owner: Self.account, user: user) == .system)
            #expect(origin(owner: Self.account, user: user, accountName: "dbus") == .system)
        }
        #expect(BusOrigin.system.doubt == nil)
    }

    @Test("is in doubt if another user has opened it, also the own one, or if that is unknown")
    func otherOwner() {
        for owner in [Self.user, Self.other, 65534, nil] {
            #expect(origin(owner: owner) == .otherOwner)
            #expect(origin(owner: owner, user: Self.root) == .otherOwner)
        }
        #expect(origin(owner: Self.account, accountName: "ada") == .otherOwner)
        #expect(origin(owner: Self.account, user: Self.account) == .otherOwner)
        #expect(BusOrigin.otherOwner.doubt?.contains("docs/bluetooth.md") == true)
    }

    @Test(
        "is in doubt in a user namespace, regardless of its owner",
        arguments: [
            "", "0 0 1", "0 1000 1", "1000 1000 1", "0 100000 65536", "0 0 65536", "0 0 4294967294",
            "0 0 1 1 1 4294967294", "0 1000 4294967295", "0 0 4294967295 0",
        ]
    )
    func userNamespace(mapping: String) {
        for owner in [Self.root, Self.account, Self.user] {
            #expect(origin(owner: owner, mapping: mapping) == .userNamespace)
        }
        #expect(BusOrigin.userNamespace.doubt?.contains("user namespace") == true)
    }

    @Test("is in doubt if the user namespace is unknown, for another reason")
    func unknownNamespace() {
        for owner in [Self.root, Self.account, Self.user] {
            #expect(origin(owner: owner, mapping: nil) == .unknownNamespace)
        }
        let doubt = BusOrigin.unknownNamespace.doubt
        #expect(doubt?.contains("5.6 or newer") == true && doubt?.contains("docs/bluetooth.md") == true)
    }

    @Test("is another address if the path is not the system's, and needs no explanation")
    func otherAddress() {
        #expect(origin(owner: Self.root, namesSystemSocket: false) == .otherAddress)
        #expect(origin(owner: nil, mapping: nil, namesSystemSocket: false) == .otherAddress)
        #expect(BusOrigin.otherAddress.doubt == nil)
    }
}
