// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import HybridPrimitives
import HybridProgram
import TestSupport
import Testing

@testable import HybridCommandSupport

private enum Sample {
    static let listen = Setting(list: "listen", .text("host"), help: "Where to listen.")
    static let size = Setting("max-size", .bytes(1...1_048_576), default: "64K", help: "The largest message.")
    static let idle = Setting("idle-timeout", .seconds(), default: "300", help: "How long nothing may come.")
    static let key = Setting("tls-key", .path("file"), help: "The key.")
    static let token = Setting("token", .number(1000...9999), help: "A number.")
    static let open = Setting("open", .boolean, default: "no", help: "Open it.")
    static let shut = Setting("shut", .boolean, default: "yes", help: "Shut it.")
    static let tags = Setting(list: "tag", .number(), default: ["1", "2"], help: "Some tags.")

    static let all: [any AnySetting] = [listen, size, idle, key, token, open, tags]

    static func resolve(
        flags: [String: [String]] = [:],
        environment: [String: String] = [:],
        file: String? = nil,
        systemFile: String? = nil
    ) throws(CommandFailure) -> Configuration {
        let resolver = ConfigurationResolver(all, ignoredVariables: ["HYBRID_TEST_*", "HYBRID_OTHER"])
        let file = file.map { ConfigurationFile(path: "/etc/x.env", bytes: Array($0.utf8)) }
        let system = systemFile.map { ConfigurationFile(path: "/etc/system.env", bytes: Array($0.utf8)) }
        return try resolver.resolve(
            flags: GivenFlags(flags),
            environment: environment,
            file: file,
            systemFile: system
        )
    }
}

/// A command with flags of each type, some of them in a group.
private struct SampleCommand: ParsableCommand {
    struct Group: ParsableArguments {
        @Option(Sample.listen) var listen: [String] = []
        @Flag(Sample.open) var open = false
    }

    @Option(Sample.key) var tlsKey: String?
    @Option(Sample.size) var maxSize: String?
    @OptionGroup var group: Group
    @Flag(Sample.shut) var shut: Bool?
    @Flag(help: "Not a setting.") var json = false
}

@Suite("Precedence of configuration sources")
struct ConfigurationTests {
    @Test("the system's file comes after all other sources, and its errors name it")
    func systemFile() throws {
        let system = "HYBRID_TLS_KEY=/system\nHYBRID_OPEN=yes\nHYBRID_TOKEN=1234"
        let configuration = try Sample.resolve(
            environment: ["HYBRID_TOKEN": "4321"],
            file: "HYBRID_TLS_KEY=/user",
            systemFile: system
        )
        #expect(try configuration.value(Sample.key) == "/user")
        #expect(try configuration.value(Sample.token) == 4321)
        #expect(try configuration.value(Sample.open))
        #expect(configuration.source(of: Sample.open) == .file("/etc/system.env", line: 2, name: "HYBRID_OPEN"))
        #expect(configuration.source(of: Sample.key) == .file("/etc/x.env", line: 1, name: "HYBRID_TLS_KEY"))
        #expect(throws: CommandFailure.self) { try Sample.resolve(systemFile: "HYBRID_OPNE=yes") }
    }

    @Test("without other sources, defaults apply")
    func defaults() throws {
        let configuration = try Sample.resolve()
        #expect(try configuration.value(Sample.listen) == [])
        #expect(try configuration.value(Sample.size) == 65536)
        #expect(try configuration.value(Sample.idle) == .seconds(300))
        #expect(try configuration.value(Sample.key) == nil)
        #expect(try configuration.value(Sample.token) == nil)
        #expect(try configuration.value(Sample.open) == false)
        #expect(try configuration.value(Sample.tags) == [1, 2])
        #expect(configuration.source(of: Sample.size) == .defaultValue)
        #expect(Sample.size.declaration.help == "The largest message.")
        #expect(Sample.key.declaration.help == "The key.")
    }

    @Test("a flag overrides a variable, a variable the file, the file the default", arguments: 0..<8)
    func order(sources: Int) throws {
        let configuration = try Sample.resolve(
            flags: sources & 4 == 0 ? [:] : ["idle-timeout": ["3"]],
            environment: sources & 2 == 0 ? [:] : ["HYBRID_IDLE_TIMEOUT": "2"],
            file: sources & 1 == 0 ? "# nothing\n" : "\nHYBRID_IDLE_TIMEOUT=1\n"
        )
        let (value, source): (Duration, ConfigurationSource) =
            switch sources {
            case 4...: (.seconds(3), .flag("--idle-timeout"))
            case 2...: (.seconds(2), .variable("HYBRID_IDLE_TIMEOUT"))
            case 1: (.seconds(1), .file("/etc/x.env", line: 2, name: "HYBRID_IDLE_TIMEOUT"))
            default: (.seconds(300), .defaultValue)
            }
        #expect(try configuration.value(Sample.idle) == value)
        #expect(configuration.source(of: Sample.idle) == source)
    }

