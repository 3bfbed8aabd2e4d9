// SPDX-License-Identifier: Apache-2.0

public import HybridPrimitives

/// A digital credential that a phone has presented.
///
/// It holds personal data, so it is never printed; only ``json`` reads it.
public struct DigitalCredentialResponse: Sendable, SecretMaterial {
    private let protocolName: String?
    private let data: JSONText

    /// Creates a response from a phone's reply, which is strict JSON.
    ///
    /// The protocol is absent in the replies of older phones. It is then that of the request, if the request has one
    /// protocol only.
    ///
    /// - Throws: ``DigitalCredentialError`` if the phone refused, or the reply is malformed.
    public init(reply: [UInt8], to request: DigitalCredentialRequest) throws(DigitalCredentialError) {
        let document: JSONText
        do throws(JSONSyntaxError) {
            document = try JSONText(parsing: reply)
        } catch {
            throw .malformedReply(error.reason)
        }
        guard let digital = document.member("response")?.member("digital"), digital.isObject else {
            throw .malformedReply("it has no member response.digital")
        }
        switch (digital.member("error"), digital.member("data")) {
        case (let error?, nil):
            guard let name = error.text else { throw .malformedReply("its error is not a string") }
            throw DigitalCredentialError(refusal: name)
        case (nil, let data?):
            if let name = data.member("protocol")?.text, let content = data.member("data") {
                (protocolName, self.data) = (name, content)
            } else {
                protocolName = request.protocols.count == 1 ? request.protocols[0] : nil
                self.data = data
            }
        case (_?, _?): throw .malformedReply("it has both data and an error")
        case (nil, nil): throw .malformedReply("it has neither data nor an error")
        }
    }

    /// The credential for the website: an object with `protocol`, if it is known, and `data`; safe for terminals.
    public var json: [UInt8] {
        let name = protocolName.map { [("protocol", JSONText.string($0))] } ?? []
        return Array(JSONText.object(name + [("data", data)]).description.utf8)
    }
}

/// A reason why there is no digital credential.
public struct DigitalCredentialError: ExplainedFailure, Hashable {
    /// The website's request is too long for one message.
    public static let requestTooLong = Self(
        "request-unusable",
        "the request is longer than one message to a phone may be (1 MiB)",
        .dataError
    )
    /// The user has declined on the phone.
    public static let declined = Self(
        "declined",
        "it was declined on the phone; start again, and confirm there",
        .notPermitted
    )
    /// The phone has aborted the request.
    public static let aborted = Self(
        "aborted-by-phone",
        "the phone aborted the request; try again with a new code",
        .temporary
    )
    /// The wallet has no credential that the website accepts.
    public static let noCredential = Self(
        "no-digital-credential",
        "the phone has no credential that the website accepts; add it to the phone's wallet first",
        .noInput
    )
    /// The phone reports an error that this version does not know.
    public static let otherRefusal = Self(
        "wallet-failed",
        "the phone's wallet reports an error; look at the phone, and try again",
        .unavailable
    )

    /// The identifier of the cause for programs.
    public let code: String
    /// Cause and remedy, without any part of the reply.
    public let sentence: String
    /// The exit status of a command that ends with this error.
    public let status: ExitStatus

    private init(_ code: String, _ sentence: String, _ status: ExitStatus) {
        (self.code, self.sentence, self.status) = (code, sentence, status)
    }

    /// Creates the error for the name that a phone reports.
    init(refusal name: String) {
        switch name {
        case "USER_CANCELED": self = .declined
        case "DEVICE_ABORTED": self = .aborted
        case "NO_CREDENTIAL": self = .noCredential
        default: self = .otherRefusal
        }
    }

    /// The website's request is malformed; `reason` is a clause.
    public static func malformedRequest(_ reason: String) -> Self {
        Self("request-unusable", "the request is unusable: \(reason)", .dataError)
    }

    /// The phone's reply is malformed; `reason` is a clause.
    public static func malformedReply(_ reason: String) -> Self {
        Self(
            "phone-misbehaved",
            "the phone's reply is unusable: \(reason); update the phone's wallet, or use another phone",
            .dataError
        )
    }
}
