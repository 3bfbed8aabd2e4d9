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
/// requires proofs, absent otherwise, 11: number of the last request, 12: evidence (1: the user confirmed that the website
/// had accepted the sign-in, 2: a known key has verified the phone), 13: fingerprint of that key, if it is an SSH key, 14:
/// true if both devices showed a code, absent otherwise.
extension StoredLink {
    private static let fileVersion: CBORValue = 3
    private static let website: CBORValue = 1
    private static let verified: CBORValue = 2
    private static let maximumKeyLength = 64

    /// Returns true if a file has an earlier form: the first without a version and the number of the last request, or the
    /// second without evidence.
    static func isOutdated(file bytes: [UInt8]) -> Bool {
        guard let map = (try? CBORDecoder.decode(bytes, mode: .strict))?.map else { return false }
        guard map[3] != nil, map[12] == nil else { return false }
        return map[0] == nil && map[11] == nil || map[0] == 2 && map[11] != nil
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
            let evidence = map[12].flatMap(Self.evidence),
            map[13] == nil || evidence == .verified && map[13]?.text.map(Self.isFingerprint) == true,
            map[14] == nil || map[14] == .boolean(true),
            map.count == 12 + [map[10], map[13], map[14]].count(where: { $0 != nil })
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
            lastNumber: lastNumber,
            evidence: evidence,
            verifyingKey: map[13]?.text,
            showedCode: map[14] != nil
        )
    }

    private static func evidence(_ value: CBORValue) -> LinkEvidence? {
        switch value {
        case website: .unverified
        case verified: .verified
        default: nil
        }
    }

    private static func isFingerprint(_ text: String) -> Bool {
        (1...maximumKeyLength).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
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
            12: evidence == .verified ? Self.verified : Self.website,
        ]
        if requiresProof { map[10] = .boolean(true) }
        if evidence == .verified { map[13] = verifyingKey.map { .text($0) } }
        if showedCode { map[14] = .boolean(true) }
        return CBOREncoder.encode(map)
    }
}
