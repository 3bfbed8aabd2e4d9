// SPDX-License-Identifier: Apache-2.0

private import CHybridZlib

/// The raw DEFLATE format (RFC 1951), as in a website's data on a phone and in archives of exported passkeys.
///
/// Output is stored without compression, which every decoder accepts. Input may contain all types of blocks. The
/// expected size limits memory use and the number of blocks, because even an empty block takes time.
package enum Deflate {
    /// Maximum size of an inflated blob in bytes, the same as for a message of the tunnel.
    package static let maximumBytes = 1 << 20
    /// Maximum size of a stored block in bytes (§3.2.4).
    private static let maximumBlock = 0xFFFF

    /// Returns a stream of stored blocks that contain these bytes.
    package static func stored(_ bytes: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        var rest = bytes[...]
        repeat {
            let block = rest.prefix(maximumBlock)
            rest = rest.dropFirst(block.count)
            let length = UInt16(block.count)
            output += [rest.isEmpty ? 1 : 0]
            for number in [length, ~length] { output += [UInt8(number & 0xFF), UInt8(number >> 8)] }
            output += block
        } while !rest.isEmpty
        return output
    }

    /// Returns the maximum number of blocks for a size in bytes; zlib's smallest blocks have 128 symbols.
    static func maximumBlocks(for size: Int) -> Int { 64 + size / 64 }

    /// Inflates one stream, which must span the entire input.
    ///
    /// - Parameters:
    ///   - bytes: The compressed stream.
    ///   - size: Expected size of the output in bytes.
    ///   - limit: Maximum of `size`; no memory is allocated for more.
    /// - Returns: `nil` if the input is malformed or truncated, if bytes follow the stream, if the output does not have
    ///   `size` bytes, or if there are more than `maximumBlocks(for:)` blocks.
    package static func inflate(_ bytes: [UInt8], size: Int, atMost limit: Int = maximumBytes) -> [UInt8]? {
        guard (0...limit).contains(size) else { return nil }
        // zlib keeps the address of the stream between calls, so the stream must not move.
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        defer { stream.deallocate() }
        stream.initialize(to: z_stream())
        // A negative window size selects raw DEFLATE.
        guard inflateInit2_(stream, -MAX_WBITS, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            return nil
        }
        defer { inflateEnd(stream) }
        var input = bytes
        // zlib requires an output address even if there is no output.
        var output = [UInt8](repeating: 0, count: max(size, 1))
        let isComplete = input.withUnsafeMutableBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output in
                stream.pointee.next_in = input.baseAddress
                stream.pointee.avail_in = UInt32(clamping: input.count)
                stream.pointee.next_out = output.baseAddress
                stream.pointee.avail_out = UInt32(size)
                return inflateBlocks(stream, atMost: maximumBlocks(for: size))
            }
        }
        return isComplete ? Array(output.prefix(size)) : nil
    }

    /// Inflates block by block; returns true if the stream ends exactly at the end of the input and the output.
    private static func inflateBlocks(_ stream: UnsafeMutablePointer<z_stream>, atMost limit: Int) -> Bool {
        let atBlockBoundary: Int32 = 128
        // One call more than the limit, because the end is reported by the call after the last block.
        for _ in 0...limit {
            switch CHybridZlib.inflate(stream, Z_BLOCK) {
            case Z_OK where stream.pointee.data_type & atBlockBoundary != 0: continue
            case Z_STREAM_END: return stream.pointee.avail_in == 0 && stream.pointee.avail_out == 0
            default: return false
            }
        }
        return false
    }
}
