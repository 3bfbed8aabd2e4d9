// SPDX-License-Identifier: Apache-2.0

/// The signed data of a login with a public key (RFC 4252 §7).
///
/// The encoding is string session identifier ‖ byte 50 ‖ string user ‖ string `ssh-connection` ‖ string method ‖
/// boolean true ‖ string algorithm ‖ string key, or a certificate of the key with its algorithm. The method `publickey-hostbound-v00@openssh.com` adds the host key.
public struct LoginData: Hashable, Sendable {
    /// The session in which the user logs in.
    public let sessionID: SSHSessionID
    /// The user name on the server.
    public let user: SSHUserName
    /// The key that is to sign.
    public let key: SSHPublicKey
    /// The certificate of the key that the user presents; `nil` if the login names the key alone.
    public let certificate: SSHUserCertificate?
    /// The server's key; `nil` for the method `publickey`, whose data does not name the server.
    public let hostKey: HostKey?

    /// Creates login data from its bytes, which must be parsed to the end and contain `key` unless it is `nil`.
    init(parsing bytes: [UInt8], for key: SSHPublicKey?) throws(SignedDataError) {
        let fields = try Fields(bytes)
        guard fields.service.elementsEqual("ssh-connection".utf8) else { throw .service }
        certificate = try fields.certificate()
        guard let named = certificate?.key ?? (try? SSHPublicKey(parsing: fields.key)), named == key ?? named else {
            throw .foreignKey
        }
        guard let user = SSHUserName(fields.user) else { throw .userName }
        var reader = SSHReader(fields.rest)
        let isHostBound = fields.method.elementsEqual("publickey-hostbound-v00@openssh.com".utf8)
        guard isHostBound || fields.method.elementsEqual("publickey".utf8) else { throw .method }
        do throws(SSHFormatError) {
            hostKey = isHostBound ? try HostKey(parsing: try reader.string()) : nil
            try reader.finish()
        } catch {
            throw .format(error)
        }
        sessionID = fields.sessionID
        self.user = user
        self.key = named
    }

    /// The fields that both methods have.
    private struct Fields {
        static let userAuthenticationRequest: UInt8 = 50

        let sessionID: SSHSessionID
        let user, service, method, algorithm, key, rest: ArraySlice<UInt8>

        init(_ bytes: [UInt8]) throws(SignedDataError) {
            var reader = SSHReader(bytes)
            let type: UInt8
            do throws(SSHFormatError) {
                sessionID = try SSHSessionID(bytes: try reader.string())
                type = try reader.byte()
            } catch {
                throw .unrecognized
            }
            guard type == Self.userAuthenticationRequest else { throw .unrecognized }
            do throws(SSHFormatError) {
                user = try reader.string()
                service = try reader.string()
                method = try reader.string()
                guard try reader.boolean() else { throw .boolean }
                algorithm = try reader.string()
                key = try reader.string()
            } catch {
                throw .format(error)
            }
            rest = reader.remaining()
        }

        /// Returns the certificate in place of a key; `nil` if the algorithm is that of a key alone.
        func certificate() throws(SignedDataError) -> SSHUserCertificate? {
            if algorithm.elementsEqual(SSHPublicKey.algorithm.utf8) { return nil }
            guard algorithm.elementsEqual(SSHUserCertificate.algorithm.utf8) else { throw .algorithm }
            do throws(SSHFormatError) {
                return try SSHUserCertificate(parsing: key)
            } catch {
                throw .certificate(error)
            }
        }
    }
}

/// The name of a user on a server: 1 to 255 bytes of UTF-8 without control, format or unassigned characters.
public struct SSHUserName: Hashable, Sendable, CustomStringConvertible {
    /// The text.
    public let description: String

    /// Creates a user name; returns `nil` if the bytes are not one.
    init?(_ bytes: ArraySlice<UInt8>) {
        guard (1...255).contains(bytes.count), let text = String(validating: bytes, as: UTF8.self),
            text.unicodeScalars.allSatisfy(PlainText.isAllowed)
        else { return nil }
        description = text
    }
}
