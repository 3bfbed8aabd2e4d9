// SPDX-License-Identifier: Apache-2.0

internal import Foundation
package import HybridCaBLE
package import NIOSSL
internal import TestSupport

/// Certificates created by openssl once for all tests of the process: three authorities and the certificates that they
/// signed.
package struct TestCertificates {
    /// Certificates of servers.
    package enum Identity: String, CaseIterable {
        /// The relay's name, signed by the authority that the tests trust.
        case relay
        /// Another name, signed by the same authority.
        case otherHost
        /// No name, but the address of the tests' servers.
        case addressOnly
        /// Another name, and the address of the tests' servers.
        case otherHostAndAddress
        /// The relay's name, and the address of the tests' servers.
        case nameAndAddress
        /// A wildcard in place of the first label of the relay's name.
        case wildcard
        /// A wildcard in place of the first two labels.
        case highWildcard
        /// A wildcard for a part of the first label.
        case partialWildcard
        /// The relay's name as the subject's common name only.
        case commonName
        /// The relay's name, signed by an unknown authority.
        case unknownAuthority
        /// The relay's name, signed by an unknown authority with the name of the trusted one.
        case namesakeAuthority
        /// The relay's name, expired.
        case expired
        /// The relay's name, not valid yet.
        case early
        /// Signed by an unknown authority, and expired.
        case expiredUnknownAuthority
        /// Signed by an unknown authority, and not valid yet.
        case earlyUnknownAuthority
        /// Self-signed, and expired.
        case expiredSelfSigned

        /// The signing authority; `nil` if self-signed.
        fileprivate var signer: String? {
            switch self {
            case .unknownAuthority, .expiredUnknownAuthority, .earlyUnknownAuthority: "unknown"
            case .namesakeAuthority: "namesake"
            case .expiredSelfSigned: nil
            default: "trusted"
            }
        }

        /// The subject's alternative names in openssl's notation; `nil` for none.
        fileprivate func alternativeNames(of host: String) -> String? {
            let labels = host.split(separator: ".")
            switch self {
            case .otherHost: return "DNS:other.example"
            case .addressOnly: return "IP:127.0.0.1"
            case .otherHostAndAddress: return "DNS:other.example,IP:127.0.0.1"
            case .nameAndAddress: return "DNS:\(host),IP:127.0.0.1"
            case .wildcard: return "DNS:*." + labels.dropFirst().joined(separator: ".")
            case .highWildcard: return "DNS:*." + labels.dropFirst(2).joined(separator: ".")
            case .partialWildcard: return "DNS:\(host.prefix(2))*." + labels.dropFirst().joined(separator: ".")
            case .commonName: return nil
            default: return "DNS:\(host)"
            }
        }

        /// Start and end of the validity in openssl's format, if it does not include the present.
        fileprivate var dates: [String]? {
            switch self {
            case .expired, .expiredUnknownAuthority, .expiredSelfSigned: ["20200101000000Z", "20210101000000Z"]
            case .early, .earlyUnknownAuthority: ["21000101000000Z", "21010101000000Z"]
            default: nil
            }
        }
    }

    /// A command that failed.
    struct Failed: Error {
        let command: [String]
    }

    package static let domain = TunnelDomain(id: 266)
    private static let made = Task { try await TestCertificates() }

    private static let directory = NSTemporaryDirectory() + "tunnel-tls-" + UUID().uuidString

    package let directory: String

    package static func shared() async throws -> TestCertificates { try await made.value }

    package var authority: String { path("trusted.pem") }
    package func certificate(_ identity: Identity) -> String { path("\(identity.rawValue).pem") }
    package func key(_ identity: Identity) -> String { path("\(identity.rawValue).key") }
    package func path(_ name: String) -> String { "\(directory)/\(name)" }

    /// Returns the TLS of a server with this certificate.
    package static func context(_ identity: Identity) async throws -> NIOSSLContext {
        let certificates = try await shared()
        let configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(certificates.certificate(identity)).map {
                .certificate($0)
            },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: certificates.key(identity), format: .pem))
        )
        return try NIOSSLContext(configuration: configuration)
    }

    private init() async throws {
        directory = Self.directory
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        atexit { try? FileManager.default.removeItem(atPath: TestCertificates.directory) }
        let host = Self.domain?.host ?? ""
        for (name, subject) in [("trusted", "trusted"), ("unknown", "unknown"), ("namesake", "trusted")] {
            try await openssl([
                "-subj", "/CN=\(subject)", "-keyout", path("\(name).key"), "-out", path("\(name).pem"),
                // Python 3.13 and newer trust no authority without it.
                "-addext", "keyUsage=critical,keyCertSign",
            ])
        }
        for identity in Identity.allCases {
            if let dates = identity.dates {
                try await issue(identity, for: host, dates)
                continue
            }
            let signer = identity.signer ?? "trusted"
            var extensions = identity.alternativeNames(of: host).map { ["-addext", "subjectAltName=\($0)"] } ?? []
            // Without the identifier of its issuer's key, so that the issuer is found by name.
            if identity == .namesakeAuthority { extensions += ["-addext", "authorityKeyIdentifier=none"] }
            try await openssl(
                [
                    "-CA", path("\(signer).pem"), "-CAkey", path("\(signer).key"),
                    "-subj", "/CN=\(identity == .commonName ? host : "leaf")",
                    "-addext", "basicConstraints=critical,CA:FALSE",
                    "-keyout", key(identity), "-out", certificate(identity),
                ] + extensions
            )
        }
    }

    /// Issues a certificate with explicit dates, which only `openssl ca` supports.
    private func issue(_ identity: Identity, for name: String, _ dates: [String]) async throws {
        let (request, register) = (path("\(identity.rawValue).csr"), path("\(identity.rawValue).index"))
        let settings = """
            [ca]
            default_ca = only
            [only]
            database = \(register)
            rand_serial = yes
            policy = any
            default_md = sha256
            copy_extensions = copy
            new_certs_dir = \(directory)
            [any]
            commonName = supplied
            """
        try Data(settings.utf8).write(to: URL(filePath: path("\(identity.rawValue).cnf")))
        try Data().write(to: URL(filePath: register))
        try await run([
            "openssl", "req", "-new", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-subj",
            "/CN=leaf",
            "-addext", "subjectAltName=DNS:\(name)", "-keyout", key(identity), "-out", request,
        ])
        let signer =
            identity.signer.map { ["-cert", path("\($0).pem"), "-keyfile", path("\($0).key")] }
            ?? ["-selfsign", "-keyfile", key(identity)]
        try await run(
            [
                "openssl", "ca", "-batch", "-notext", "-config", path("\(identity.rawValue).cnf"), "-in", request,
                "-out", certificate(identity), "-startdate", dates[0], "-enddate", dates[1],
            ] + signer
        )
    }

    private func openssl(_ arguments: [String]) async throws {
        try await run(
            ["openssl", "req", "-x509", "-days", "2", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
                + arguments
        )
    }

    private func run(_ command: [String]) async throws {
        let status = try await SpawnedProcess(command, environment: ProcessInfo.processInfo.environment).end()
        guard status == 0 else { throw Failed(command: command) }
    }
}
