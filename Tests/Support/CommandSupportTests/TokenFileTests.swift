// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridCommandSupport
import HybridPrimitives
import HybridProgram
import Testing

@Suite("Token files", .timeLimit(.minutes(10)))
struct TokenFileTests {
    @Test("the first line is read, whatever ends it and follows it")
    func files() throws {
        let longest = String(repeating: "x", count: 512)
        let cases: [(text: String, token: String)] = [
            ("abc", "abc"), ("abc\n", "abc"), ("abc\r\n", "abc"), ("abc\n\0\u{FF} \n", "abc"), (longest, longest),
            ("\(longest)\n", longest), ("\(longest)\r\nmore", longest),
            ("abc\n" + String(repeating: "y", count: 1 << 20), "abc"),
        ]
        for (text, token) in cases {
            let file = try File(text)
            #expect(try Self.token(file.path) == token, "\(text.prefix(20))")
        }
    }

    @Test("errors state the cause")
    func noFiles() throws {
        let noToken = "does not begin with a token on a line of its own"
        let cases: [(text: String, sentence: String, status: HybridPrimitives.ExitStatus)] = [
            ("", "is empty; it should hold the relay's token", .noInput), ("\nabc", noToken, .dataError),
            ("a b\n", noToken, .dataError), ("abc\0\n", noToken, .dataError), ("abc\r\r\n", noToken, .dataError),
            (String(repeating: "x", count: 513), noToken, .dataError),
            (String(repeating: "x", count: 1 << 20), noToken, .dataError),
        ]
        for (text, sentence, status) in cases {
            let file = try File(text)
            #expect(throws: CommandFailure("\(file.path) \(sentence)", status: status)) { try Self.token(file.path) }
        }
        #expect(throws: CommandFailure("/nonexistent can't be read: No such file or directory", status: .noInput)) {
            try Self.token("/nonexistent")
        }
        #expect(throws: CommandFailure("/ can't be read: Is a directory", status: .noInput)) { try Self.token("/") }
        // Endless and without a line break.
        #expect(throws: CommandFailure("/dev/zero \(noToken)", status: .dataError)) { try Self.token("/dev/zero") }
    }

    @Test("a pipe may deliver the token in pieces")
    func pipe() throws {
        let pipe = Pipe()
        let writer = Thread {
            for piece in ["ab", "c\nmore"] { try? pipe.fileHandleForWriting.write(contentsOf: Data(piece.utf8)) }
            try? pipe.fileHandleForWriting.close()
        }
        writer.start()
        #expect(try Self.token("/dev/fd/\(pipe.fileHandleForReading.fileDescriptor)") == "abc")
    }

    @Test("the memory that held the token is wiped")
    func wiped() throws {
        let word = Data(UUID().uuidString.utf8)
        let file = try File(String(decoding: word, as: UTF8.self) + "\n")
        let memory = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/self/mem"))
        var address: UInt = 0
        try TokenFile.read(file.path, longest: 512) { (bytes: UnsafeRawBufferPointer) -> Void? in
            if bytes.elementsEqual(word) { address = UInt(bitPattern: bytes.baseAddress) }
        }
        try #require(address != 0)
        try memory.seek(toOffset: UInt64(address))
        // Freed memory may be unmapped.
        #expect((try? memory.read(upToCount: word.count)) != word)
    }

    /// Reads a token with the characters that the programs allow.
    private static func token(_ path: String) throws -> String {
        try TokenFile.read(path, longest: 512) { line in
            let text = String(decoding: line, as: UTF8.self)
            return (1...512).contains(line.count) && text.utf8.allSatisfy { 0x21...0x7E ~= $0 } ? text : nil
        }
    }

    private final class File {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("token-\(UUID())").path

        init(_ text: String) throws { try Data(text.utf8).write(to: URL(fileURLWithPath: path)) }

        deinit { try? FileManager.default.removeItem(atPath: path) }
    }
}
