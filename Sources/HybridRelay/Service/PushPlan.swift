// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCommandSupport
internal import HybridNetwork
internal import HybridPrimitives
internal import HybridProgram
internal import HybridRelayCore

/// Translation and validation of the settings for push servers.
enum PushPlan {
    /// Returns the way to push servers; `nil` if the configuration has no key file.
    static func gateway(_ configuration: Configuration) throws(CommandFailure) -> PushGateway? {
        let subject = try configuration.value(RelaySettings.pushSubject)
        let allowed = try configuration.value(RelaySettings.pushAllow)
        let authorities = try configuration.value(RelaySettings.pushCacert)
        guard let path = try configuration.value(RelaySettings.pushKeyFile) else {
            guard subject == nil, allowed.isEmpty, authorities == nil else {
                throw configuration.contradiction("--push-subject, --push-allow and --push-cacert need --push-key-file")
            }
            return nil
        }
        guard let host = try configuration.value(RelaySettings.contactHost), let subject else {
            throw configuration.contradiction("--push-key-file needs --contact-host and --push-subject")
        }
        guard authorities == nil || !allowed.isEmpty else {
            throw configuration.contradiction("--push-cacert needs --push-allow")
        }
        let servers: PushServers
        do throws(NetworkError) {
            servers = try PushServers(allowed: allowed, authorities: authorities)
        } catch {
            let isOther = error.remedy == NetworkError.otherAnchors
            let remedy = isOther ? "use a different file with --push-cacert" : error.remedy ?? ""
            throw CommandFailure("\(error.message); \(remedy)", status: .noInput)
        }
        return PushGateway(keys: try keys(path), subject: subject, host: host, transport: servers)
    }

    /// Reads the key file, which other users must not be able to read.
    private static func keys(_ path: String) throws(CommandFailure) -> PushKeys {
        var bytes: [UInt8]
        do throws(FileReadError) {
            bytes = try readWholeFile(path, atMost: PushKeys.maximumFileLength)
        } catch {
            throw CommandFailure("\(path): \(error.sentence)", status: error == .tooLarge ? .configuration : .noInput)
        }
        defer { SecretBytes.wipe(&bytes) }
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IRWXO == 0 else {
            throw CommandFailure("\(path) is open to all users; run chmod o-rwx \(path)", status: .configuration)
        }
        do throws(PushKeys.ParseError) {
            return try PushKeys(parsing: bytes)
        } catch {
            throw CommandFailure("\(path) \(error)", status: .configuration)
        }
    }
}

/// The push servers that phones may choose: those on the public internet, and those that the operator allows.
struct PushServers: PushClient {
    private let allowed: [AllowedPushServer]
    private let everyone: HTTPSClient
    private let local: HTTPSClient

    /// Creates the clients.
    ///
    /// - Parameters:
    ///   - allowed: Push servers in the own network.
    ///   - authorities: Path of certificates to trust for these; `nil` for the system's.
    init(allowed: [AllowedPushServer], authorities: String?) throws(NetworkError) {
        self.allowed = allowed
        let proxies = ProxySettings(environment: ProcessEnvironment.variables)
        everyone = try HTTPSClient(network: NetworkConfiguration(proxies: proxies))
        local = try HTTPSClient(
            network: NetworkConfiguration(trustedCertificates: authorities, proxies: proxies),
            addresses: .any
        )
    }

    func origin(of endpoint: String) -> String? {
        guard let url = try? HTTPSURL(parsing: endpoint), isAllowed(url) || AddressPolicy.globalOnly.permits(url) else {
            return nil
        }
        return url.origin
    }

    func post(_ request: PushRequest) async -> PushResponse {
        guard let url = try? HTTPSURL(parsing: request.endpoint) else { return .notPermitted }
        let client = isAllowed(url) ? local : everyone
        do {
            var post = HTTPSRequest(.post, url, fields: request.fields, body: request.body)
            post.lookupShare = LookupShare(party: request.party, isDeferrable: request.isProof)
            return .status(try await client.send(post).status)
        } catch {
            switch error as? HTTPSError {
            case .addressNotAllowed?: return .notPermitted
            case .lookupsBusy?: return .busy
            default: return .failed
            }
        }
    }

    private func isAllowed(_ url: HTTPSURL) -> Bool { allowed.contains { $0.permits(url) } }
}
