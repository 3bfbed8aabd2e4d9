// SPDX-License-Identifier: Apache-2.0

public import HybridPrimitives

/// A website's request in a browser on another host, as it arrives through a forwarded agent.
///
/// The encoding is JSON: `{"version": 1, "type": "create" or "get", "origin": …, "crossOrigin": …, "topOrigin": …,
/// "publicKey": {…}}`. `publicKey` has the options of WebAuthn Level 3 §5.1.8, which this type does not interpret. All
/// other members are known and typed. An origin is a claim of the host.
public struct RemoteMessage: Sendable {
    /// The name of the extension of the agent protocol.
    ///
    /// Domains below `.invalid` are reserved (RFC 6761), so no other project uses the name.
    public static let extensionName = "webauthn@hybrid.invalid"
    /// Maximum length of a message and of an answer in bytes, below the limit of the agent protocol.
    public static let maximumLength = 255 * 1024
    static let version = 1

    /// The operation that the website has requested.
    public enum Operation: String, Sendable {
        /// `navigator.credentials.create()`.
        case create
        /// `navigator.credentials.get()`.
        case get
    }

    /// The operation.
    public let operation: Operation
    /// The origin of the calling page.
    public let origin: String
    /// The origin of the top-level page, if the calling page is a frame of another origin.
    public let topOrigin: String?
    /// The options, a JSON object.
    public let publicKey: JSONText

    /// Creates a message.
    public init(_ operation: Operation, origin: String, topOrigin: String? = nil, publicKey: JSONText) {
        (self.operation, self.origin, self.topOrigin, self.publicKey) = (operation, origin, topOrigin, publicKey)
    }

    /// Creates a message from its encoding.
    ///
    /// - Throws: ``RemoteMessageError``.
    public init(parsing bytes: [UInt8]) throws(RemoteMessageError) {
        guard bytes.count <= Self.maximumLength else { throw .tooLong }
        let document: JSONText
        do throws(JSONSyntaxError) {
            document = try JSONText(parsing: bytes)
        } catch {
            throw .malformed
        }
        try self.init(document)
    }

    /// Creates a message from its JSON.
    ///
    /// - Throws: ``RemoteMessageError``.
    public init(_ document: JSONText) throws(RemoteMessageError) {
        guard case .object(let members) = document, members.allSatisfy({ Self.memberNames.contains($0.0) }) else {
            throw .malformed
        }
        guard document.member("version")?.integer() == Self.version else { throw .version }
        guard let operation = document.member("type")?.text.flatMap(Operation.init),
            let origin = document.member("origin")?.text, let isCrossOrigin = Self.isCrossOrigin(document),
            let publicKey = document.member("publicKey"), publicKey.isObject
        else { throw .malformed }
        let topOrigin = document.member("topOrigin")?.text
        guard document.member("topOrigin") == nil || topOrigin != nil else { throw .malformed }
        // The user must see which page contains the frame.
        guard isCrossOrigin == (topOrigin != nil) else { throw .frame }
        let isCreation = ["rp", "user", "pubKeyCredParams"].contains { publicKey.member($0) != nil }
        guard isCreation == (operation == .create) else { throw .malformed }
        self.init(operation, origin: origin, topOrigin: topOrigin, publicKey: publicKey)
    }

    private static let memberNames: Set = ["version", "type", "origin", "crossOrigin", "topOrigin", "publicKey"]

    /// Returns false if the member is absent, and `nil` if it is not a Boolean value.
    private static func isCrossOrigin(_ document: JSONText) -> Bool? {
        guard let member = document.member("crossOrigin") else { return false }
        return member.boolean
    }

    /// The encoding.
    public var encoded: [UInt8] {
        var members: [(String, JSONText)] = [
            ("version", .number(Self.version)), ("type", .string(operation.rawValue)), ("origin", .string(origin)),
            ("crossOrigin", .boolean(topOrigin != nil)),
        ]
        if let topOrigin { members.append(("topOrigin", .string(topOrigin))) }
        members.append(("publicKey", publicKey))
        return Array(JSONText.object(members).description.utf8)
    }

    /// The website's request as `hybrid-client show-qr` reads it.
    public var request: [UInt8] { Array(JSONText.object([("publicKey", publicKey)]).description.utf8) }
}

/// A reason why a message is not a request of a website.
public enum RemoteMessageError: Error, Hashable, Sendable {
    /// It is not JSON, or a member is missing, unknown, or of the wrong type.
    case malformed
    /// It has more than ``RemoteMessage/maximumLength`` bytes.
    case tooLong
    /// It is of another version of the protocol.
    case version
    /// The page is a frame of another origin, and the address of the page around it is unknown.
    case frame
}
