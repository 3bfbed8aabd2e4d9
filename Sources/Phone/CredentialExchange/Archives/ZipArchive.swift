// SPDX-License-Identifier: Apache-2.0

private import HybridDeflate

/// A ZIP archive in memory, read without trust (PKWARE APPNOTE 6.3.10).
///
/// The central directory and the local headers must agree, entries must not overlap, and a file is inflated only up to
/// the size that its header states. Nothing is written to disk.
struct ZipArchive {
    /// Maximum number of entries.
    static let maximumEntries = 10_000
    /// Maximum length of an entry's path in bytes.
    static let maximumPath = 1024

    /// A file or folder of the archive.
    struct Entry: Equatable {
        /// Path inside the archive: relative, with slashes, without `..`.
        let path: String
        /// Length of the file in bytes as the archive states it; ``ZipArchive/read(_:atMost:)`` verifies it.
        let size: Int

        fileprivate let method: UInt16
        fileprivate let checksum: UInt32
        fileprivate let data: Range<Int>
    }

    /// An error of reading an archive.
    enum ReadError: Error, Equatable {
        case damaged
        case encrypted
        case unsafePath
        case otherMethod
        /// In parts, of more than 4 GiB (ZIP64), or with too many entries.
        case notSupported
        /// The file is longer than the limit.
        case tooLong
    }

    /// All entries, in the order of the central directory.
    private(set) var entries: [Entry] = []
    private let bytes: [UInt8]

    /// Returns true for bytes that begin like an archive, which JSON never does.
    static func isArchive(_ bytes: [UInt8]) -> Bool { bytes.starts(with: [0x50, 0x4B]) }

    /// Reads the directory of an archive.
    init(_ bytes: [UInt8]) throws(ReadError) {
        self.bytes = bytes
        let end = try DirectoryEnd(bytes)
        var position = end.directory.lowerBound
        var paths: Set<String> = []
        for _ in 0..<end.count {
            var header = LittleEndianReader(bytes[position..<end.directory.upperBound])
            let entry = try Self.entry(&header, of: bytes, before: end.directory.lowerBound)
            position = header.position
            // With two entries of one path, it would be unclear which of them counts.
            guard paths.insert(entry.path).inserted else { throw .damaged }
            entries.append(entry)
        }
        guard position == end.directory.upperBound else { throw .damaged }
        // Overlapping entries let a small archive hold many huge files.
        let places = entries.map(\.data).filter { !$0.isEmpty }.sorted { $0.lowerBound < $1.lowerBound }
        for (earlier, later) in zip(places, places.dropFirst()) where later.lowerBound < earlier.upperBound {
            throw .damaged
        }
    }

    /// Returns the content of a file.
    ///
    /// - Parameter limit: Maximum length in bytes; no memory is allocated for more.
    func read(_ entry: Entry, atMost limit: Int) throws(ReadError) -> [UInt8] {
        guard entry.size <= limit else { throw .tooLong }
        let data = Array(bytes[entry.data])
        let content: [UInt8]?
        switch entry.method {
        case Self.stored: content = data.count == entry.size ? data : nil
        case Self.deflated: content = Deflate.inflate(data, size: entry.size, atMost: limit)
        default: throw .otherMethod
        }
        guard let content, CRC32.checksum(content) == entry.checksum else { throw .damaged }
        return content
    }

    private static let stored: UInt16 = 0
    private static let deflated: UInt16 = 8
    /// Bits 0, 6 and 13: encryption, strong encryption, and masked headers.
    private static let encryption: UInt16 = 1 | 1 << 6 | 1 << 13
    /// Bit 3: sizes and checksum follow the data and may be zero in the local header.
    private static let streamed: UInt16 = 1 << 3

