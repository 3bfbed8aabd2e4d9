// SPDX-License-Identifier: Apache-2.0

private import FoundationEssentials

/// What a website asks of `navigator.credentials`, in the JSON form of WebAuthn Level 3 §5.1.8.
///
/// This module stands where the browser stands in a ceremony. A website's server hands out options as
/// JSON; ``Ceremony`` joins them with the ``Origin`` they came from, decides whether that origin may use the
/// relying party ID, builds the client data that will be signed and the CTAP request for the phone. When
/// the phone has answered, the ceremony checks that it answered *this* question and writes the JSON that the
/// website's server verifies.
///
/// The server is trusted to know what it wants, but not to be the site it names: that is what the origin and
/// the public suffix list decide. The phone is trusted with nothing that can be checked here; its
/// authenticator data is passed on byte for byte, because its signature covers it.
public enum PublicKeyOptions: Equatable, Sendable {
    /// Register a passkey.
    case creation(CreationOptions)
    /// Sign in with one.
    case request(RequestOptions)

    /// The longest JSON that is read, in bytes.
    public static let maximumBytes = 1 << 20

    /// Reads `{"publicKey": …}`; members that are not known here are ignored.
    ///
    /// Options with a member `rp`, `user` or `pubKeyCredParams` are for a creation, all others for a sign-in.
    public init(json: [UInt8]) throws(OptionsError) {
        guard json.count <= Self.maximumBytes else { throw .tooLarge }
        do {
            self = try JSONDecoder().decode(Envelope.self, from: Data(json)).publicKey.options
        } catch let error as OptionsError {
            throw error
        } catch let error as DecodingError {
            throw OptionsError(error)
        } catch {
            throw .notJSON
        }
    }

    private struct Envelope: Decodable {
        let publicKey: Members
    }

    private struct Members: Decodable {
        let options: PublicKeyOptions

        private enum CodingKeys: String, CodingKey {
            case rp
            case user
            case pubKeyCredParams
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            let isCreation = [CodingKeys.rp, .user, .pubKeyCredParams].contains { container.contains($0) }
            options =
                isCreation ? .creation(try CreationOptions(from: decoder)) : .request(try RequestOptions(from: decoder))
        }
    }
}
