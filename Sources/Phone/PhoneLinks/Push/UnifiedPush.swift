// SPDX-License-Identifier: Apache-2.0

internal import HybridDBus
package import HybridPrimitives

/// The names of UnifiedPush on the session bus (UnifiedPush specifications, DBUS_0.3.0).
package enum UnifiedPush {
    /// The bus name of this program, under which distributors reach it and the bus starts it.
    package static let service = "org.hybrid.Auth"

    static let connectorPath = "/org/unifiedpush/Connector"
    static let connector = "org.unifiedpush.Connector2"
    static let distributorPath = "/org/unifiedpush/Distributor"
    static let distributor = "org.unifiedpush.Distributor2"
    /// The beginning of every distributor's bus name.
    static let distributorPrefix = distributorNamespace + "."
    static let distributorNamespace = "org.unifiedpush.Distributor"

    /// Maximum length of a message in bytes.
    static let maximumMessageLength = 4096

    /// Returns true if a text can be the bus name of a distributor (D-Bus Specification, "Valid Names").
    static func isDistributor(_ name: String) -> Bool {
        name.hasPrefix(distributorPrefix) && name.utf8.count <= 255 && name.utf8.count > distributorPrefix.utf8.count
            && name.utf8.allSatisfy { byte in
                "._-".utf8.contains(byte) || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
                    || (0x61...0x7A).contains(byte)
            }
    }
}

/// The reason why this device can't subscribe at a push service.
package struct PushFailure: ExplainedFailure, Hashable {
    package let code: String
    package let sentence: String
    package let status: ExitStatus

    private init(_ code: String, _ sentence: String, _ status: ExitStatus = .temporary) {
        (self.code, self.sentence, self.status) = (code, sentence, status)
    }

    /// No distributor is installed.
    static let noDistributor = Self(
        "no-push-distributor",
        "no push service (UnifiedPush distributor) is on the session bus; install one, or turn the setting push off",
        .unavailable
    )

    /// Several distributors are installed, and none was chosen; or the chosen one is missing.
    static func choose(_ names: [String]) -> Self {
        let short = names.map { String($0.dropFirst(UnifiedPush.distributorPrefix.count)) }.joined(separator: ", ")
        return Self(
            "push-distributor-not-chosen",
            "the push service to use is not clear; set push-distributor to one of: \(SafeText(quoting: short))",
            .usage
        )
    }

    /// Another process has the bus name of this program.
    static let nameTaken = Self(
        "push-name-taken",
        "another program has the name \(UnifiedPush.service) on the session bus; stop the other hybrid-auth listen",
        .unavailable
    )

    /// There is no session bus.
    package static let noSessionBus = Self(
        "no-session-bus",
        "there is no session bus, so no push service can wake this device; log in to a desktop session",
        .unavailable
    )

    /// The distributor refused the registration; the reasons are those of the specification.
    static func refused(_ reason: String?) -> Self {
        switch reason {
        case "NETWORK": Self("push-refused", "the push service has no network; retrying automatically")
        case "ACTION_REQUIRED": Self("push-refused", "the push service needs your action; open its settings")
        case "UNAUTHORIZED": Self("push-refused", "the push service does not accept this program; allow it there")
        default: Self("push-refused", "the push service refused to register this device; retrying automatically")
        }
    }

    /// The distributor did not name an address or did not deliver the relay's message in time.
    static let noEndpoint = Self(
        "push-silent",
        "the push service did not provide an address in time; retrying automatically"
    )

    /// The relay's message to the address did not arrive.
    static let noProof = Self(
        "push-not-delivered",
        "the push service did not deliver the relay's message in time; retrying automatically"
    )

    /// The relay did not seal the address in time.
    static let relaySilent = Self(
        "push-relay-silent",
        "the relay did not prepare push messages in time; retrying automatically, or choose another relay"
    )

    /// The address makes the linking information longer than an update.
    static let addressTooLong = Self(
        "push-address-too-long",
        "the push service's address is too long for a link; use another push service, or turn the setting push off",
        .unavailable
    )

    /// A call on the session bus failed.
    init(_ error: BusError) {
        switch error {
        case .notReachable: self = .noSessionBus
        case .timedOut: self.init("push-silent", "the push service does not respond; retrying automatically")
        case .refused(let name, _):
            self.init("push-refused", "the push service failed (\(SafeText(quoting: name))); retrying automatically")
        case .disconnected, .cancelled:
            self.init("session-bus-lost", "the session bus closed the connection; log in again")
        case .malformed: self.init("push-refused", "the push service violated the protocol; update it")
        }
    }
}
