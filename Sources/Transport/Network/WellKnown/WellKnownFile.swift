// SPDX-License-Identifier: Apache-2.0

/// A JSON file below `/.well-known/` at the domain of a relying party (RFC 8615).
package struct WellKnownFile: Sendable {
    /// Maximum number of redirections in sequence.
    package static let maximumRedirections = Redirect.maximumCount
    /// Time limit for the whole retrieval, with all redirections.
    package static let timeout = Duration.seconds(10)

    private let url: String

    /// Creates a file.
    ///
    /// - Parameters:
    ///   - host: The domain, a name in lower case.
    ///   - path: The path, beginning with a slash.
    package init(host: String, path: String) { url = "https://\(host)\(path)" }

    /// Retrieves the file without cookies or referrer, from global addresses only.
    ///
    /// - Parameters:
    ///   - limit: Maximum length in bytes.
    ///   - redirections: Maximum number of redirections to follow, at most ``maximumRedirections``.
    ///   - network: Settings for the connection; targets of overrides may be local.
    /// - Throws: ``WellKnownFileError``, `CancellationError`.
    package func contents(
        atMost limit: Int,
        redirections: Int,
        _ network: NetworkConfiguration
    ) async throws -> [UInt8] {
        let response: HTTPSResponse
        do {
            let client = try HTTPSClient(
                network: network,
                addresses: .globalOnly,
                redirects: redirections,
                maximumBodyLength: limit,
                deadline: Self.timeout
            )
            let request = HTTPSRequest(.get, try HTTPSURL(parsing: url), fields: [("Accept", MediaType.json)])
            response = try await client.send(request)
        } catch let error as HTTPSError {
            throw WellKnownFileError(error)
        } catch let error as NetworkError {
            throw WellKnownFileError(reason: error.sentence)
        }
        guard response.status == 200 else {
            throw WellKnownFileError(reason: "the status is \(response.status), not 200")
        }
        let types = response.values(of: "Content-Type")
        guard types.count == 1, MediaType.isJSON(types[0]) else {
            throw WellKnownFileError(reason: "its type is not application/json")
        }
        return response.body
    }
}

/// The media type of a response (RFC 9110 §8.3.1).
enum MediaType {
    static let json = "application/json"

    /// Returns true for `application/json` in any case, with or without parameters.
    static func isJSON(_ value: String) -> Bool {
        let type = value.prefix { $0 != ";" }.drop { $0 == " " || $0 == "\t" }
        let end = type.lastIndex { $0 != " " && $0 != "\t" }
        return end.map { type[...$0].lowercased() == json } ?? false
    }
}
