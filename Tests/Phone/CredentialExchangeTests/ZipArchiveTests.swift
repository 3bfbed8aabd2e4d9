// SPDX-License-Identifier: Apache-2.0

import ExchangeTestSupport
import HybridDeflate
import TestSupport
import Testing

@testable import HybridCredentialExchange

/// Archives with exports; Python's `zipfile` wrote the files, and ``TestArchive`` the hostile ones.
@Suite("Archives to import")
struct ZipArchiveTests {
    private func refusal(_ bytes: [UInt8]) -> ZipArchive.ReadError? {
        do throws(ZipArchive.ReadError) {
            let archive = try ZipArchive(bytes)
            for entry in archive.entries { _ = try archive.read(entry, atMost: 1 << 20) }
            return nil
        } catch {
            return error
        }
    }

    private func document(_ bytes: [UInt8]) -> Result<[UInt8], ExchangeFile.ParseError> {
        Result { () throws(ExchangeFile.ParseError) in try ExchangeArchive.document(in: bytes) }
    }

    private func reason(_ bytes: [UInt8]) -> String {
        if case .failure(let error) = document(bytes) { error.reason } else { "" }
    }

    @Test("another program's archives: data.json of Bitwarden, and a streamed CXP archive")
    func others() throws {
        for (name, source, count) in [("bitwarden.zip", "bitwarden.json", 3), ("cxp.zip", "other-manager.json", 3)] {
            let bytes = try Exchange.file(name)
            #expect(ZipArchive.isArchive(bytes))
            let json = try Exchange.file(source)
            #expect(try document(bytes).get() == json, "\(name)")
            #expect(try ExchangeFile(json: json).count == count)
        }
        #expect(!ZipArchive.isArchive(try Exchange.otherManager()))
    }

