// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import Glibc
internal import HybridBoringTLS

/// Files of certificates (PEM) that are trusted instead of the system's.
public enum TrustAnchors {
    /// Checks a file in the same way as when a tunnel is opened, so that an error is reported early.
    ///
    /// - Throws: ``NetworkError/trustAnchorsUnusable(_:reason:remedy:)``.
    public static func check(_ path: String) throws(NetworkError) { _ = try context(path) }

    /// The certificates of the system's list that are not trusted because they cannot be parsed; `nil` if there are none.
    ///
    /// Only a file of all certificates is examined.
    package static var unusableInSystem: UnusableAuthorities? { SystemAnchors.unusable() }

    /// Returns the TLS settings that trust the certificates of a file, at least one, and the file's SHA-256.
    static func context(_ path: String) throws(NetworkError) -> (TLSClientContext, digest: [UInt8]) {
        guard let pem = FileBytes.read(path) else { throw .trustAnchorsUnusable(path) }
        guard let context = try? TLSClientContext(.certificates(pem: pem)) else {
            let fault = PEMFault(in: pem, wanted: .certificates)
            throw .trustAnchorsUnusable(path, reason: fault.reason, remedy: fault.remedy)
        }
        return (context, Array(SHA256.hash(data: pem)))
    }
}

/// The certificates of a list that cannot be used.
package struct UnusableAuthorities: Equatable, Sendable {
    /// A certificate that cannot be used.
    package struct Entry: Equatable, Sendable {
        /// The number of its block in the file, from 1.
        package let number: Int
        /// The line at which the block begins, from 1.
        package let line: Int
        /// Its issuer's name, or a description if it has none that is readable; `nil` if the block is damaged.
        package let name: String?

        /// Creates an entry.
        package init(number: Int, line: Int, name: String?) {
            (self.number, self.line, self.name) = (number, line, name)
        }
    }

    /// The path of the list.
    package let file: String
    /// The certificates, at least one.
    package let entries: [Entry]

    /// Creates a value.
    package init(file: String, entries: [Entry]) { (self.file, self.entries) = (file, entries) }
}

/// The places of the certificates that the system trusts.
struct SystemAnchors: Sendable {
    /// A file of all certificates, to be read at once.
    let bundle: String?
    /// A folder in which BoringSSL finds each certificate by the hash of its subject, as openssl-rehash(1) names them.
    let folder: String?

    private static let bundles = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"]
    private static let folders = ["/etc/ssl/certs"]

    /// Finds the certificates of this system.
    init() { self.init(bundles: Self.bundles, folders: Self.folders) }

    /// Finds the first existing bundle and folder.
    ///
    /// If the folder has as many names as the bundle has certificates, the bundle is not used, because it takes several
    /// milliseconds to read.
    init(bundles: [String], folders: [String]) {
        let folder = folders.first { Self.kind(of: $0) == S_IFDIR }
        let bundle = bundles.first { Self.kind(of: $0) == S_IFREG }
        self.folder = folder
        guard let folder, let bundle, let pem = FileBytes.read(bundle) else {
            self.bundle = bundle
            return
        }
        let count = Self.count("-----BEGIN CERTIFICATE-----", in: pem)
        self.bundle = count > 0 && count == Self.hashedNames(in: folder) ? nil : bundle
    }

    /// Makes clients verify the server's chain with these certificates, without those that BoringSSL cannot parse.
    ///
    /// - Returns: False if none can be used.
    func areTrusted(by settings: TLSContext) -> Bool {
        if settings.trust(bundle: bundle, folder: folder) { return true }
        // One certificate that cannot be parsed makes BoringSSL refuse the whole bundle.
        guard let bundle, let pem = FileBytes.read(bundle), settings.trust(usableIn: pem) else { return false }
        return folder == nil || settings.trust(bundle: nil, folder: folder)
    }

    /// Returns the certificates in the first existing bundle that cannot be used; `nil` if there are none.
    static func unusable(bundles: [String] = Self.bundles) -> UnusableAuthorities? {
        guard let bundle = bundles.first(where: { kind(of: $0) == S_IFREG }), let pem = FileBytes.read(bundle) else {
            return nil
        }
        let entries = PEM.unusableCertificates(in: pem).map { certificate in
            let name = certificate.der.map { IssuerName(certificate: $0)?.text ?? unnamed }
            return UnusableAuthorities.Entry(number: certificate.number, line: certificate.line, name: name)
        }
        return entries.isEmpty ? nil : UnusableAuthorities(file: bundle, entries: entries)
    }

    private static let unnamed = "an authority without a readable name"

    private static func kind(of path: String) -> mode_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
    }

    /// Returns the number of lines that begin with `text`.
    private static func count(_ text: StaticString, in bytes: [UInt8]) -> Int {
        bytes.withUnsafeBytes { bytes in
            var (count, rest) = (0, bytes[...])
            while let line = UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count >= text.utf8CodeUnitCount {
                if memcmp(line, text.utf8Start, text.utf8CodeUnitCount) == 0 { count += 1 }
                guard let end = memchr(line, CInt(UInt8(ascii: "\n")), rest.count) else { break }
                rest = rest.dropFirst(UnsafeRawPointer(end) - line + 1)
            }
            return count
        }
    }

    /// Returns the number of names of eight hexadecimal digits, a dot and a decimal number.
    private static func hashedNames(in folder: String) -> Int {
        guard let directory = opendir(folder) else { return 0 }
        defer { closedir(directory) }
        var count = 0
        while let entry = readdir(directory) {
            let isHashed = withUnsafeBytes(of: &entry.pointee.d_name) { field in
                let name = field.prefix { $0 != 0 }
                let hash = name.prefix(8)
                let number = name.dropFirst(9)
                return name.count > 9 && name[8] == UInt8(ascii: ".") && hash.allSatisfy(isHexadecimal)
                    && number.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains)
            }
            if isHashed { count += 1 }
        }
        return count
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }
}

/// Reading of files of certificates.
private enum FileBytes {
    /// Maximum length in bytes; the system's list has about 220 KB.
    private static let limit = 16 << 20

    /// Returns the contents of a file; `nil` if it can't be read or is too long.
    static func read(_ path: String) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(min(max(status.st_size, 0), limit) + 1)
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while bytes.count <= limit {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return nil }
            if count == 0 { return bytes }
            bytes += chunk[..<count]
        }
        return nil
    }
}
