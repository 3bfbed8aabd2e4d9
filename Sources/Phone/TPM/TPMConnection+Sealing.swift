// SPDX-License-Identifier: Apache-2.0

internal import CHybridTSS2
internal import HybridPrimitives

extension TPMConnection {
    /// Seals a secret under the present storage key.
    func seal(
        _ secret: UnsafeRawBufferPointer,
        authorization: UnsafeRawBufferPointer
    ) throws(TPMError) -> SealedSecret {
        let manufacturer = try property(TPMProperty.manufacturer).bigEndianBytes
        let endorsement = try endorsementName()
        let sealed = try withStorageKey(named: nil) { parent throws(TPMError) in
            try withSession(saltedTo: parent) { session throws(TPMError) in
                try attributes(session, TPMSession.encryptsRequest | TPMSession.encryptsResponse)
                let (publicArea, privateArea) = try create(secret, authorization, parent, session)
                return SealedSecret(
                    manufacturer: manufacturer,
                    parentName: parent.name,
                    endorsementName: endorsement,
                    publicArea: publicArea,
                    privateArea: privateArea
                )
            }
        }
        guard let sealed, let sealed else { throw .failed("the sealed object has an unexpected form") }
        return sealed
    }

    /// Opens a sealed secret; returns `nil` for a wrong authorization value.
    func unseal(
        _ sealed: SealedSecret,
        authorization: UnsafeRawBufferPointer
    ) throws(TPMError) -> SecretBytes? {
        let lockout = try status().lockout
        try lockout.check()
        // `withStorageKey` returns `nil` for another key, the closure for a wrong authorization value.
        let found: SecretBytes?? = try withStorageKey(named: sealed.parentName) { parent throws(TPMError) in
            try withSession(saltedTo: parent) { session throws(TPMError) in
                try unseal(sealed, authorization, parent, session, lockout)
            }
        }
        guard let found else { throw try isThisTPM(sealed) ? .cleared : .otherTPM }
        return found
    }

    /// Returns true if this TPM sealed the secret, even if it was cleared since.
    private func isThisTPM(_ sealed: SealedSecret) throws(TPMError) -> Bool {
        guard try property(TPMProperty.manufacturer).bigEndianBytes == sealed.manufacturer else { return false }
        let endorsement = try endorsementName()
        let isUnknown = [endorsement, sealed.endorsementName].contains(SealedSecret.unknownName)
        return isUnknown || endorsement == sealed.endorsementName
    }

    /// Calls `body` with an HMAC session that only the TPM with the storage key can take part in.
    private func withSession<Value>(
        saltedTo parent: StorageKey,
        _ body: (ESYS_TR) throws(TPMError) -> Value
    ) throws(TPMError) -> Value {
        var symmetric = TPMT_SYM_DEF()
        symmetric.algorithm = TPM2_ALG_AES
        symmetric.keyBits.aes = 128
        symmetric.mode.aes = TPM2_ALG_CFB
        var session: ESYS_TR = hybrid_no_handle
        let none = hybrid_no_handle
        try check(
            tss2.Esys_StartAuthSession(
                context,
                parent.handle,
                none,
                none,
                none,
                none,
                nil,
                TPM2_SE(TPM2_SE_HMAC),
                &symmetric,
                TPM2_ALG_SHA256,
                &session
            )
        )
        defer { flush(session) }
        return try body(session)
    }

    /// Sets the encryption of parameters; the session stays open until it is flushed.
    private func attributes(_ session: ESYS_TR, _ encryption: UInt8) throws(TPMError) {
        let all = TPMSession.continues | TPMSession.encryptsRequest | TPMSession.encryptsResponse
        try check(tss2.Esys_TRSess_SetAttributes(context, session, TPMSession.continues | encryption, all))
    }

