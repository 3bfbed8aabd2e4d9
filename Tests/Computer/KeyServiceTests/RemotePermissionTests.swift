// SPDX-License-Identifier: Apache-2.0

import HybridCTAP
import HybridCommandSupport
import HybridPrimitives
import HybridProgram
import HybridSSHAgent
import SSHTestSupport
import TestSupport
import Testing

@testable import HybridKeyService

@Suite("Permissions of other hosts")
struct RemotePermissionTests {
    private let site: RelyingPartyID
    private let otherSite: RelyingPartyID
    private let near: RemoteHost
    private let far: RemoteHost

    init() throws {
        site = try #require(RelyingPartyID("shop.example"))
        otherSite = try #require(RelyingPartyID("mail.example"))
        near = .key(try TestServer().hostKey.fingerprint)
        far = .key(try TestServer().hostKey.fingerprint)
    }

    @Test("Without a permission, every host is refused; with one, every hop needs it")
    func hops() {
        var permissions = RemotePermissions()
        #expect(permissions.firstMissing(in: [near]) == near)
        _ = permissions.allow(far, name: "far")
        #expect(permissions.firstMissing(in: [near, far]) == near)
        _ = permissions.allow(near, name: "near")
        #expect(permissions.firstMissing(in: [near, far]) == nil)
        _ = permissions.forget(far)
        #expect(permissions.firstMissing(in: [near, far]) == far)
    }

    private func decision(
        _ permissions: RemotePermissions,
        _ host: RemoteHost,
        _ site: RelyingPartyID,
        isCreation: Bool = false,
        wantsSecret: Bool = false
    ) -> RemotePermissions.Decision {
        permissions.decision(host, site, isCreation: isCreation, wantsSecret: wantsSecret)
    }

    @Test("A permission is for one host, one website and sign-ins; a secret has its own")
    func sites() {
        var permissions = RemotePermissions()
        _ = permissions.allow(far, name: "far")
        #expect(decision(permissions, far, site) == .ask(permanent: true))
        _ = permissions.allow(site, from: far, secret: false)
        #expect(decision(permissions, far, site) == .permitted)
        #expect(decision(permissions, near, site) == .ask(permanent: true))
        #expect(decision(permissions, far, otherSite) == .ask(permanent: true))
        #expect(decision(permissions, far, site, wantsSecret: true) == .ask(permanent: true))
        #expect(decision(permissions, far, site, isCreation: true) == .ask(permanent: false))
        _ = permissions.allow(site, from: far, secret: true)
        #expect(decision(permissions, far, site, wantsSecret: true) == .permitted)
        #expect(decision(permissions, far, site, isCreation: true, wantsSecret: true) == .ask(permanent: false))
        // A later answer without a secret takes nothing back.
        _ = permissions.allow(site, from: far, secret: false)
        #expect(decision(permissions, far, site, wantsSecret: true) == .permitted)
        let removals = [permissions.forget(site, from: far), permissions.forget(site, from: far)]
        #expect(removals == [true, false])
        #expect(decision(permissions, far, site) == .ask(permanent: true))
    }

    @Test("A host that is forgotten takes its websites with it")
    func forgetting() {
        var permissions = RemotePermissions()
        _ = permissions.allow(far, name: "far")
        _ = permissions.allow(site, from: far, secret: true)
        let removals = [permissions.forget(far), permissions.forget(far)]
        #expect(removals == [true, false])
        _ = permissions.allow(far, name: "far")
        #expect(decision(permissions, far, site) == .ask(permanent: true))
    }

    @Test("Permissions survive a restart")
    func file() async throws {
        try await TestFolder.with { folder in
            let store = RemotePermissionStore(in: try StateFolder(path: folder.path + "/state"))
            #expect(try store.permissions() == RemotePermissions())
            let (near, site) = (near, site)
            let changed = try store.change { permissions in
                _ = permissions.allow(near, name: "web1.example")
                _ = permissions.allow(.socket("dev"), name: "socket:dev")
                _ = permissions.allow(site, from: near, secret: true)
                _ = permissions.allow(site, from: .socket("dev"), secret: false)
                return permissions
            }
            #expect(try store.permissions() == changed)
        }
    }