    @Test("stored and deflated files of every size are read as they were written")
    func sizes() throws {
        var random = SeededGenerator()
        for size in [0, 1, 100, 70_000] {
            let content = random.bytes(size)
            let bytes = TestArchive([.init("a", content), .init("b/c", content, method: 8)]).bytes
            let archive = try ZipArchive(bytes)
            #expect(archive.entries.map(\.path) == ["a", "b/c"])
            for entry in archive.entries { #expect(try archive.read(entry, atMost: size) == content) }
            if size > 0 {
                for entry in archive.entries {
                    #expect(throws: ZipArchive.ReadError.tooLong) { try archive.read(entry, atMost: size - 1) }
                }
            }
        }
        #expect(try ZipArchive(TestArchive([]).bytes).entries == [])
        #expect(try ZipArchive(TestArchive([], comment: [1, 2, 3]).bytes).entries == [])
    }

    @Test("a bomb is refused by its stated size, and a wrong size after as many bytes")
    func bombs() throws {
        // A megabyte of zeros in seven kilobytes.
        let zeros = [UInt8](repeating: 0, count: 1 << 20)
        let packed = TestArchive.deflated(zeros)
        #expect(packed.count < 7000)
        func archive(size: Int) -> [UInt8] {
            let checksum = CRC32.checksum(zeros)
            return TestArchive([
                .init("data.json", packed, method: 8, size: size, checksum: checksum, isPacked: true)
            ]).bytes
        }
        #expect(refusal(archive(size: zeros.count)) == nil)
        for size in [0, 1, zeros.count - 1, 1000] { #expect(refusal(archive(size: size)) == .damaged, "\(size)") }
        #expect(reason(archive(size: 17 << 20)).contains("longer than 16 MiB"))
        #expect(reason(archive(size: 0xFFFF_FFFF)).contains("too large"))
    }

    @Test("entries that share their data are refused", arguments: [0, 10])
    func overlapping(shift: Int) throws {
        let first = TestArchive.File("a.json", Array("{\"items\":[]}".utf8))
        var archive = TestArchive([first, .init("b.json", first.content)])
        #expect(refusal(archive.bytes) == nil)
        archive.offsets = [0: 0, 1: shift]
        // The second header points into the first file, which has another name or no header there.
        #expect(refusal(archive.bytes) == .damaged)
        var twice = TestArchive([first, first])
        #expect(refusal(twice.bytes) == .damaged, "two files of one path")
        twice.offsets = [1: 0]
        #expect(refusal(twice.bytes) == .damaged)
    }

    @Test("quoted headers: a file whose data contains the next file is refused")
    func nested() throws {
        let inner = TestArchive([.init("b", [1, 2, 3])])
        let innerBytes = Array(inner.bytes.prefix(inner.localLength))
        var outer = TestArchive([.init("a", innerBytes), .init("b", [1, 2, 3])])
        #expect(refusal(outer.bytes) == nil)
        outer.offsets = [1: 30 + 1]
        #expect(refusal(outer.bytes) == .damaged)
    }

    @Test(
        "paths that could leave a folder are refused, although nothing is unpacked",
        arguments: [
            "/etc/data.json", "../data.json", "a/../data.json", "a/..", "..", "a\\..\\b", "C:data.json", "a\u{0}.json",
            "a\n.json", "a\u{7F}", String(repeating: "a", count: 1025), "",
        ]
    )
    func paths(path: String) {
        #expect(refusal(TestArchive([.init(path, [])]).bytes) == .unsafePath)
        #expect(reason(TestArchive([.init("data.json", []), .init(path, [])]).bytes).contains("unsafe path"))
    }

    @Test("harmless paths are taken", arguments: ["data.json", "a/..b/c", "...", "a b", "\u{FC}.json", "a/"])
    func harmlessPaths(path: String) {
        #expect(refusal(TestArchive([.init(path, [])]).bytes) == nil)
    }

    @Test("encrypted files, other methods, parts and ZIP64 are refused", arguments: [0, 6, 13])
    func unsupported(bit: Int) {
        let flags = UInt16(1 << bit)
        #expect(refusal(TestArchive([.init("a", [1], flags: flags)]).bytes) == .encrypted)
        #expect(refusal(TestArchive([.init("a", [1], localFlags: flags)]).bytes) == .encrypted)
        #expect(refusal(TestArchive([.init("a", [1], method: 12)]).bytes) == .otherMethod)
        for field in [4, 6, 8] {
            var bytes = TestArchive([.init("a", [1])]).bytes
            bytes[bytes.count - 22 + field] = 9
            #expect(refusal(bytes) == .notSupported, "\(field)")
        }
        for field in [12, 16] {
            var bytes = TestArchive([.init("a", [1])]).bytes
            for index in 0..<4 { bytes[bytes.count - 22 + field + index] = 0xFF }
            #expect(refusal(bytes) == .notSupported, "\(field)")
        }
        let many = (0...ZipArchive.maximumEntries).map { TestArchive.File("\($0)", []) }
        #expect(refusal(TestArchive(many).bytes) == .notSupported)
        #expect(refusal(TestArchive(many.dropLast()).bytes) == nil)
    }

    @Test("local and central headers must agree")
    func disagreement() throws {
        let bytes = TestArchive([.init("name", [1, 2, 3])]).bytes
        // Method, checksum, both sizes, and the name in the local header.
        for index in [8, 14, 18, 22, 30] {
            var changed = bytes
            changed[index] ^= 1
            #expect(refusal(changed) == .damaged, "\(index)")
        }
        var streamed = TestArchive([.init("name", [1, 2, 3], flags: 8, localFlags: 8)]).bytes
        for index in 14..<26 { streamed[index] = 0 }
        #expect(refusal(streamed) == nil, "sizes follow the data")
        #expect(refusal(TestArchive([.init("name", [1, 2, 3], checksum: 7)]).bytes) == .damaged)
        var hiding = bytes
        hiding.insert(0, at: hiding.count - 22)
        #expect(refusal(hiding) == .damaged, "something between the directory and its end")
        var short = bytes
        short[short.count - 22 + 12] -= 1
        #expect(refusal(short) == .damaged, "a directory longer than stated")
    }

    @Test("truncated and damaged archives are refused or read as they were")
    func damage() throws {
        let bytes = try Exchange.file("bitwarden.zip")
        let content = try document(bytes).get()
        for length in stride(from: 0, to: bytes.count, by: Thoroughness.isFull ? 1 : 13) {
            #expect(refusal(Array(bytes.prefix(length))) != nil)
        }
        var random = SeededGenerator()
        for _ in 0..<Thoroughness.rounds(500, thorough: 20_000) {
            var damaged = bytes
            damaged[random.number(0...bytes.count - 1)] ^= 1 << random.number(0...7)
            if case .success(let read) = document(damaged) { #expect(read == content, "\(random)") }
        }
    }

    @Test("the document is the only .json file of the outermost folder that has one")
    func choice() throws {
        let json = Array("{}".utf8)
        func files(_ paths: String...) -> [UInt8] { TestArchive(paths.map { .init($0, json) }).bytes }
        for archive in [
            files("data.json"), files("a/b/DATA.JSON", "readme.txt"), files("x.json", "a/y.json", "a/z.json"),
            files("x.json", "__MACOSX/x.json", "__MACOSX/._x.json", ".hidden.json"),
        ] {
            #expect(try document(archive).get() == json)
        }
        #expect(reason(files("a.json", "b.json")).contains("2 .json files"))
        #expect(reason(files("a/a.json", "b/b.json")).contains("2 .json files"))
        #expect(reason(files("readme.txt")).contains("has no .json file"))
        #expect(reason(files("CXP-Export/index.jwe")).contains("encrypted (.jwe)"))
        #expect(reason(files("Proton Pass/data.pgp")).contains("encrypted (.pgp); export it without encryption"))
        #expect(reason(files("a.json/")).contains("has no .json file"))
    }
}

/// An archive with any fields, for tests.
struct TestArchive {
    struct File {
        let path: String
        let content: [UInt8]
        let packed: [UInt8]
        let method: UInt16
        let size: UInt32
        let checksum: UInt32
        let flags: UInt16
        let localFlags: UInt16

        init(
            _ path: String,
            _ content: [UInt8],
            method: UInt16 = 0,
            flags: UInt16 = 0,
            localFlags: UInt16 = 0,
            size: Int? = nil,
            checksum: UInt32? = nil,
            isPacked: Bool = false
        ) {
            self.path = path
            self.content = content
            packed = method == 8 && !isPacked ? Deflate.stored(content) : content
            self.method = method
            self.flags = flags
            self.localFlags = localFlags
            self.size = UInt32(size ?? content.count)
            self.checksum = checksum ?? CRC32.checksum(content)
        }
    }

    let files: [File]
    let comment: [UInt8]
    /// Offsets of local headers in the directory, by the number of the file, if they are wrong.
    var offsets: [Int: Int] = [:]

    init(_ files: some Collection<File>, comment: [UInt8] = []) {
        self.files = Array(files)
        self.comment = comment
    }

    /// Length of the part before the directory.
    var localLength: Int { files.reduce(0) { $0 + 30 + $1.path.utf8.count + $1.packed.count } }

    var bytes: [UInt8] {
        var (locals, directory) = ([UInt8](), [UInt8]())
        for (number, file) in files.enumerated() {
            let sizes = Self.bytes(file.checksum) + Self.bytes(UInt32(file.packed.count)) + Self.bytes(file.size)
            let name = Array(file.path.utf8)
            let lengths = Self.bytes(UInt16(name.count)) + [0, 0]
            let offset = offsets[number] ?? locals.count
            directory += [0x50, 0x4B, 1, 2, 20, 0, 20, 0] + Self.bytes(file.flags) + Self.bytes(file.method)
            directory += [0, 0, 0, 0]
            directory += sizes + lengths + [UInt8](repeating: 0, count: 10) + Self.bytes(UInt32(offset)) + name
            locals += [0x50, 0x4B, 3, 4, 20, 0] + Self.bytes(file.localFlags) + Self.bytes(file.method) + [0, 0, 0, 0]
            locals += sizes + lengths + name + file.packed
        }
        let counts = Self.bytes(UInt16(files.count)) + Self.bytes(UInt16(files.count))
        let place = Self.bytes(UInt32(directory.count)) + Self.bytes(UInt32(locals.count))
        let end = [0x50, 0x4B, 5, 6, 0, 0, 0, 0] + counts + place + Self.bytes(UInt16(comment.count)) + comment
        return locals + directory + end
    }

    private static func bytes(_ number: some FixedWidthInteger) -> [UInt8] {
        (0..<(number.bitWidth / 8)).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }

    /// Returns 2^20 zeros as blocks that repeat one byte, in fixed Huffman codes (RFC 1951 §3.2.6).
    static func deflated(_ zeros: [UInt8]) -> [UInt8] {
        var bits: [Bool] = []
        func append(_ value: Int, _ count: Int) { for shift in 0..<count { bits.append(value >> shift & 1 == 1) } }
        func code(_ value: Int, _ count: Int) {
            for shift in (0..<count).reversed() { bits.append(value >> shift & 1 == 1) }
        }
        append(1, 1)
        append(1, 2)
        var left = zeros.count
        code(0x30, 8)  // the literal 0
        left -= 1
        while left >= 258 {
            code(0xC5, 8)  // length 258
            code(0, 5)  // distance 1
            left -= 258
        }
        for _ in 0..<left { code(0x30, 8) }
        code(0, 7)
        return stride(from: 0, to: bits.count, by: 8).map { start in
            bits[start..<min(start + 8, bits.count)].reversed().reduce(0) { $0 << 1 | ($1 ? 1 : 0) }
        }
    }
}
