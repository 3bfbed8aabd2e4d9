// SPDX-License-Identifier: Apache-2.0

private import Glibc
internal import HybridBoringTLS
public import HybridPrimitives

/// Creation of the relay's TLS context from a certificate chain and its key.
public enum RelayCertificate {
    /// The reason why the files cannot be used, with the paths as given.
    public struct LoadError: ExplainedFailure, Hashable {
        /// The cause of the failure.
        public let sentence: String
        /// The exit status of a command that fails with this error.
        public let status: ExitStatus
        /// The name of the status.
        public var code: String { status.name }

        private init(_ sentence: String, _ status: ExitStatus = .configuration) {
            (self.sentence, self.status) = (sentence, status)
        }

        /// The file is missing or not readable.
        public static func unreadable(path: String) -> LoadError { LoadError("cannot read \(path)", .noInput) }
        /// The file has no certificates in PEM, or a damaged one.
        static func noCertificate(path: String, _ fault: PEMFault) -> LoadError {
            let remedy = fault.remedy ?? "use the file with the certificate and those of its issuers"
            return LoadError("\(path) can't be read as certificates (PEM): \(fault.reason); \(remedy)")
        }
        /// The file has no private key in PEM that is not encrypted.
        static func noKey(path: String, _ fault: PEMFault) -> LoadError {
            let remedy = fault.remedy ?? "use the file with the key of the certificate"
            return LoadError("\(path) can't be read as a private key (PEM): \(fault.reason); \(remedy)")
        }
        /// The key does not belong to the first certificate.
        public static func mismatch(certificate: String, key: String) -> LoadError {
            LoadError(
                "the key in \(key) does not belong to the first certificate in \(certificate); put the relay's own "
                    + "first, or use its key"
            )
        }
        /// The TLS library rejects the first certificate, for a reason that it names.
        static func rejected(path: String, _ reason: String) -> LoadError {
            guard reason != "KEY_USAGE_BIT_INCORRECT" else {
                return LoadError(
                    "the first certificate in \(path) is not a server's, by its key usage; put the relay's own first, "
                        + "before those of its issuers"
                )
            }
            return LoadError(
                "the first certificate in \(path) can't be used for TLS (\(reason)); use one with an ECDSA key of the "
                    + "curve P-256, or with an RSA key"
            )
        }
    }

    /// Creates a TLS context from the files of a PEM chain, which begins with the server's own certificate, and of its
    /// PEM key.
    public static func context(certificateFile: String, keyFile: String) throws(LoadError) -> TLSServerContext {
        let certificate = try read(certificateFile)
        var key = try read(keyFile)
        defer { key.withUnsafeMutableBytes { if let start = $0.baseAddress { explicit_bzero(start, $0.count) } } }
        return try context(certificate: certificate, key: key, names: (certificateFile, keyFile))
    }

    /// Creates a TLS context from a PEM chain, which begins with the server's own certificate, and its PEM key.
    public static func context(certificate: [UInt8], key: [UInt8]) throws(LoadError) -> TLSServerContext {
        try context(certificate: certificate, key: key, names: ("the certificate", "the key"))
    }

    /// Returns the chain in a PEM file; `nil` if it cannot be read.
    public static func chain(certificateFile: String) -> CertificateChain? {
        (try? read(certificateFile)).flatMap { CertificateChain(parsing: $0) }
    }

    private static func context(
        certificate: [UInt8],
        key: [UInt8],
        names: (certificate: String, key: String)
    ) throws(LoadError) -> TLSServerContext {
        do {
            return try TLSServerContext(certificate: certificate, key: key)
        } catch {
            switch error {
            case .noCertificate:
                throw .noCertificate(path: names.certificate, PEMFault(in: certificate, wanted: .certificates))
            case .noKey: throw .noKey(path: names.key, PEMFault(in: key, wanted: .key))
            case .mismatch: throw .mismatch(certificate: names.certificate, key: names.key)
            case .rejected(let reason): throw .rejected(path: names.certificate, reason)
            }
        }
    }

    /// Maximum length of a file in bytes; a chain with its key takes a few thousand.
    private static let maximumFileLength = 1 << 20

    private static func read(_ path: String) throws(LoadError) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .unreadable(path: path) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        while bytes.count <= maximumFileLength {
            var count = 0
            bytes += [UInt8](unsafeUninitializedCapacity: 16 << 10) { buffer, initialized in
                count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                initialized = max(count, 0)
            }
            guard count >= 0 else { throw .unreadable(path: path) }
            if count == 0 { return bytes }
        }
        throw .unreadable(path: path)
    }
}