    @Test("lists: repeated flags, commas and blanks in variables and in the file; an empty list overrides the default")
    func lists() throws {
        let flags = try Sample.resolve(flags: ["listen": ["a,b", "c"]])
        #expect(try flags.value(Sample.listen) == ["a,b", "c"])
        let variable = try Sample.resolve(environment: ["HYBRID_LISTEN": " a, b\tc,,d ", "HYBRID_TAG": ""])
        #expect(try variable.value(Sample.listen) == ["a", "b", "c", "d"])
        #expect(try variable.value(Sample.tags) == [])
        let file = try Sample.resolve(file: "HYBRID_LISTEN=a b,c")
        #expect(try file.value(Sample.listen) == ["a", "b", "c"])
    }

    @Test("Only given flags are recorded, also those of option groups")
    func givenFlags() throws {
        func given(_ arguments: String...) throws -> [String: [String]] {
            GivenFlags(in: try SampleCommand.parse(arguments), of: ConfigurationResolver(Sample.all + [Sample.shut]))
                .texts
        }
        #expect(try given().isEmpty)
        #expect(try given("--json", "--tls-key", "k") == ["tls-key": ["k"]])
        #expect(
            try given("--tls-key", "k", "--listen", "a", "--listen", "b", "--open")
                == ["tls-key": ["k"], "listen": ["a", "b"], "open": ["yes"]]
        )
        #expect(try given("--shut") == ["shut": ["yes"]])
        #expect(try given("--no-shut") == ["shut": ["no"]])
    }

    @Test("The help of a flag has the setting's text, default and placeholder")
    func help() {
        let help = SampleCommand.helpMessage(columns: 100)
        #expect(help.contains("--tls-key <file>        The key."))
        #expect(help.contains("--max-size <bytes>      The largest message. (default: 64K)"))
        #expect(help.contains("--open                  Open it."))
        #expect(help.contains("--shut/--no-shut        Shut it. (default: yes)"))
    }

    /// Sources with an error, and the expected sentence.
    struct Wrong: Sendable {
        var flags: [String: [String]] = [:]
        var environment: [String: String] = [:]
        var file: String?
        let sentence: String

        var failure: CommandFailure {
            CommandFailure(sentence, status: flags.isEmpty ? .configuration : .usage)
        }
    }

    private static let wrongValues = [
        Wrong(
            file: "# c\nHYBRID_IDLE_TIMEOUT=5m",
            sentence: "HYBRID_IDLE_TIMEOUT in /etc/x.env line 2: \"5m\" is not a number of seconds"
        ),
        Wrong(
            environment: ["HYBRID_IDLE_TIMEOUT": "5m"],
            sentence: "HYBRID_IDLE_TIMEOUT in the environment: \"5m\" is not a number of seconds"
        ),
        Wrong(
            environment: ["HYBRID_TLS_KEY": ""],
            sentence: "HYBRID_TLS_KEY in the environment: it is empty; leave it out, or give a path"
        ),
        Wrong(flags: ["idle-timeout": ["5m"]], sentence: "--idle-timeout: \"5m\" is not a number of seconds"),
        Wrong(flags: ["idle-timeout": ["5", "6"]], sentence: "--idle-timeout: it is given more than once"),
        Wrong(flags: ["token": ["12345"]], sentence: "--token: \"12345\" is not a number from 1000 to 9999"),
        Wrong(flags: ["tag": ["1", "x"]], sentence: "--tag: \"x\" is not a number"),
        Wrong(flags: ["idle-timeout": ["\u{1B}[m"]], sentence: "--idle-timeout: \"?[m\" is not a number of seconds"),
    ]

    @Test("a wrong value is reported with its source, its text and the expected form", arguments: wrongValues)
    func wrongValue(_ wrong: Wrong) {
        #expect(throws: wrong.failure) {
            try Sample.resolve(flags: wrong.flags, environment: wrong.environment, file: wrong.file)
        }
    }

    @Test("only the beginning of a long wrong text is shown")
    func longText() {
        let failure = #expect(throws: CommandFailure.self) {
            try Sample.resolve(flags: ["idle-timeout": [String(repeating: "x", count: 5000)]])
        }
        #expect(
            failure?.sentence == "--idle-timeout: \"\(String(repeating: "x", count: 60))…\" is not a number of seconds"
        )
    }

    @Test("a well-formed but unusable value is reported with its source, too")
    func laterFailure() throws {
        let configuration = try Sample.resolve(file: "HYBRID_TLS_KEY=/nowhere")
        #expect(
            configuration.failure(Sample.key, "there is no such file").sentence
                == "HYBRID_TLS_KEY in /etc/x.env line 1: there is no such file"
        )
        #expect(configuration.failure(Sample.size, "no").sentence == "--max-size (default): no")
    }

    private static let unknownNames = [
        Wrong(
            file: "HYBRID_IDLE_TIMOUT=5",
            sentence: "HYBRID_IDLE_TIMOUT in /etc/x.env line 1 is not a setting; HYBRID_IDLE_TIMEOUT is one"
        ),
        Wrong(file: "HYBRID_COLOUR=5", sentence: "HYBRID_COLOUR in /etc/x.env line 1 is not a setting"),
        Wrong(file: "\nPATH=/bin", sentence: "PATH in /etc/x.env line 2 does not begin with HYBRID_"),
        Wrong(file: "hybrid_open=1", sentence: "hybrid_open in /etc/x.env line 1 does not begin with HYBRID_"),
        Wrong(file: "HYBRID_TEST_X=1", sentence: "HYBRID_TEST_X in /etc/x.env line 1 is not a setting"),
        Wrong(
            environment: ["HYBRID_LISTN": "x"],
            sentence: "HYBRID_LISTN in the environment is not a setting; HYBRID_LISTEN is one"
        ),
        Wrong(environment: ["HYBRID_OTHERS": "x"], sentence: "HYBRID_OTHERS in the environment is not a setting"),
        Wrong(flags: ["opn": ["x"]], sentence: "--opn is not a setting; --open is one"),
    ]

    @Test("unknown names are errors in every source", arguments: unknownNames)
    func unknownName(_ wrong: Wrong) {
        #expect(throws: wrong.failure) {
            try Sample.resolve(flags: wrong.flags, environment: wrong.environment, file: wrong.file)
        }
    }

    @Test("variables of other programs are ignored")
    func ignored() throws {
        _ = try Sample.resolve(environment: [
            "HYBRID_TEST_PYTHON": "x", "HYBRID_OTHER": "x", "PATH": "x", "hybrid_x": "x",
        ])
    }

    @Test("an error in the file is reported with path and line")
    func fileError() {
        #expect(
            throws: CommandFailure("/etc/x.env line 2: HYBRID_OPEN was already given in line 1", status: .configuration)
        ) {
            try Sample.resolve(file: "HYBRID_OPEN=1\nHYBRID_OPEN=0")
        }
    }

    @Test("damaged files never crash the resolver")
    func damage() {
        let bytes = Array("HYBRID_LISTEN=\"a b\"\nHYBRID_IDLE_TIMEOUT=5\nHYBRID_OPEN=yes\n".utf8)
        let resolver = ConfigurationResolver(Sample.all)
        for damaged in Damage.truncations(of: bytes) + Damage.bitFlips(of: bytes) {
            do {
                let configuration = try resolver.resolve(file: ConfigurationFile(path: "f", bytes: damaged))
                #expect(configuration.entries.count == Sample.all.count)
            } catch {
                #expect(error.status == .configuration)
            }
        }
    }
}

