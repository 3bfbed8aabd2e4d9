// SPDX-License-Identifier: Apache-2.0

internal import CHybridTSS2

/// The storage key that protects a sealed object: the persistent one, or a primary key of the TCG's template.
struct StorageKey {
    /// Handle of the persistent storage key (TCG TPM v2.0 Provisioning Guidance, 7.8).
    static let persistentHandle: UInt32 = 0x8100_0001

    /// Handle in this connection.
    let handle: ESYS_TR
    /// Name: algorithm (2) and hash of the public area (32).
    let name: [UInt8]
    /// True if it is flushed after use.
    let isTransient: Bool
}

extension TPMConnection {
    /// Calls `body` with the storage key of a given name, or with the present one.
    ///
    /// - Parameters:
    ///   - expected: The only acceptable name; `nil` accepts the persistent key if there is one, else a new primary key.
    ///   - body: Called once. The key is released afterwards.
    /// - Returns: The result; `nil` if no storage key has the name.
    /// - Throws: ``TPMError``, and what `body` throws.
    func withStorageKey<Value>(
        named expected: [UInt8]?,
        _ body: (StorageKey) throws(TPMError) -> Value
    ) throws(TPMError) -> Value? {
        if let key = try persistentKey(isRequiredToFit: expected == nil) {
            defer { release(key) }
            if expected == nil || key.name == expected { return try body(key) }
        }
        guard try property(TPMProperty.permanent) & TPMProperty.ownerAuthSet == 0 else {
            if expected == nil { throw .ownerPasswordSet }
            return nil
        }
        let key = try primaryKey(in: hybrid_owner)
        defer { release(key) }
        guard expected == nil || key.name == expected else { return nil }
        return try body(key)
    }

    /// Returns the name of a primary key in the endorsement hierarchy; ``SealedSecret/unknownName`` if it has a password.
    func endorsementName() throws(TPMError) -> [UInt8] {
        guard try property(TPMProperty.permanent) & TPMProperty.endorsementAuthSet == 0 else {
            return SealedSecret.unknownName
        }
        let key = try primaryKey(in: hybrid_endorsement)
        defer { release(key) }
        return key.name
    }

    private func release(_ key: StorageKey) {
        if key.isTransient { return flush(key.handle) }
        var handle = key.handle
        _ = tss2.Esys_TR_Close(context, &handle)
    }

    /// Returns the persistent storage key; `nil` if there is none.
    private func persistentKey(isRequiredToFit: Bool) throws(TPMError) -> StorageKey? {
        var handle: ESYS_TR = hybrid_no_handle
        let none = hybrid_no_handle
        let code = tss2.Esys_TR_FromTPMPublic(context, StorageKey.persistentHandle, none, none, none, &handle)
        if TPMResponse(code).isUnknownHandle { return nil }
        try check(code)
        do throws(TPMError) {
            var area: UnsafeMutablePointer<TPM2B_PUBLIC>?
            defer { release(area) }
            try check(tss2.Esys_ReadPublic(context, handle, none, none, none, &area, nil, nil))
            guard let area, Self.isStorageKey(area.pointee.publicArea) else { throw .unsuitableParent }
            return StorageKey(handle: handle, name: try name(of: handle), isTransient: false)
        } catch {
            _ = tss2.Esys_TR_Close(context, &handle)
            if !isRequiredToFit, error == .unsuitableParent { return nil }
            throw error
        }
    }

    /// Creates a primary key of the TCG's template for storage keys; the same TPM always creates the same key.
    private func primaryKey(in hierarchy: ESYS_TR) throws(TPMError) -> StorageKey {
        var sensitive = TPM2B_SENSITIVE_CREATE()
        var template = TPM2B_PUBLIC.storageKey
        var (outside, selection) = (TPM2B_DATA(), TPML_PCR_SELECTION())
        var handle: ESYS_TR = hybrid_no_handle
        var area: UnsafeMutablePointer<TPM2B_PUBLIC>?
        defer { release(area) }
        let none = hybrid_no_handle
        try check(
            tss2.Esys_CreatePrimary(
                context,
                hierarchy,
                hybrid_password,
                none,
                none,
                &sensitive,
                &template,
                &outside,
                &selection,
                &handle,
                &area,
                nil,
                nil,
                nil
            )
        )
        do throws(TPMError) {
            guard let area, Self.isStorageKey(area.pointee.publicArea) else { throw .unsuitableParent }
            return StorageKey(handle: handle, name: try name(of: handle), isTransient: true)
        } catch {
            flush(handle)
            throw error
        }
    }

    /// Returns the name that the library has computed from the public area, and compared with the TPM's.
    private func name(of handle: ESYS_TR) throws(TPMError) -> [UInt8] {
        var found: UnsafeMutablePointer<TPM2B_NAME>?
        defer { release(found) }
        try check(tss2.Esys_TR_GetName(context, handle, &found))
        guard let found, Int(found.pointee.size) == SealedSecret.nameLength else { throw .unsuitableParent }
        return withUnsafeBytes(of: &found.pointee.name) { Array($0.prefix(SealedSecret.nameLength)) }
    }

    /// Returns true for a key that never leaves the TPM and decrypts nothing but objects and salts.
    private static func isStorageKey(_ area: TPMT_PUBLIC) -> Bool {
        let needed = TPMAttributes.fixedTPM | TPMAttributes.restricted | TPMAttributes.decrypt
        return area.objectAttributes & needed == needed && area.objectAttributes & TPMAttributes.sign == 0
            && area.nameAlg == TPM2_ALG_SHA256
    }
}

/// Attributes of objects (TPM 2.0 Library, Part 2: TPMA_OBJECT).
enum TPMAttributes {
    static let fixedTPM: UInt32 = 1 << 1
    static let fixedParent: UInt32 = 1 << 4
    static let sensitiveDataOrigin: UInt32 = 1 << 5
    static let userWithAuth: UInt32 = 1 << 6
    static let noDA: UInt32 = 1 << 10
    static let restricted: UInt32 = 1 << 16
    static let decrypt: UInt32 = 1 << 17
    static let sign: UInt32 = 1 << 18
}

extension TPM2B_PUBLIC {
    /// The TCG's template for an ECC P-256 storage key (TCG EK Credential Profile, template H-… for SRKs).
    static var storageKey: TPM2B_PUBLIC {
        var template = TPM2B_PUBLIC()
        template.publicArea.type = TPM2_ALG_ECC
        template.publicArea.nameAlg = TPM2_ALG_SHA256
        template.publicArea.objectAttributes =
            TPMAttributes.fixedTPM | TPMAttributes.fixedParent | TPMAttributes.sensitiveDataOrigin
            | TPMAttributes.userWithAuth | TPMAttributes.noDA | TPMAttributes.restricted | TPMAttributes.decrypt
        var parameters = TPMS_ECC_PARMS()
        parameters.symmetric.algorithm = TPM2_ALG_AES
        parameters.symmetric.keyBits.aes = 128
        parameters.symmetric.mode.aes = TPM2_ALG_CFB
        parameters.scheme.scheme = TPM2_ALG_NULL
        parameters.curveID = TPM2_ECC_NIST_P256
        parameters.kdf.scheme = TPM2_ALG_NULL
        template.publicArea.parameters.eccDetail = parameters
        // The template has coordinates of 32 zero bytes.
        template.publicArea.unique.ecc.x.size = 32
        template.publicArea.unique.ecc.y.size = 32
        return template
    }
}