    @Test(
        "A line that is no permission stops the command that reads it",
        arguments: [
            "host", "host SHA256:x name", "host socket:a/b name", "host socket:dev", "site socket:dev shop.example",
            "site socket:dev shop.example always", "site socket:dev SHOP.example sign-in", "other socket:dev name",
            "host socket:dev two names",
        ]
    )
    func malformed(_ line: String) async throws {
        try await TestFolder.with { folder in
            let state = try StateFolder(path: folder.path + "/state")
            try state.replace("remote-hosts", with: Array("host socket:a a\n\(line)\n".utf8))
            let store = RemotePermissionStore(in: state)
            #expect {
                try store.permissions()
            } throws: { error in
                (error as? CommandFailure)?.sentence.contains("line 2") == true
            }
        }
    }

    @Test("The number of permissions is limited")
    func limits() {
        var permissions = RemotePermissions()
        let numbers = 0..<RemotePermissions.maximumHosts
        let results = numbers.map { permissions.allow(.socket("s\($0)"), name: "s") }
        #expect(!results.contains(false))
        let more = [permissions.allow(.socket("more"), name: "s"), permissions.allow(.socket("s1"), name: "again")]
        #expect(more == [false, true])
        #expect(permissions.hosts.count == RemotePermissions.maximumHosts)
    }
}

@Suite("Limits of other hosts")
struct RemoteLimitTests {
    private let hosts = (0..<8).map { RemoteHost.socket("s\($0)") }

    @Test("A host has one request at a time, and all together have four")
    func requests() {
        var limits = RemoteLimits()
        let first = [0, 0, 1, 2, 3, 4].map { limits.begin(hosts[$0]) }
        #expect(first == [true, false, true, true, true, false])
        limits.end(hosts[0], isAnswered: false)
        let second = [4, 0].map { limits.begin(hosts[$0]) }
        #expect(second == [true, false])
    }

    @Test("Three windows in a minute that lead to nothing are the limit, for each host")
    func windows() {
        var limits = RemoteLimits()
        func open(_ host: RemoteHost, at seconds: Int, isAnswered: Bool = false) -> Bool {
            _ = limits.begin(host)
            defer { limits.end(host, isAnswered: isAnswered) }
            return limits.openWindow(host, at: .seconds(seconds))
        }
        let first = [0, 1, 2, 3].map { open(hosts[0], at: $0) }
        #expect(first == [true, true, true, false])
        let later = [open(hosts[1], at: 3), open(hosts[0], at: 61)]
        #expect(later == [true, true])
        let answered = (100..<120).map { open(hosts[2], at: $0, isAnswered: true) }
        #expect(!answered.contains(false))
    }

    @Test("A flood of refusals is recorded three times a minute")
    func refusals() {
        var limits = RemoteLimits()
        let recorded = (0..<100).count { _ in limits.recordRefusal(hosts[0], at: .seconds(1)) }
        #expect(recorded == 3)
        let other = limits.recordRefusal(hosts[1], at: .seconds(1))
        #expect(other)
    }

    @Test("A process with two first sessions is not consistent, also after other processes")
    func sessions() throws {
        var sessions = ProcessSessions()
        let process = ProcessSessions.Process(id: 1, startTime: 5)
        func session(_ number: UInt8) throws -> SSHSessionID { try SSHSessionID(bytes: TestServer.session(number)) }
        #expect(sessions.isConsistent(process))
        sessions.add(try session(1), of: process)
        sessions.add(try session(1), of: process)
        #expect(sessions.isConsistent(process))
        sessions.add(try session(2), of: ProcessSessions.Process(id: 1, startTime: 6))
        #expect(sessions.isConsistent(process))
        sessions.add(try session(2), of: process)
        #expect(!sessions.isConsistent(process))
        sessions.add(try session(1), of: process)
        #expect(!sessions.isConsistent(process))
        for number in 2..<(2 + ProcessSessions.maximumCount) {
            sessions.add(try session(3), of: ProcessSessions.Process(id: Int32(number), startTime: 1))
        }
        #expect(sessions.isConsistent(process), "the oldest is forgotten")
    }
}
