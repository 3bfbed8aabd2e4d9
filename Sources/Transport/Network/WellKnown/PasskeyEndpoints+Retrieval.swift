// SPDX-License-Identifier: Apache-2.0

extension PasskeyEndpoints {
    /// Retrieves the pages of a site; redirections are not followed.
    ///
    /// - Parameters:
    ///   - host: The relying party ID, a domain.
    ///   - network: Settings for the connection.
    /// - Throws: ``WellKnownFileError``, `CancellationError`.
    package static func retrieve(host: String, _ network: NetworkConfiguration) async throws -> PasskeyEndpoints {
        let file = WellKnownFile(host: host, path: path)
        return try PasskeyEndpoints(json: try await file.contents(atMost: maximumBytes, redirections: 0, network))
    }
}
