// SPDX-License-Identifier: Apache-2.0

package import HybridCTAP
internal import HybridPrimitives

/// The hosts whose browsers may use a phone that is near this computer.
///
/// A host is permitted by the user before it asks. A permission for a website belongs to one host; there is none for all
/// websites.
package struct RemotePermissions: Hashable, Sendable {
    /// A permitted host.
    package struct Host: Hashable, Sendable {
        /// The host.
        package let host: RemoteHost
        /// The name that the user has typed, for lists.
        package let name: String
    }

    /// A website that may be signed in to from a host without a question.
    package struct Site: Hashable, Sendable {
        /// The host that asks.
        package let host: RemoteHost
        /// The relying party ID.
        package let relyingParty: RelyingPartyID
        /// True if the website also gets secrets of the passkey (PRF).
        package let mayGetSecret: Bool
    }

    /// The decision about a request of permitted hosts.
    enum Decision: Equatable {
        /// The user is asked, and may answer for the future too if `permanent` is true.
        case ask(permanent: Bool)
        /// The user has answered before.
        case permitted
    }

    static let maximumHosts = 128
    static let maximumSites = 1024

    /// The hosts, in the order in which they were permitted.
    package private(set) var hosts: [Host] = []
    /// The websites, in the order in which they were permitted.
    package private(set) var sites: [Site] = []

    /// Creates permissions for nothing.
    package init() {}

    /// Returns the first host without a permission; `nil` if all have one.
    ///
    /// Each hop needs it, because each can act in the name of those behind it.
    func firstMissing(in chain: [RemoteHost]) -> RemoteHost? {
        chain.first { hop in !hosts.contains { $0.host == hop } }
    }

    /// Returns the decision about a request of permitted hosts.
    ///
    /// A registration is always asked for, and so is the first secret: with it, the host can decrypt what the website
    /// encrypts from then on.
    ///
    /// - Parameters:
    ///   - host: The host that asks.
    ///   - relyingParty: The relying party ID.
    ///   - isCreation: True for a registration.
    ///   - wantsSecret: True if the website asks for secrets of the passkey.
    func decision(
        _ host: RemoteHost,
        _ relyingParty: RelyingPartyID,
        isCreation: Bool,
        wantsSecret: Bool
    ) -> Decision {
        guard !isCreation else { return .ask(permanent: false) }
        let site = sites.first { $0.host == host && $0.relyingParty == relyingParty }
        guard let site, site.mayGetSecret || !wantsSecret else { return .ask(permanent: true) }
        return .permitted
    }

    /// Permits a host; returns false if there are too many.
    package mutating func allow(_ host: RemoteHost, name: String) -> Bool {
        hosts.removeAll { $0.host == host }
        guard hosts.count < Self.maximumHosts else { return false }
        hosts.append(Host(host: host, name: name))
        return true
    }

    /// Permits sign-ins to a website from a host; returns false if there are too many.
    ///
    /// A permission for secrets stays.
    package mutating func allow(_ relyingParty: RelyingPartyID, from host: RemoteHost, secret: Bool) -> Bool {
        let old = sites.first { $0.host == host && $0.relyingParty == relyingParty }
        sites.removeAll { $0 == old }
        guard sites.count < Self.maximumSites else { return false }
        let mayGetSecret = secret || old?.mayGetSecret == true
        sites.append(Site(host: host, relyingParty: relyingParty, mayGetSecret: mayGetSecret))
        return true
    }

    /// Removes a host with its websites; returns false if it has no permission.
    package mutating func forget(_ host: RemoteHost) -> Bool {
        let before = (hosts.count, sites.count)
        hosts.removeAll { $0.host == host }
        sites.removeAll { $0.host == host }
        return before != (hosts.count, sites.count)
    }

    /// Removes a website of a host; returns false if there is none.
    package mutating func forget(_ relyingParty: RelyingPartyID, from host: RemoteHost) -> Bool {
        let before = sites.count
        sites.removeAll { $0.host == host && $0.relyingParty == relyingParty }
        return before != sites.count
    }
}

// MARK: - The file

extension RemotePermissions {
    static let maximumSize = 256 * 1024
    /// Maximum length of the name of a host in bytes.
    package static let maximumName = 253

    /// The lines `host HOST NAME` and `site HOST RP-ID sign-in` or `site HOST RP-ID secret`.
    var text: String {
        let lines =
            hosts.map { "host \($0.host) \($0.name)" }
            + sites.map { "site \($0.host) \($0.relyingParty.text) \($0.mayGetSecret ? "secret" : "sign-in")" }
        return lines.map { "\($0)\n" }.joined()
    }

    /// Creates permissions from the contents of the file.
    ///
    /// - Throws: The number of the first line that is none: a permission must not be lost or invented.
    init(parsing bytes: [UInt8]) throws(MalformedLine) {
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() where !line.isEmpty {
            guard add(line.split(separator: " ").map(String.init)) else { throw MalformedLine(number: index + 1) }
        }
    }

    private mutating func add(_ fields: [String]) -> Bool {
        guard fields.count > 2, let host = RemoteHost(fields[1]) else { return false }
        switch fields[0] {
        case "host": return fields.count == 3 && Self.isName(fields[2]) && allow(host, name: fields[2])
        case "site":
            guard fields.count == 4, ["sign-in", "secret"].contains(fields[3]), let id = RelyingPartyID(fields[2])
            else {
                return false
            }
            return allow(id, from: host, secret: fields[3] == "secret")
        default: return false
        }
    }

    /// Returns true for 1 to 253 visible ASCII characters.
    package static func isName(_ text: String) -> Bool {
        (1...maximumName).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// A line of the file that is not a permission.
    struct MalformedLine: Error {
        /// The number, from 1.
        let number: Int
    }
}
