// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
internal import HybridThreads
internal import NIOCore
internal import NIOHTTP1

/// A request of an ``HTTPSClient``.
public struct HTTPSRequest: Sendable {
    /// The method of a request.
    public enum Method: Hashable, Sendable {
        /// Retrieves a resource; redirections may be followed.
        case get
        /// Sends the body; redirections are never followed.
        case post
    }

    let method: Method
    let url: HTTPSURL
    let fields: [(String, String)]
    let body: [UInt8]
    /// The part of the threads for name lookups that the request may use.
    public var lookupShare = LookupShare.own

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - url: The URL.
    ///   - fields: Names and values of header fields, without those that the client adds: `Host`, `User-Agent`,
    ///     `Connection`, `Accept-Encoding` and `Content-Length`.
    ///   - body: The body of a `POST`.
    public init(_ method: Method, _ url: HTTPSURL, fields: [(String, String)] = [], body: [UInt8] = []) {
        (self.method, self.url, self.fields, self.body) = (method, url, fields, body)
    }
}

/// A response to an ``HTTPSRequest``.
public struct HTTPSResponse: Sendable {
    /// The URL that answered; another one than requested after redirections.
    public let url: HTTPSURL
    /// The HTTP status.
    public let status: Int
    /// The body.
    public let body: [UInt8]
    let fields: HTTPHeaders

    /// Returns the values of a header field, whose name is not case sensitive.
    public func values(of name: String) -> [String] { fields[name] }
}

/// A client for single HTTPS requests to servers that another party may have chosen.
///
/// Each request has a connection of its own, TLS 1.2 or later, and HTTP/1.1. Certificate and name are always verified.
/// Proxies, trust anchors and overrides of addresses are those of connections to relays. A target of `--connect-to` is
/// exempt from the address policy.
///
/// With a proxy and ``AddressPolicy/globalOnly``, the name is resolved here, and the proxy is asked for the checked
/// address. Otherwise, the proxy resolves the name.
public struct HTTPSClient: Sendable {
    let network: NetworkConfiguration
    let addresses: AddressPolicy
    let maximumBodyLength: Int
    private let redirects: Int
    private let deadline: Duration
    let tls: ClientTLS

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - network: Proxy, trust anchors and overrides of addresses. Its time limits do not apply.
    ///   - addresses: Addresses that may be connected to.
    ///   - redirects: Maximum number of redirections to follow, 0 to 5; 0 returns a redirection as the response.
    ///   - maximumBodyLength: Maximum length of a response's body in bytes; a longer one is an error.
    ///   - deadline: Time limit for everything, from the name lookup to the last byte of the last response.
    /// - Throws: ``NetworkError/trustAnchorsUnusable(_:reason:remedy:)``.
    public init(
        network: NetworkConfiguration = NetworkConfiguration(),
        addresses: AddressPolicy = .globalOnly,
        redirects: Int = 0,
        maximumBodyLength: Int = 64 << 10,
        deadline: Duration = .seconds(5)
    ) throws(NetworkError) {
        (self.network, self.addresses, self.maximumBodyLength) = (network, addresses, maximumBodyLength)
        (self.redirects, self.deadline) = (min(max(0, redirects), Redirect.maximumCount), deadline)
        tls = try ClientTLS(trustedCertificates: network.trustedCertificates)
    }

    /// Sends a request and returns the response.
    ///
    /// - Throws: ``HTTPSError``, `CancellationError`.
    public func send(_ request: HTTPSRequest) async throws -> HTTPSResponse {
        let end = NIODeadline.now() + TimeAmount(deadline)
        var url = request.url
        for remaining in (0...redirects).reversed() {
            let response = try await HTTPSExchange(request, to: url, of: self, until: end).run()
            let isRedirection = Redirect.statuses.contains(UInt(response.status))
            guard request.method == .get, redirects > 0, isRedirection else { return response }
            let locations = response.values(of: "Location")
            guard remaining > 0, locations.count == 1 else { throw HTTPSError.redirectionRefused }
            url = try url.redirected(to: locations[0])
        }
        throw HTTPSError.redirectionRefused
    }
}
