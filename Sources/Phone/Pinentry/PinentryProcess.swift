// SPDX-License-Identifier: Apache-2.0

private import Glibc
internal import HybridThreads

/// A running pinentry program, connected by a socket.
///
/// Its methods block the calling thread.
final class PinentryProcess {
    /// This process's end of the socket, which is the program's standard input and output.
    let descriptor: CInt
    private let process: ChildProcess

    /// Starts a program with its standard streams as the only descriptors.
    ///
    /// It can therefore neither use nor keep open a connection of this process. Its standard error is discarded, so
    /// that it does not mix with that of this process.
    init(program: String) throws(PinentryError) {
        guard let (ours, its) = SocketPair.make() else { throw .didNotStart(program) }
        defer { close(its) }
        do throws(ChildProcess.SpawnError) {
            process = try .spawn([program], input: .descriptor(its), output: .descriptor(its), error: .null)
        } catch {
            close(ours)
            throw error.code == ENOENT ? .notFound(program) : .didNotStart(program)
        }
        descriptor = ours
    }

    deinit {
        close(descriptor)
        terminate()
    }

    /// True if a signal such as that of Ctrl-C, which the terminal sends to all its programs, ended the program.
    ///
    /// Use it only after the program has closed its end of the socket. It waits up to half a second for the exit.
    var wasInterrupted: Bool {
        guard case .signaled(let signal) = process.waitBlocking(atMost: .milliseconds(500)) else { return false }
        return [SIGINT, SIGHUP, SIGTERM].contains(signal)
    }

    /// Waits until the program exits, and terminates it after two seconds.
    func finish() {
        shutdown(descriptor, CInt(SHUT_RDWR))
        if process.waitBlocking(atMost: .seconds(2)) == nil { terminate() }
    }

    /// Sends SIGTERM, so that the program can restore the screen, and half a second later SIGKILL.
    func terminate() {
        process.send(SIGTERM)
        if process.waitBlocking(atMost: .milliseconds(500)) != nil { return }
        process.send(SIGKILL)
        process.waitBlocking()
    }
}

/// A search for the pinentry program.
enum PinentryProgram {
    /// Names to look for if none is given.
    static let candidates = ["pinentry", "pinentry-curses", "pinentry-tty"]

    /// Returns the path of a program: the name itself if it contains a slash, otherwise the first match in `PATH`.
    static func find(_ name: String?, environment: [String: String]) throws(PinentryError) -> String {
        let names = name.map { [$0] } ?? candidates
        for name in names {
            if name.contains("/") {
                if isProgram(name) { return name }
                if access(name, F_OK) == 0 { throw .cannotRun(name) }
            } else {
                let path = environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"
                for directory in path.split(separator: ":") where isProgram("\(directory)/\(name)") {
                    return "\(directory)/\(name)"
                }
            }
        }
        throw .notFound(names.joined(separator: ", "))
    }

    private static func isProgram(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
    }
}
