// SPDX-License-Identifier: Apache-2.0

private import CHybridLinux
private import Glibc
internal import HybridPrimitives

/// The process that decodes pictures and searches them for codes.
///
/// Pictures come from others, and their decoders are written in C. After its start, the process can use its memory and its
/// two streams, nothing else: no files, no network, no other processes (seccomp).
///
/// Its input is the length of a text (1 byte) ‖ the text, whose lines are the beginnings of wanted codes ‖ the picture's file,
/// or frames, each after its `CameraFrameHeader`. Its output is a `PictureReply`, or one for each frame after its length
/// (4, big-endian). For previews the text is the maximum width, and each reply is a `PreviewReply` after its length.
public enum PictureProcess {
    /// The pictures that it searches, as the only argument of a program that is started for that.
    enum Purpose: String {
        /// One picture in a file.
        case file = "--search-picture"
        /// The frames of a camera, until the input ends.
        case frames = "--search-frames"
        /// Compressed frames of a camera, decoded for a viewfinder, until the input ends.
        case previews = "--decode-frames"

        /// Limit of the processor time in seconds.
        ///
        /// The program that has started it sets the real limits. This one counts if that program has been killed.
        fileprivate var seconds: rlim_t {
            switch self {
            case .file: 60
            case .frames, .previews: 3600
            }
        }
    }

    /// Searches pictures and ends the process if it was started for that; otherwise returns at once.
    ///
    /// A program calls this before it does anything else.
    public static func runIfRequested() {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count == 1, let purpose = arguments.first.flatMap(Purpose.init(rawValue:)) else { return }
        var limit = rlimit(rlim_cur: purpose.seconds, rlim_max: purpose.seconds)
        setrlimit(__rlimit_resource_t(RLIMIT_CPU.rawValue), &limit)
        let isConfined = hybrid_confine() == 0
        var start = [UInt8](repeating: 0, count: read(1)?.first.map(Int.init) ?? 0)
        _ = start.withUnsafeMutableBytes(fill)
        let starts = start.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(Array.init)
        switch purpose {
        case .file: reply { () throws(PictureError) in try finding(starts, isConfined) }
        case .frames: frames(starts, isConfined)
        case .previews: previews(Int(String(decoding: start, as: UTF8.self)) ?? 1, isConfined)
        }
        _exit(isConfined ? 0 : ExitStatus.unavailable.rawValue)
    }

    private static func finding(_ starts: [[UInt8]], _ isConfined: Bool) throws(PictureError) -> CodeSearch.Finding {
        guard isConfined else { throw .notConfined }
        var picture = read(atMost: GrayPicture.maximumFileBytes)
        defer { SecretBytes.wipe(&picture) }
        return try CodeSearch.codes(inFile: picture) { code in starts.contains { code.begins(with: $0) } }
    }

    /// Returns the next frame, or the reason why it can't be read; `nil` at the end of the input.
    private static func frame(_ isConfined: Bool) -> Result<CameraFrame, PictureError>? {
        guard let header = read(CameraFrameHeader.length).flatMap(CameraFrameHeader.init) else { return nil }
        return Result { () throws(PictureError) in
            guard isConfined else { throw .notConfined }
            return try CameraFrame(header) { memory throws(PictureError) in
                guard fill(UnsafeMutableRawBufferPointer(memory)) else { throw .damaged("it is incomplete") }
            }
        }
    }

    private static func previews(_ width: Int, _ isConfined: Bool) {
        while let frame = frame(isConfined) {
            var bytes = PreviewReply.bytes(
                Result { () throws(PictureError) in try frame.get().preview(widthUpTo: width) }
            )
            defer { SecretBytes.wipe(&bytes) }
            write(CameraFrameHeader.bigEndian([bytes.count]))
            write(bytes)
        }
    }

    private static func frames(_ starts: [[UInt8]], _ isConfined: Bool) {
        while let frame = frame(isConfined) {
            reply(hasLength: true) { () throws(PictureError) in
                let picture = try frame.get().grayPicture()
                return try CodeSearch().codesInWholePicture(in: picture) { code in
                    starts.contains { code.begins(with: $0) }
                }
            }
        }
    }

    private static func reply(
        hasLength: Bool = false,
        _ search: () throws(PictureError) -> CodeSearch.Finding
    ) {
        let bytes = PictureReply.bytes(Result(catching: search))
        write((hasLength ? CameraFrameHeader.bigEndian([bytes.count]) : []) + bytes)
    }

    /// Returns the next bytes; `nil` at the end of the input.
    private static func read(_ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        return bytes.withUnsafeMutableBytes(fill) ? bytes : nil
    }

    /// Reads until the memory is full; returns false if the input ends before.
    private static func fill(_ memory: UnsafeMutableRawBufferPointer) -> Bool {
        var length = 0
        while length < memory.count {
            let free = UnsafeMutableRawBufferPointer(rebasing: memory[length...])
            let count = Glibc.read(STDIN_FILENO, free.baseAddress, free.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            length += count
        }
        return true
    }

    private static func read(atMost limit: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 20)
        while bytes.count < limit {
            let count = Glibc.read(STDIN_FILENO, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            bytes += chunk[..<count]
        }
        return bytes
    }

    private static func write(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}
