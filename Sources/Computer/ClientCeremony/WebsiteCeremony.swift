// SPDX-License-Identifier: Apache-2.0

internal import HybridCTAP
package import HybridNetwork
package import HybridSession
package import HybridWebAuthn

extension Ceremony {
    /// Returns the ceremony of a website, after a check of its origin.
    ///
    /// If the relying party ID belongs to another domain, that domain's list of related origins is retrieved.
    ///
    /// - Parameters:
    ///   - options: The options of the website.
    ///   - origin: The origin of the calling page.
    ///   - topOrigin: The origin of the top-level page, if the calling page is a frame of another origin.
    ///   - network: Settings for the connection, as for relays.
    /// - Throws: `RelyingPartyIDError`, `CancellationError`.
    package static func checked(
        _ options: PublicKeyOptions,
        origin: Origin,
        topOrigin: Origin?,
        _ network: NetworkConfiguration
    ) async throws -> Ceremony {
        do throws(RelyingPartyIDError) {
            return try Ceremony(options, origin: origin, topOrigin: topOrigin)
        } catch {
            guard let id = error.relatedID else { throw error }
            let related = try await RelatedOriginsFile(id).permission(for: origin, network)
            return try Ceremony(options, origin: origin, topOrigin: topOrigin, related: related)
        }
    }
}

extension ClientRun {
    /// Performs the ceremony of a website.
    ///
    /// - Returns: The response for the website as JSON, and the result from which it was made.
    /// - Throws: ``CommandFailure``.
    package func perform(_ ceremony: Ceremony) async throws -> (json: [UInt8], result: ClientResult) {
        try await perform(
            ceremony.ctapRequest,
            for: { phone throws(MissingAbility) in try ceremony.ctapRequest(for: phone) },
            answer: { result in
                guard result.response.status == .success else {
                    throw PhoneRefusal(result.response.status, for: ceremony.relyingPartyID)
                }
                return (try ceremony.responseJSON(body: result.response.body, phone: result.info), result)
            }
        )
    }
}
