// SPDX-License-Identifier: Apache-2.0

public import HybridRelyingParty
public import HybridWebAuthn
internal import NIOCore

/// Names and limits of the site.
public struct ShinyConfiguration: Sendable {
    /// Rules of the relying party; its origins are the only ones that are served.
    public let relyingParty: RelyingParty
    /// Origin whose host is the relying party ID, for links to the site.
    public let origin: Origin
    /// Limits for memory and time.
    public var limits = ShinyLimits()

    /// Creates a configuration.
    ///
    /// - Parameters:
    ///   - origin: Origin of the site; its host becomes the relying party ID.
    ///   - relatedOrigins: Origins on other domains that use the same passkeys (WebAuthn Level 3 §5.11).
    /// - Throws: `RelyingPartyIDError` if the host cannot be a relying party ID.
    public init(origin: Origin, relatedOrigins: [Origin] = []) throws(RelyingPartyIDError) {
        self.origin = origin
        var party = try RelyingParty(id: origin.host, name: "Shiny", origins: [origin], relatedOrigins: relatedOrigins)
        party.timeout = .seconds(300)
        relyingParty = party
    }
}

/// Limits of the site, which keeps everything in memory.
public struct ShinyLimits: Sendable {
    /// Maximum number of accounts; further ones are refused.
    public var accounts = 1_000
    /// Maximum number of passkeys of an account.
    public var passkeys = 20
    /// Maximum number of sessions; the one unused for the longest time gives way.
    public var sessions = 5_000
    /// Time after which an unused session ends.
    public var sessionLifetime = Duration.seconds(3600)
    /// Maximum length of a request body in bytes.
    public var bodyBytes = 16 * 1024
    /// Time limit for the body of a request.
    public var bodyTime = Duration.seconds(10)
    /// Time limit for the head of a request, and for the pause between two requests.
    public var idleTime = Duration.seconds(30)
    /// Maximum number of connections.
    public var connections = 256
    /// Number of wrong passwords in a row after which an account accepts none for ``passwordPause``.
    public var wrongPasswords = 5
    /// Pause after too many wrong passwords.
    public var passwordPause = Duration.seconds(60)
    /// Maximum number of passwords that wait to be hashed.
    public var waitingPasswords = 16

    /// Creates the default limits.
    public init() {}
}