@Suite("check-config")
struct ConfigurationReportTests {
    private static func sample() throws -> Configuration {
        try Sample.resolve(
            flags: ["max-size": ["1M"]],
            environment: ["HYBRID_LISTEN": "a,b", "HYBRID_TAG": ""],
            file: "HYBRID_TOKEN=1234\nHYBRID_IDLE_TIMEOUT=\"5\""
        )
    }

    @Test("the table is aligned and ordered")
    func table() throws {
        #expect(
            try Self.sample().table == """
                SETTING       VALUE    SOURCE
                listen        a, b     HYBRID_LISTEN in the environment
                max-size      1M       --max-size
                idle-timeout  5        HYBRID_IDLE_TIMEOUT in /etc/x.env line 2
                tls-key       -        not set
                token         1234     HYBRID_TOKEN in /etc/x.env line 1
                open          no       default
                tag           (empty)  HYBRID_TAG in the environment

                """
        )
    }

    @Test("a value cannot forge a line of the table")
    func forgery() throws {
        let configuration = try Sample.resolve(environment: ["HYBRID_TLS_KEY": "a\nopen  yes  default"])
        #expect(configuration.table.split(separator: "\n").count == Sample.all.count + 1)
    }

    @Test("JSON has the same content")
    func json() throws {
        let text = try Self.sample().json
        let entries = try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8)).elements
        #expect(try entries.map { try $0.text("name") } == Sample.all.map(\.declaration.name))
        #expect(
            try entries[0].entries == [
                "name": .text("listen"), "value": .list([.text("a"), .text("b")]), "source": .text("variable"),
                "variable": .text("HYBRID_LISTEN"),
            ]
        )
        #expect(
            try entries[1].entries == [
                "name": .text("max-size"), "value": .text("1M"), "source": .text("flag"), "flag": .text("--max-size"),
            ]
        )
        #expect(
            try entries[2].entries == [
                "name": .text("idle-timeout"), "value": .text("5"), "source": .text("file"),
                "file": .text("/etc/x.env"), "line": .number(2),
            ]
        )
        #expect(try entries[3].entries["value"] == .null)
        #expect(
            try entries[4].entries == [
                "name": .text("token"), "value": .text("1234"), "source": .text("file"),
                "file": .text("/etc/x.env"), "line": .number(1),
            ]
        )
    }
}
