// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The arguments as other users see them in the process list.
enum ProcessArguments {
    /// The arguments without the program's name; those that carry a code are overwritten in the process list.
    ///
    /// Meant to be called before anything else is done: until then everybody on the machine can read the code, which
    /// the kernel copies there when the program is started.
    static func withoutTrace() -> [String] {
        let texts = CommandLine.arguments.dropFirst()
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let argument = CommandLine.unsafeArgv[index] else { continue }
            let length = strlen(argument)
            let bytes = UnsafeRawBufferPointer(start: argument, count: length)
            guard let start = codeStart(bytes) else { continue }
            explicit_bzero(argument + start, length - start)
        }
        return Array(texts)
    }

    /// Where a code begins: the text of `--url TEXT` and `--url=TEXT`, its scheme in either case.
    private static func codeStart(_ bytes: UnsafeRawBufferPointer) -> Int? {
        let scheme = Array("fido:".utf8)
        guard bytes.count >= scheme.count else { return nil }
        return (0...(bytes.count - scheme.count)).first { start in
            zip(scheme, bytes[start...]).allSatisfy { $0 == $1 || $0 == $1 | 0x20 }
        }
    }
}
