// SPDX-License-Identifier: Apache-2.0

import TestSupport

/// A user of the authenticator: a script that speaks the protocol of pinentry.
struct TestUser: Sendable {
    static let rightPIN = "correct horse"

    var pin = rightPIN
    /// The reply to CONFIRM: `yes`, `no`, `hang`, `wait` (yes as soon as the file `go` exists), or `pick:TEXT` (yes if the
    /// prompt contains the text, otherwise the next account).
    var confirms = "yes"
    /// The flavor of pinentry; with `gnome3`, the prompts have no third button.
    var flavor = ""

    /// Returns the variables of the script.
    func variables(in folder: String) -> [String: String] {
        [
            "TEST_PIN": pin, "TEST_CONFIRMS": confirms, "TEST_FLAVOR": flavor, "TEST_LOG": Self.log(in: folder),
            "TEST_GO": folder + "/go",
        ]
    }

    /// Returns the path of the script in a folder.
    static func program(in folder: String) -> String { folder + "/pinentry" }

    /// Returns the path of the commands that the script has received.
    static func log(in folder: String) -> String { folder + "/pinentry.log" }

    /// Writes the script.
    ///
    /// GETPIN is answered with `TEST_PIN`, or with the next line of the file `TEST_ANSWERS`, then cancelled.
    static func writeProgram(in folder: String) async throws {
        let script = """
            #!/bin/sh
            echo "OK ready"
            while read -r line; do
              printf '%s\\n' "$line" >> "$TEST_LOG"
              case "$line" in
                SETDESC*) prompt=$line; echo OK ;;
                GETINFO*) if [ -n "$TEST_FLAVOR" ]; then echo "D $TEST_FLAVOR"; fi; echo OK ;;
                GETPIN*)
                  answer=$TEST_PIN
                  if [ -n "$TEST_ANSWERS" ]; then
                    count=$(($(cat "$TEST_ANSWERS.count" 2> /dev/null || echo 0) + 1))
                    echo $count > "$TEST_ANSWERS.count"
                    answer=$(sed -n "${count}p" "$TEST_ANSWERS")
                  fi
                  if [ -n "$answer" ]; then echo "D $answer"; echo OK; else echo "ERR 83886179 cancelled"; fi ;;
                CONFIRM*) case "$TEST_CONFIRMS" in
                    yes) echo OK ;;
                    wait) while [ ! -e "$TEST_GO" ]; do sleep 0.05; done; echo OK ;;
                    pick:*) case "$prompt" in
                        *"${TEST_CONFIRMS#pick:}"*) echo OK ;;
                        *) if [ "$TEST_FLAVOR" = gnome3 ]; then
                            echo "ERR 83886179 cancelled"
                          else
                            echo "ERR 83886194 Not confirmed <Pinentry>"
                          fi ;;
                      esac ;;
                    no) echo "ERR 83886194 Not confirmed <Pinentry>" ;;
                    hang) exec sleep 300 ;;
                  esac ;;
                BYE*) echo OK; exit 0 ;;
                *) echo OK ;;
              esac
            done
            """
        try await TestFile.writeProgram(script, to: program(in: folder))
    }
}

extension CeremonyEnvironment {
    /// The commands that pinentry has received so far.
    var pinentryLog: String { TestFile.text(TestUser.log(in: folder)) }

    /// The number of confirmations that the user was asked for.
    var confirmations: Int { pinentryLog.ranges(of: "CONFIRM").count }

    /// Waits until the user has been asked for more confirmations than `count`.
    func untilAsked(moreThan count: Int = 0) async throws {
        try await Waiting.until("the prompt") { confirmations > count }
    }
}
