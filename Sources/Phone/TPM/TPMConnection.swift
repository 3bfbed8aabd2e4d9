// SPDX-License-Identifier: Apache-2.0

internal import CHybridTSS2
internal import HybridPrimitives

/// A connection to a TPM, which one thread uses for one operation.
///
/// Every handle is flushed when the function ends that created it: a TPM has room for three objects.
final class TPMConnection {
    let tss2: hybrid_tss2
    /// The ESAPI context; `nil` only after a failed initialization.
    private(set) var context: OpaquePointer?
    private let device: TPMAddress
    private var transport: OpaquePointer?

    /// Connects to a TPM.
    ///
    /// - Throws: ``TPMError``.
    init(_ device: TPMAddress) throws(TPMError) {
        try device.checkAccess()
        self.device = device
        tss2 = try TSS2Library.loaded().functions.pointee
        let code = tss2.Tss2_TctiLdr_Initialize(device.configuration, &transport)
        guard code == 0, let transport else {
            // The loader reports a missing library for the transport in several ways, and a failed connection in one.
            guard code & 0xFFFF == TPMResponse.inputOutputError else {
                throw .libraryMissing("the TCTI for \(device.configuration)")
            }
            throw .absent(device.place)
        }
        try check(tss2.Esys_Initialize(&context, transport, nil))
    }

    deinit {
        if context != nil { tss2.Esys_Finalize(&context) }
        if transport != nil { tss2.Tss2_TctiLdr_Finalize(&transport) }
    }

    /// Throws the error for a response code other than success.
    func check(_ code: TSS2_RC) throws(TPMError) {
        guard code != 0 else { return }
        let response = TPMResponse(code)
        if response.isBusy { throw .busy }
        // Not counted, and without a time: the caller reads it before each try.
        if response.isLockout { throw .lockedOut(minutes: 1) }
        let text = tss2.Tss2_RC_Decode(code).map { String(cString: $0) } ?? ""
        throw .failed("0x\(String(code, radix: 16)): \(SafeText(quoting: text))")
    }

    /// Flushes a session, a loaded object or a primary key; a failure cannot be repaired here.
    func flush(_ handle: ESYS_TR) { _ = tss2.Esys_FlushContext(context, handle) }

    /// Releases memory of the library after overwriting it.
    func release<Value>(_ memory: UnsafeMutablePointer<Value>?) {
        guard let memory else { return }
        SecretBytes.wipe(UnsafeMutableRawBufferPointer(start: memory, count: MemoryLayout<Value>.size))
        tss2.Esys_Free(memory)
    }

    /// Returns a property of the TPM; 0 if it has no such property.
    func property(_ property: UInt32) throws(TPMError) -> UInt32 {
        var more: TPMI_YES_NO = 0
        var data: UnsafeMutablePointer<TPMS_CAPABILITY_DATA>?
        defer { release(data) }
        let none = hybrid_no_handle
        try check(
            tss2.Esys_GetCapability(context, none, none, none, TPM2_CAP_TPM_PROPERTIES, property, 1, &more, &data)
        )
        guard let found = data?.pointee.data.tpmProperties, found.count == 1, found.tpmProperty.0.property == property
        else { return 0 }
        return found.tpmProperty.0.value
    }

    /// Returns the properties that users see.
    func status() throws(TPMError) -> TPMStatus {
        let permanent = try property(TPMProperty.permanent)
        let bytes = try property(TPMProperty.manufacturer).bigEndianBytes.filter { (0x21...0x7E).contains($0) }
        return TPMStatus(
            manufacturer: String(decoding: bytes, as: UTF8.self),
            lockout: TPMLockout(
                counter: try property(TPMProperty.lockoutCounter),
                maximum: try property(TPMProperty.maximumFailures),
                interval: try property(TPMProperty.lockoutInterval),
                isLockedOut: permanent & TPMProperty.inLockout != 0
            ),
            isLockoutAuthSet: permanent & TPMProperty.lockoutAuthSet != 0
        )
    }
}

/// Properties of a TPM (TPM 2.0 Library, Part 2: TPM_PT, TPMA_PERMANENT).
enum TPMProperty {
    static let manufacturer: UInt32 = 0x105
    static let permanent: UInt32 = 0x200
    static let lockoutCounter: UInt32 = 0x20E
    static let maximumFailures: UInt32 = 0x20F
    static let lockoutInterval: UInt32 = 0x210

    static let ownerAuthSet: UInt32 = 1 << 0
    static let endorsementAuthSet: UInt32 = 1 << 1
    static let lockoutAuthSet: UInt32 = 1 << 2
    static let inLockout: UInt32 = 1 << 9
}

/// A response code of the TPM or of the layers in front of it (TPM 2.0 Library, Part 2: TPM_RC).
struct TPMResponse {
    /// TSS2_BASE_RC_IO_ERROR, which all layers use.
    static let inputOutputError: UInt32 = 0xA
    private static let tryAgain: UInt32 = 0x9

    private let layer: UInt32
    private let code: UInt32

    init(_ code: UInt32) {
        layer = code >> 16 & 0xFF
        self.code = code & 0xFFFF
    }

    /// True if the TPM itself, or a resource manager for it, has answered.
    private var isOfTPM: Bool { [0, 11, 12].contains(layer) }
    /// The code without the number of the handle, session or parameter that it is about.
    private var format1: UInt32 { code & 0x80 != 0 ? code & 0xBF : 0 }

    /// TPM_RC_AUTH_FAIL: the authorization value is wrong, and the TPM has counted it.
    var isCountedFailure: Bool { isOfTPM && format1 == 0x8E }
    /// TPM_RC_LOCKOUT.
    var isLockout: Bool { isOfTPM && code == 0x921 }
    /// TPM_RC_INTEGRITY or another error about the form of an object.
    var isDamagedObject: Bool { isOfTPM && [0x82, 0x84, 0x8A, 0x95, 0x96, 0x9A, 0x9F, 0xA5].contains(format1) }
    /// TPM_RC_HANDLE: there is no object with this handle.
    var isUnknownHandle: Bool { isOfTPM && format1 == 0x8B }
    /// True if the request may succeed later: no memory in the TPM, testing, retry, or no answer.
    var isBusy: Bool {
        if isOfTPM { return (0x902...0x906).contains(code) || [0x908, 0x90A, 0x920, 0x922].contains(code) }
        return [Self.inputOutputError, Self.tryAgain].contains(code)
    }
}
