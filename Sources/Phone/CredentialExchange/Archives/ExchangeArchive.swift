// SPDX-License-Identifier: Apache-2.0

/// The document in an archive of another program: `data.json` of Bitwarden, or the document of a CXP archive.
///
/// The document is the only `.json` file in the outermost folder that has one. Attachments are in deeper folders.
enum ExchangeArchive {
    /// Returns the document of an archive.
    ///
    /// - Throws: ``ExchangeFile/ParseError`` if there is none, if it is unclear which one it is, or if the archive is
    ///   encrypted, damaged or too large.
    static func document(in bytes: [UInt8]) throws(ExchangeFile.ParseError) -> [UInt8] {
        let archive = try explaining { () throws(ZipArchive.ReadError) in try ZipArchive(bytes) }
        let documents = archive.entries.filter { has(".json", $0) }
        let depths = documents.map(depth)
        let outermost = documents.filter { depth($0) == depths.min() }
        guard let document = outermost.first else {
            let suffix = [".jwe", ".pgp"].first { suffix in archive.entries.contains { has(suffix, $0) } }
            throw suffix.map(ExchangeFile.ParseError.init(encrypted:))
                ?? ExchangeFile.ParseError(reason: "the archive has no .json file")
        }
        guard outermost.count == 1 else {
            throw ExchangeFile.ParseError(
                reason: "the archive has \(outermost.count) .json files; unpack it and import them one by one"
            )
        }
        return try explaining { () throws(ZipArchive.ReadError) in
            try archive.read(document, atMost: ExchangeFormat.maximumLength)
        }
    }

    private static func explaining<Value>(
        _ body: () throws(ZipArchive.ReadError) -> Value
    ) throws(ExchangeFile.ParseError) -> Value {
        do throws(ZipArchive.ReadError) {
            return try body()
        } catch {
            throw ExchangeFile.ParseError(reason: error.reason)
        }
    }

    /// Returns true if the file has this extension and is no metadata of a file system (`__MACOSX/._data.json`).
    private static func has(_ suffix: String, _ entry: ZipArchive.Entry) -> Bool {
        let components = entry.path.split(separator: "/")
        return entry.path.lowercased().hasSuffix(suffix) && components.first != "__MACOSX"
            && components.last?.hasPrefix(".") == false
    }

    private static func depth(_ entry: ZipArchive.Entry) -> Int { entry.path.split(separator: "/").count }
}

extension ZipArchive.ReadError {
    /// The cause as part of a message.
    fileprivate var reason: String {
        switch self {
        case .damaged: "the archive is damaged"
        case .encrypted: "the archive has encrypted files; export without a password, or unpack it first"
        case .unsafePath: "the archive has a file with an unsafe path; it was not made by a password manager"
        case .otherMethod: "the archive is compressed in a way that this program can't read; unpack it first"
        case .notSupported: "the archive is in parts or too large; unpack it and import its .json file"
        case .tooLong: "its document is longer than \(ExchangeFormat.maximumLength >> 20) MiB"
        }
    }
}
