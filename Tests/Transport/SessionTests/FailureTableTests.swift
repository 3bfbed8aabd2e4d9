// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridBLEAdvert
import HybridDataChannel
import HybridNetwork
import HybridPrimitives
import HybridSession
import TestSupport
import Testing

/// One sample of each failure, with placeholders for the parts that vary.
@Suite("Failure codes, sentences and exit statuses")
struct FailureTableTests {
    private static let radio: [RadioError] = {
        guard let adapter = AdapterName("hci0") else { return [] }
        return [
            .noSystemBus, .noBluetoothService, .noAdapter, .adapterNotFound(adapter), .adapterOff(adapter),
            .noLowEnergy(adapter),
            .notPermitted("WORDS"), .noFreeAdvertisingSlot(adapter), .bluetoothServiceGone, .timedOut, .interrupted,
            .busy("WORDS"), .failed("WORDS"),
        ]
    }()

    private static let relay: [TunnelError] = [
        .network(.hostNotFound("HOST")), .network(.connectionRefused("HOST")),
        .network(.unreachable(host: "HOST", reason: "REASON")),
        .network(.timedOut(host: "HOST", .connecting)), .network(.disconnected(host: "HOST", .securing)),
        .network(.disconnected(host: "HOST", .upgrading)),
        .network(.proxySettingUnusable(variable: "VARIABLE", why: .malformed)),
        .network(.proxySettingUnusable(variable: "VARIABLE", why: .otherKind("KIND"))),
        .network(.proxyNotFound("PROXY")),
        .network(.proxyConnectionRefused("PROXY")), .network(.proxyUnreachable(proxy: "PROXY", reason: "REASON")),
        .network(.proxySilent("PROXY")),
        .network(.proxyDisconnected("PROXY")), .network(.proxyWantsAuthentication("PROXY")),
        .network(.proxyRefusesAuthentication("PROXY")),
        .network(.proxyRefused(proxy: "PROXY", status: 403)), .network(.proxyMisbehaved(proxy: "PROXY", how: "HOW")),
        .network(.certificateNotTrusted(host: "HOST", issuer: "ISSUER")),
        .network(.certificateNotTrusted(host: "HOST", issuer: nil)),
        .network(.certificateSelfSigned(host: "HOST")), .network(.certificateExpired(host: "HOST")),
        .network(.certificateNotYetValid(host: "HOST")),
        .network(.certificateForOtherHost("HOST")), .network(.tlsMissing(host: "HOST")),
        .network(.tlsVersionUnsupported(host: "HOST")),
        .network(.tlsCipherUnsupported(host: "HOST")), .network(.tlsAlert(host: "HOST", name: "NAME")),
        .network(.tlsFailed("WORDS")),
        .network(.trustAnchorsUnusable("FILE")),
        .network(.trustAnchorsUnusable("FILE", reason: "REASON", remedy: "REMEDY")), .tunnelNotFound,
        .network(.notAuthorized), .network(.relayBusy), .network(.refused(status: 500)),
        .network(.redirectRefused(host: "HOST", .notSecure)),
        .network(.tooManyRedirects(host: "HOST")), .relayMisbehaved("HOW"), .closed(code: 1001), .stalled,
        .connectionLost,
        .messageRefused, .contactUnreachable, .contactGone(nil), .contactLimited, .phoneDeclined, .listeningNotOffered,
        .relaySilent,
    ]

    private static let client: [ClientFailure] = [
        .phoneNotNearby, .unknownRelay, .phoneSilent, .userTimedOut, .phoneDisconnected, .phoneOrRelayDisconnected,
        .notThisPhone, .phoneLacksCTAP, .phoneLacksDigitalCredentials, .phoneMisbehaved("HOW"), .internalFault("WORDS"),
        .phoneUnreachable(name), .phoneUnsubscribed(name), .phoneNotAnswering(name), .phoneDeclined(name),
        .notLinkedPhone(name), .linkGone(name),
        .giverNotNearby, .giverRelayUnknown, .giverSilent, .giverLeft, .giverOrRelayLeft, .giverMisbehaved("HOW"),
    ]

    private static let name = PhoneName("NAME")

    private static let phone: [AuthenticatorSessionFailure] = [
        .noClient, .computerNotNearby, .tunnelExpired, .notVerified, .clientSilent, .clientMisbehaved("HOW"),
        .noReceiver, .receiverSilent, .receiverLeft, .receiverOrRelayLeft, .receiverMisbehaved("HOW"),
    ]

    private static var all: [any ExplainedFailure] {
        radio as [any ExplainedFailure] + relay as [any ExplainedFailure] + client as [any ExplainedFailure]
            + phone as [any ExplainedFailure]
    }

    private static func row(_ failure: any ExplainedFailure) -> String {
        "| `\(failure.code)` | \(failure.status.rawValue) | \(failure.sentence) |"
    }

    private static func file(_ path: String) throws -> String {
        try String(contentsOfFile: PackageFolder.path + "/" + path, encoding: .utf8)
    }

    @Test("Each failure has its own sentence with a remedy")
    func distinct() {
        var seen: [String: String] = [:]
        for failure in Self.all {
            #expect(seen.updateValue(failure.code, forKey: failure.sentence) == nil, "\(failure.sentence)")
            #expect(!failure.sentence.contains("\n") && !failure.sentence.hasSuffix("."), "\(failure.sentence)")
            #expect(failure.sentence.contains("; "), "no remedy: \(failure.sentence)")
        }
    }

    @Test("All codes of the sources are covered here")
    func complete() throws {
        let sources = try [
            "BLEAdvert/RadioError", "Transport/Network/NetworkError", "Transport/DataChannel/TunnelError",
            "Transport/Session/Errors/ClientFailure", "Transport/Session/Errors/ClientFailure+Transfer",
            "Transport/Session/Errors/AuthenticatorSessionFailure",
            "Transport/Session/Errors/AuthenticatorSessionFailure+Transfer",
        ].map { try Self.file("Sources/\($0).swift") }
        // A code is the first argument of an initializer.
        let written = Set(
            sources.flatMap { $0.matches(of: #/\(\s*"([a-z0-9]+(?:-[a-z0-9]+)+)",/#).map { String($0.1) } }
        )
        #expect(written == Set(Self.all.map(\.code)))
    }

    /// The codes of other errors stand there, too; `scripts/check-docs` compares all of them with the sources.
    @Test("docs/troubleshooting.md lists exactly these sentences of these failures")
    func documented() throws {
        let rows = Self.all.map(Self.row)
        let text = try Self.file("docs/troubleshooting.md")
        let written = text.split(separator: "\n").map(String.init).filter { $0.hasPrefix("| `") }
        for row in rows where !written.contains(where: { $0.hasPrefix(row) }) {
            Issue.record("docs/troubleshooting.md lacks: \(row)")
        }
        let codes = Set(Self.all.map { "| `\($0.code)` |" })
        let withoutNotes = written.filter { $0.split(separator: "|").count == 3 }
        let ours = withoutNotes.filter { line in codes.contains { line.hasPrefix($0) } }
        for line in ours where !rows.contains(where: { line.hasPrefix($0) }) {
            Issue.record("docs/troubleshooting.md has what nothing says: \(line)")
        }
    }
}
