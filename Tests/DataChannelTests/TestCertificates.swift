// SPDX-License-Identifier: Apache-2.0

import CaBLE
import Foundation
import TestSupport
import Testing

/// Certificates made by openssl once for all tests of this process: two authorities, and what they signed.
struct TestCertificates {
    /// Who a server says it is.
    enum Identity: String, CaseIterable {
        /// The relay's name, signed by the authority the tests trust.
        case relay
        /// Another name, signed by the same authority.
        case otherHost
        /// The relay's name, signed by an authority nobody trusts.
        case stranger
    }

    static let domain = TunnelDomain(id: 266)
    private static let made = Result { try TestCertificates() }

    let directory: String

    static func shared() throws -> TestCertificates { try made.get() }

    var authority: String { path("trusted.pem") }
    func certificate(_ identity: Identity) -> String { path("\(identity.rawValue).pem") }
    func key(_ identity: Identity) -> String { path("\(identity.rawValue).key") }
    func path(_ name: String) -> String { "\(directory)/\(name)" }

    private init() throws {
        directory = NSTemporaryDirectory() + "tunnel-tls-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        atexit {
            if let made = try? TestCertificates.made.get() {
                try? FileManager.default.removeItem(atPath: made.directory)
            }
        }
        let host = try #require(Self.domain?.host)
        for name in ["trusted", "unknown"] {
            try openssl(["-subj", "/CN=\(name)", "-keyout", path("\(name).key"), "-out", path("\(name).pem")])
        }
        for identity in Identity.allCases {
            let name = identity == .otherHost ? "other.example" : host
            let signer = identity == .stranger ? "unknown" : "trusted"
            try openssl([
                "-CA", path("\(signer).pem"), "-CAkey", path("\(signer).key"), "-subj", "/CN=leaf",
                "-addext", "subjectAltName=DNS:\(name)", "-addext", "basicConstraints=critical,CA:FALSE",
                "-keyout", key(identity), "-out", certificate(identity),
            ])
        }
    }

    private func openssl(_ arguments: [String]) throws {
        let command =
            ["openssl", "req", "-x509", "-days", "2", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
            + arguments
        let status = try SpawnedProcess(command, environment: ProcessInfo.processInfo.environment).endOfShortCommand()
        try #require(status == 0, "openssl \(arguments)")
    }
}
