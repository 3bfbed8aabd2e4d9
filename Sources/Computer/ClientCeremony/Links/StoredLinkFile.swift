// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridCBOR
internal import HybridCaBLE
internal import HybridPrimitives
internal import HybridSession

/// The file of a link: a canonical CBOR map.
///
/// 0: version, 1: contact ID, 2: link ID, 3: link secret, 4: public key (65 bytes), 5: name, 6: number of the tunnel domain, 7: time
/// of linking, 8: time of the last use (both in seconds since 1970), 9: getInfo response as CBOR, 10: true if the phone
/// requires proofs, absent otherwise, 11: number of the last request.
extension StoredLink {
    private static let fileVersion: CBORValue = 2

    /// Returns true if a file has the first form, without a version and the number of the last request.
    static func isOutdated(file bytes: [UInt8]) -> Bool {
        guard let map = (try? CBORDecoder.decode(bytes, mode: .strict))?.map else { return false }
        return map[0] == nil && map[3] != nil && map[11] == nil
    }

    /// Creates a link from the contents of a file; `nil` if they are malformed.
    init?(file bytes: [UInt8]) {
        guard let map = (try? CBORDecoder.decode(bytes, mode: .strict))?.map, map[0] == Self.fileVersion,
            let contactID = map[1]?.bytes.flatMap({ ContactID(bytes: $0) }),
            let linkID = map[2]?.bytes.flatMap({ LinkID(bytes: $0) }),
            let secret = map[3]?.bytes.flatMap({ LinkSecret(bytes: $0) }),
            let point = map[4]?.bytes, point.count == 65,
            let key = try? P256.KeyAgreement.PublicKey(x963Representation: point),
            let name = map[5]?.text,
            let domain = map[6]?.integer.flatMap(UInt16.init(exactly:)).flatMap(TunnelDomain.init(id:)),
            case .unsigned(let created)? = map[7], case .unsigned(let lastUsed)? = map[8],
            let info = map[9]?.bytes, info.count <= Self.maximumInfoLength,
            map[10] == nil || map[10] == .boolean(true), case .unsigned(let lastNumber)? = map[11],
            // The next number is one higher.
            lastNumber < .max,
            map.count == (map[10] == nil ? 11 : 12)
        else { return nil }
        self.init(
            contactID: contactID,
            linkID: linkID,
            secret: secret,
            authenticatorKey: key,
            name: PhoneName(name),
            domain: domain,
            created: created,
            lastUsed: lastUsed,
            info: info,
            requiresProof: map[10] != nil,
            lastNumber: lastNumber
        )
    }

    /// The contents of the file.
    var file: [UInt8] {
        var map: CBORMap = [
            0: Self.fileVersion,
            1: .bytes(contactID.bytes),
            2: .bytes(linkID.bytes),
            3: .bytes(secret.withUnsafeBytes { Array($0) }),
            4: .bytes(Array(authenticatorKey.x963Representation)),
            5: .text(name.description),
            6: .integer(Int(domain.id)),
            7: .unsigned(created),
            8: .unsigned(lastUsed),
            9: .bytes(info),
            11: .unsigned(lastNumber),
        ]
        if requiresProof { map[10] = .boolean(true) }
        return CBOREncoder.encode(map)
    }
}
