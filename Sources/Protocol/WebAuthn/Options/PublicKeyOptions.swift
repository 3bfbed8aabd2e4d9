// SPDX-License-Identifier: Apache-2.0

private import FoundationEssentials

/// The argument of `navigator.credentials.create()` or `get()` as JSON (WebAuthn Level 3 §5.1.8).
public enum PublicKeyOptions: Equatable, Sendable {
    /// Registers a passkey.
    case creation(CreationOptions)
    /// Signs in with a passkey.
    case request(RequestOptions)

    /// Maximum length of the JSON in bytes.
    public static let maximumBytes = 1 << 20

    /// Creates options from `{"publicKey": …}`; unknown members are ignored.
    ///
    /// Options with a member `rp`, `user` or `pubKeyCredParams` are for a registration, all others for a sign-in.
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
