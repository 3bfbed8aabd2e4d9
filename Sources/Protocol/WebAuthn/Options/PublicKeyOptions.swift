// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

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
    /// An object with `challenge` instead is the value of `publicKey`, as servers send it to
    /// `parseCreationOptionsFromJSON()` and `parseRequestOptionsFromJSON()`.
    ///
    /// Options with a member `rp`, `user` or `pubKeyCredParams` are for a registration, all others for a sign-in.
    public init(json: [UInt8]) throws(OptionsError) {
        guard json.count <= Self.maximumBytes else { throw .tooLarge }
        do {
            let document = JSONCursor(try JSONText(parsing: json, mayBeMarked: true), named: "the request")
            let outer = try document.memberIfPresent("publicKey")
            let isBare = try outer == nil && document.memberIfPresent("challenge") != nil
            let json = isBare ? document : try document.member("publicKey")
            let isCreation = try ["rp", "user", "pubKeyCredParams"].contains { try json.memberIfPresent($0) != nil }
            self = isCreation ? .creation(try CreationOptions(json)) : .request(try RequestOptions(json))
        } catch let error as OptionsError {
            throw error
        } catch let error as JSONMemberError {
            throw OptionsError(error)
        } catch let error as JSONSyntaxError {
            throw OptionsError(error, in: json)
        } catch {
            throw .notJSON
        }
    }
}
