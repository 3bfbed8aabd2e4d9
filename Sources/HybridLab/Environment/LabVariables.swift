// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridPrimitives

/// The settings of programs that use the lab environment: variables for ours, switches for Chromium.
struct LabVariables: Sendable {
    /// The address of the private bus.
    let bus: String
    let relay: LabRelay

    /// The variables, sorted by name.
    ///
    /// `hybrid-lab phone` reads all of them; other programs that use BlueZ read the first.
    var all: [(name: String, value: String)] {
        [
            ("DBUS_SYSTEM_BUS_ADDRESS", bus),
            ("HYBRID_LAB_CACERT", relay.authorityFile),
            ("HYBRID_LAB_CHROMIUM_ARGS", JSONText.array(chromiumSwitches.map(JSONText.string)).description),
            ("HYBRID_LAB_CONNECT_TO", relay.connectTo),
            ("HYBRID_LAB_TUNNEL_DOMAIN", String(relay.domain.id)),
        ]
    }

    /// The switches with which Chromium finds the relay and trusts its certificate, but no other untrusted one.
    ///
    /// Chromium honors the second only together with `--user-data-dir`, which Playwright and Selenium always set.
    var chromiumSwitches: [String] {
        [
            "--host-resolver-rules=MAP \(relay.domain.host):443 127.0.0.1:\(relay.port)",
            "--ignore-certificate-errors-spki-list=\(relay.pin.text)",
        ]
    }

    /// All settings for programs.
    var json: JSONText {
        .object([
            ("event", .string("ready")),
            ("environment", .object(all.map { ($0.name, .string($0.value)) })),
            ("chromium", .array(chromiumSwitches.map(JSONText.string))),
            (
                "relay",
                .object([
                    ("tunnel_domain", .number(Int(relay.domain.id))), ("host", .string(relay.domain.host)),
                    ("address", .string("127.0.0.1:\(relay.port)")), ("cacert", .string(relay.authorityFile)),
                    ("spki_sha256", .string(relay.pin.text)),
                ])
            ),
            ("bus", .string(bus)),
        ])
    }

    /// The lines for a shell, each of which exports a variable.
    var shellLines: [String] {
        all.map {
            "export \($0.name)='\($0.value.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#))'"
        }
    }
}
