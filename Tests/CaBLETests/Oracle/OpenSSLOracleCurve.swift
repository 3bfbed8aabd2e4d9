// SPDX-License-Identifier: Apache-2.0

import CHybridOpenSSL

/// P-256 by point multiplication.
extension OpenSSLOracle {
    /// Returns the uncompressed public point of a scalar, 65 bytes.
    static func publicPoint(_ scalar: [UInt8]) throws -> [UInt8] {
        try withCurve { group, result in
            let number = BN_bin2bn(scalar, Int32(scalar.count), nil)
            defer { BN_free(number) }
            try check(EC_POINT_mul(group, result, number, nil, nil, nil), "EC_POINT_mul")
            var bytes = [UInt8](repeating: 0, count: 65)
            let form = POINT_CONVERSION_UNCOMPRESSED
            guard EC_POINT_point2oct(group, result, form, &bytes, 65, nil) == 65 else {
                throw Refusal.library("EC_POINT_point2oct")
            }
            return bytes
        }
    }

    /// Returns the X coordinate of a scalar times a point, 32 bytes.
    static func sharedX(_ scalar: [UInt8], _ point: [UInt8]) throws -> [UInt8] {
        try withCurve { group, result in
            let number = BN_bin2bn(scalar, Int32(scalar.count), nil)
            let peer = EC_POINT_new(group)
            let x = BN_new()
            defer {
                BN_free(number)
                EC_POINT_free(peer)
                BN_free(x)
            }
            guard point.count == 65, point[0] == 4, EC_POINT_oct2point(group, peer, point, point.count, nil) == 1 else {
                throw Refusal.invalidPoint
            }
            try check(EC_POINT_mul(group, result, nil, peer, number, nil), "EC_POINT_mul")
            try check(EC_POINT_get_affine_coordinates(group, result, x, nil, nil), "EC_POINT_get_affine_coordinates")
            var bytes = [UInt8](repeating: 0, count: 32)
            guard BN_bn2binpad(x, &bytes, 32) == 32 else { throw Refusal.library("BN_bn2binpad") }
            return bytes
        }
    }

    private static func withCurve<T>(_ body: (OpaquePointer, OpaquePointer) throws -> T) throws -> T {
        guard let group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1) else { throw Refusal.library("EC_GROUP") }
        defer { EC_GROUP_free(group) }
        guard let point = EC_POINT_new(group) else { throw Refusal.library("EC_POINT_new") }
        defer { EC_POINT_free(point) }
        return try body(group, point)
    }
}