    private func create(
        _ secret: UnsafeRawBufferPointer,
        _ authorization: UnsafeRawBufferPointer,
        _ parent: StorageKey,
        _ session: ESYS_TR
    ) throws(TPMError) -> (publicArea: [UInt8], privateArea: [UInt8]) {
        var sensitive = TPM2B_SENSITIVE_CREATE()
        defer { withUnsafeMutableBytes(of: &sensitive) { SecretBytes.wipe($0) } }
        sensitive.sensitive.userAuth.size = UInt16(authorization.count)
        withUnsafeMutableBytes(of: &sensitive.sensitive.userAuth.buffer) { $0.copyMemory(from: authorization) }
        sensitive.sensitive.data.size = UInt16(secret.count)
        withUnsafeMutableBytes(of: &sensitive.sensitive.data.buffer) { $0.copyMemory(from: secret) }
        var template = TPM2B_PUBLIC.sealedObject
        var (outside, selection) = (TPM2B_DATA(), TPML_PCR_SELECTION())
        var createdPrivate: UnsafeMutablePointer<TPM2B_PRIVATE>?
        var createdPublic: UnsafeMutablePointer<TPM2B_PUBLIC>?
        defer {
            release(createdPrivate)
            release(createdPublic)
        }
        let none = hybrid_no_handle
        try check(
            tss2.Esys_Create(
                context,
                parent.handle,
                session,
                none,
                none,
                &sensitive,
                &template,
                &outside,
                &selection,
                &createdPrivate,
                &createdPublic,
                nil,
                nil,
                nil
            )
        )
        guard let createdPrivate, let createdPublic else { throw .failed("no object") }
        let size = createdPrivate.pointee.size
        let hash = withUnsafeBytes(of: &createdPublic.pointee.publicArea.unique.keyedHash.buffer) {
            Array($0.prefix(SealedSecret.secretLength))
        }
        let sealed = withUnsafeBytes(of: &createdPrivate.pointee.buffer) { Array($0.prefix(Int(size))) }
        return (SealedSecret.publicPrefix + hash, [UInt8(size >> 8), UInt8(truncatingIfNeeded: size)] + sealed)
    }

    private func unseal(
        _ sealed: SealedSecret,
        _ authorization: UnsafeRawBufferPointer,
        _ parent: StorageKey,
        _ session: ESYS_TR,
        _ lockout: TPMLockout
    ) throws(TPMError) -> SecretBytes? {
        var area = TPM2B_PUBLIC.sealedObject
        area.publicArea.unique.keyedHash.size = UInt16(SealedSecret.secretLength)
        withUnsafeMutableBytes(of: &area.publicArea.unique.keyedHash.buffer) {
            $0.copyBytes(from: sealed.publicArea.suffix(SealedSecret.secretLength))
        }
        var wrapped = TPM2B_PRIVATE()
        wrapped.size = UInt16(sealed.privateArea.count - 2)
        withUnsafeMutableBytes(of: &wrapped.buffer) { $0.copyBytes(from: sealed.privateArea.dropFirst(2)) }
        var object: ESYS_TR = hybrid_no_handle
        let none = hybrid_no_handle
        try attributes(session, 0)
        let loaded = tss2.Esys_Load(context, parent.handle, session, none, none, &wrapped, &area, &object)
        if TPMResponse(loaded).isDamagedObject { throw .objectDamaged }
        try check(loaded)
        defer { flush(object) }
        var value = TPM2B_AUTH()
        defer { withUnsafeMutableBytes(of: &value) { SecretBytes.wipe($0) } }
        value.size = UInt16(authorization.count)
        withUnsafeMutableBytes(of: &value.buffer) { $0.copyMemory(from: authorization) }
        try check(tss2.Esys_TR_SetAuth(context, object, &value))
        try attributes(session, TPMSession.encryptsResponse)
        var data: UnsafeMutablePointer<TPM2B_SENSITIVE_DATA>?
        defer { release(data) }
        let code = tss2.Esys_Unseal(context, object, session, none, none, &data)
        let response = TPMResponse(code)
        if response.isCountedFailure { return nil }
        if response.isLockout { throw .lockedOut(minutes: max(1, Int((lockout.interval + 59) / 60))) }
        try check(code)
        guard let data, Int(data.pointee.size) == SealedSecret.secretLength else { throw .objectDamaged }
        return withUnsafeBytes(of: &data.pointee.buffer) { bytes in
            SecretBytes(copying: UnsafeRawBufferPointer(rebasing: bytes.prefix(SealedSecret.secretLength)))
        }
    }
}

/// Attributes of sessions (TPM 2.0 Library, Part 2: TPMA_SESSION).
private enum TPMSession {
    static let continues: UInt8 = 1 << 0
    static let encryptsRequest: UInt8 = 1 << 5
    static let encryptsResponse: UInt8 = 1 << 6
}

extension TPM2B_PUBLIC {
    /// The public area of a sealed object, without its hash.
    fileprivate static var sealedObject: TPM2B_PUBLIC {
        var template = TPM2B_PUBLIC()
        template.publicArea.type = TPM2_ALG_KEYEDHASH
        template.publicArea.nameAlg = TPM2_ALG_SHA256
        template.publicArea.objectAttributes = SealedSecret.attributes
        template.publicArea.parameters.keyedHashDetail.scheme.scheme = TPM2_ALG_NULL
        return template
    }
}
