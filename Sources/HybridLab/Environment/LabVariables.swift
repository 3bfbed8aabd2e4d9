// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridCommandSupport

/// What a program needs to know to take part: variables for ours, switches for Chromium.
struct LabVariables: Sendable {
    let bus: String
    let relay: TunnelDomain
    let port: Int
    /// The file of the throwaway authority's certificate.
    let authority: String
    let pin: CertificatePin

    /// Variables, sorted by name.
    ///
    /// The phone of the lab reads all of them; any program that speaks to BlueZ the first.
    var variables: [(name: String, value: String)] {
        [
            ("DBUS_SYSTEM_BUS_ADDRESS", bus),
            ("HYBRID_LAB_CACERT", authority),
            ("HYBRID_LAB_CHROMIUM_ARGS", JSONText.list(chromiumSwitches.map(JSONText.text)).description),
            ("HYBRID_LAB_CONNECT_TO", connectTo),
            ("HYBRID_LAB_TUNNEL_DOMAIN", String(relay.id)),
        ]
    }

    /// The detour that `--connect-to` takes.
    var connectTo: String { "\(relay.host):443:127.0.0.1:\(port)" }

    /// Switches with which Chromium finds the relay and trusts its certificate, and no other that is not trusted anyway.
    ///
    /// Chromium heeds the second only beside `--user-data-dir`, which Playwright and Selenium always give.
    var chromiumSwitches: [String] {
        [
            "--host-resolver-rules=MAP \(relay.host):443 127.0.0.1:\(port)",
            "--ignore-certificate-errors-spki-list=\(pin.text)",
        ]
    }

    /// All of it for a program.
    var json: JSONText {
        .object([
            ("event", .text("ready")),
            ("environment", .object(variables.map { ($0.name, .text($0.value)) })),
            ("chromium", .list(chromiumSwitches.map(JSONText.text))),
            (
                "relay",
                .object([
                    ("tunnel_domain", .number(Int(relay.id))), ("host", .text(relay.host)),
                    ("address", .text("127.0.0.1:\(port)")), ("cacert", .text(authority)),
                    ("spki_sha256", .text(pin.text)),
                ])
            ),
            ("bus", .text(bus)),
        ])
    }

    /// Lines for a shell, each of which sets and exports a variable.
    var shellLines: [String] {
        variables.map {
            "export \($0.name)='\($0.value.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#))'"
        }
    }
}