    /// Reads one header of the central directory and its local header, whose data must end before `end`.
    private static func entry(
        _ header: inout LittleEndianReader,
        of bytes: [UInt8],
        before end: Int
    ) throws(ReadError) -> Entry {
        guard try header.number(UInt32.self) == 0x0201_4B50 else { throw .damaged }
        try header.skip(4)  // versions
        let flags = try header.number(UInt16.self)
        guard flags & encryption == 0 else { throw .encrypted }
        let method = try header.number(UInt16.self)
        try header.skip(4)  // time
        let checksum = try header.number(UInt32.self)
        let (packed, size) = (try header.number(UInt32.self), try header.number(UInt32.self))
        let nameLength = Int(try header.number(UInt16.self))
        let otherLength = Int(try header.number(UInt16.self)) + Int(try header.number(UInt16.self))
        let disk = try header.number(UInt16.self)
        try header.skip(6)  // attributes
        let offset = try header.number(UInt32.self)
        let name = try header.take(nameLength)
        try header.skip(otherLength)
        guard disk == 0, ![packed, size, offset].contains(.max) else { throw .notSupported }

        guard Int(offset) <= end else { throw .damaged }
        var local = LittleEndianReader(bytes[Int(offset)..<end])
        guard try local.number(UInt32.self) == 0x0403_4B50 else { throw .damaged }
        try local.skip(2)  // version
        let localFlags = try local.number(UInt16.self)
        guard localFlags & encryption == 0 else { throw .encrypted }
        guard try local.number(UInt16.self) == method else { throw .damaged }
        try local.skip(4)  // time
        let stated = (
            try local.number(UInt32.self), try local.number(UInt32.self), try local.number(UInt32.self)
        )
        guard localFlags & streamed != 0 || stated == (checksum, packed, size) else { throw .damaged }
        let localNameLength = Int(try local.number(UInt16.self))
        let localExtra = Int(try local.number(UInt16.self))
        guard try local.take(localNameLength) == name else { throw .damaged }
        try local.skip(localExtra)
        let start = local.position
        try local.skip(Int(packed))
        return Entry(
            path: try path(name),
            size: Int(size),
            method: method,
            checksum: checksum,
            data: start..<local.position
        )
    }

    /// Returns the path of an entry; it is never used as a path on disk, but an archive that tries is not trusted.
    private static func path(_ name: ArraySlice<UInt8>) throws(ReadError) -> String {
        let isClean = name.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "\\") }
        let components = name.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard (1...maximumPath).contains(name.count), isClean, name.first != UInt8(ascii: "/"),
            !components.contains(where: { $0.elementsEqual("..".utf8) }),
            // A drive letter of Windows.
            name.dropFirst().first != UInt8(ascii: ":")
        else { throw .unsafePath }
        return String(decoding: name, as: UTF8.self)
    }
}

/// The end of the central directory, which is searched from the end of the archive.
private struct DirectoryEnd {
    /// Place of the central directory.
    let directory: Range<Int>
    /// Number of entries.
    let count: Int

    private static let length = 22
    private static let signature: [UInt8] = [0x50, 0x4B, 0x05, 0x06]

    init(_ bytes: [UInt8]) throws(ZipArchive.ReadError) {
        let earliest = max(0, bytes.count - Self.length - Int(UInt16.max))
        guard bytes.count >= Self.length,
            let start = (earliest...(bytes.count - Self.length)).reversed().first(where: { start in
                // The comment must reach exactly to the end of the archive.
                bytes[start...].starts(with: Self.signature)
                    && Int(bytes[start + 20]) | Int(bytes[start + 21]) << 8 == bytes.count - start - Self.length
            })
        else { throw .damaged }
        var reader = LittleEndianReader(bytes[(start + 4)...])
        let disks = (try reader.number(UInt16.self), try reader.number(UInt16.self))
        let counts = (try reader.number(UInt16.self), try reader.number(UInt16.self))
        let (length, offset) = (try reader.number(UInt32.self), try reader.number(UInt32.self))
        guard disks == (0, 0), counts.0 == counts.1, counts.1 != .max, length != .max, offset != .max,
            counts.1 <= ZipArchive.maximumEntries
        else { throw .notSupported }
        // Nothing may stand between the directory and its end, where a second directory could hide.
        guard Int(offset) + Int(length) == start else { throw .damaged }
        directory = Int(offset)..<start
        count = Int(counts.1)
    }
}

/// A reader of little-endian numbers that checks the length at each step.
private struct LittleEndianReader {
    private var rest: ArraySlice<UInt8>

    /// Index of the next byte in the archive.
    var position: Int { rest.startIndex }

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    mutating func number<Number: FixedWidthInteger & UnsignedInteger>(
        _: Number.Type
    ) throws(ZipArchive.ReadError) -> Number {
        try take(Number.bitWidth / 8).reversed().reduce(0) { $0 << 8 | Number($1) }
    }

    mutating func take(_ count: Int) throws(ZipArchive.ReadError) -> ArraySlice<UInt8> {
        guard rest.count >= count else { throw .damaged }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    mutating func skip(_ count: Int) throws(ZipArchive.ReadError) { _ = try take(count) }
}
