// SPDX-License-Identifier: Apache-2.0

/// The account a credential is for, as the relying party names it.
public struct UserEntity: Hashable, Sendable {
    /// The account's handle.
    public var id: UserHandle
    /// The account's name, such as an e-mail address; empty when unknown.
    public var name: String
    /// The person's name; empty when unknown.
    public var displayName: String

    /// An account with its handle and names.
    public init(id: UserHandle, name: String, displayName: String) {
        self.id = id
        self.name = name
        self.displayName = displayName
    }
}

/// A relying party as a creation request names it.
public struct RelyingPartyEntity: Hashable, Sendable {
    /// Its domain.
    public var id: RelyingPartyID
    /// Its own name for itself; never shown, because anybody can claim any name.
    public var name: String

    /// A relying party with its domain and name.
    public init(id: RelyingPartyID, name: String) {
        self.id = id
        self.name = name
    }
}
