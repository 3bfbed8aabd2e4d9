// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

/// A directory with a certificate for `localhost`, its key and somebody else's key, made by openssl.
final class CertificateFiles {
    let directory: String

    init() throws {
        var template = Array("/tmp/relay-tls-XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        for name in ["own", "other"] {
            try Self.openssl(
                ["req", "-x509", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
                    + key + ["-keyout", "\(directory)/\(name).key", "-out", "\(directory)/\(name).pem"]
            )
        }
    }

    deinit {
        for name in ["own.key", "own.pem", "other.key", "other.pem"] { unlink("\(directory)/\(name)") }
        rmdir(directory)
    }

    private static func openssl(_ arguments: [String]) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        var words: [UnsafeMutablePointer<CChar>?] = (["openssl"] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var process = pid_t()
        try #require(posix_spawnp(&process, "openssl", &actions, nil, &words, environ) == 0)
        var status: Int32 = 0
        try #require(waitpid(process, &status, 0) == process)
        try #require(status == 0)
    }
}
