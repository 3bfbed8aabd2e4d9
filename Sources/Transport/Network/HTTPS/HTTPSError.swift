// SPDX-License-Identifier: Apache-2.0

public import HybridPrimitives

/// The reason why an HTTPS request got no response.
///
/// The sentences contain no URL, because a URL may be a secret; some name the host.
public struct HTTPSError: ExplainedFailure, Hashable {
    /// The identifier of the cause for programs.
    public let code: String
    /// The cause and the remedy on one line.
    public let sentence: String
    /// The exit status of a command that ends with this error.
    public let status: ExitStatus

    private init(_ code: String, _ sentence: String, status: ExitStatus = .unavailable) {
        (self.code, self.sentence, self.status) = (code, sentence, status)
    }

    /// The text is not a URL of a host.
    public static let malformedURL = Self("https-url-malformed", "the URL is malformed; check it", status: .dataError)
    /// The URL is not https.
    public static let notSecure = Self("https-url-not-secure", "the URL is not https; use https", status: .dataError)
    /// The host, one of its addresses or the port is not on the public internet.
    public static let addressNotAllowed = Self(
        "https-address-not-allowed",
        "the host is not on the public internet, or the port is not 443; use a public server"
    )
    /// The host has no address.
    public static let hostNotFound = Self("https-host-not-found", "the host has no address; check its name")
    /// Too many names are being looked up.
    public static let lookupsBusy = Self(
        "https-lookups-busy",
        "too many names are being looked up; try again",
        status: .temporary
    )
    /// No connection to the host, for this reason of the system.
    public static func unreachable(_ reason: String) -> Self {
        Self("https-unreachable", "the host can't be reached (\(reason)); check the network")
    }
    /// The proxy did not connect to the host; the sentence is that of the ``NetworkError``.
    public static func proxy(_ error: NetworkError) -> Self { Self(error.code, error.sentence, status: error.status) }
    /// TLS failed: the certificate is not trusted or not valid for the host, or the versions do not match.
    public static let notTrusted = Self(
        "https-not-trusted",
        "no trusted TLS connection to the host; check its certificate"
    )
    /// The response is not valid HTTP/1.1, or its head is longer than 16 KiB.
    public static let malformedResponse = Self(
        "https-response-malformed",
        "the response is not valid HTTP; contact the server's operator",
        status: .dataError
    )
    /// The body is longer than the client allows.
    public static let bodyTooLong = Self(
        "https-body-too-long",
        "the response is too long; contact the server's operator",
        status: .dataError
    )
    /// A redirection is not followed: its target is missing, malformed, not https or on another port, or there are too
    /// many.
    public static let redirectionRefused = Self(
        "https-redirection-refused",
        "the server redirects to a target that is not followed; contact its operator"
    )
    /// The deadline passed.
    public static let timedOut = Self(
        "https-timed-out",
        "the host did not answer in time; try again",
        status: .temporary
    )
}
