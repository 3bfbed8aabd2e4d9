function __hybrid-key_should_offer_completions_for_flags_or_options -a expected_commands
    set -l non_repeating_flags_or_options $argv[2..]
    set -l non_repeating_flags_or_options_absent 0
    set -l positional_index 0
    set -l commands
    __hybrid-key_parse_tokens
    test "$commands" = "$expected_commands"; and return $non_repeating_flags_or_options_absent
end

function __hybrid-key_should_offer_completions_for_positional -a expected_commands positional_index_comparison expected_positional_index
    set -l non_repeating_flags_or_options
    set -l non_repeating_flags_or_options_absent 0
    set -l positional_index 0
    set -l commands
    __hybrid-key_parse_tokens
    test "$commands" = "$expected_commands" -a \( "$positional_index" "$positional_index_comparison" "$expected_positional_index" \)
end

function __hybrid-key_parse_tokens -S
    set -l unparsed_tokens (__hybrid-key_tokens -pc)
    switch $unparsed_tokens[1]
    case 'hybrid-key'
        __hybrid-key_parse_subcommand 0 'version' 'h/help'
        switch $unparsed_tokens[1]
        case 'agent'
            __hybrid-key_parse_subcommand 0 'socket=' 'restricted-socket=' 'upstream=' 'tty' 'timeout=' 'cacert=' 'connect-to=+' 'adapter=' 'ble-channel' 'no-ble-channel' 'version' 'h/help'
        case 'serve'
            __hybrid-key_parse_subcommand 0 'cacert=' 'connect-to=+' 'adapter=' 'ble-channel' 'no-ble-channel' 'version' 'h/help'
        case 'ssh-keygen'
            __hybrid-key_parse_subcommand 0 'rp=' 'comment=' 'allow-forwarded-messages' 'destination=+' 'open' 'timeout=' 'cacert=' 'connect-to=+' 'adapter=' 'ble-channel' 'no-ble-channel' 'version' 'h/help'
        case 'ssh-keys'
            __hybrid-key_parse_subcommand 0 'version' 'h/help'
            switch $unparsed_tokens[1]
            case 'list'
                __hybrid-key_parse_subcommand 0 'fingerprints' 'version' 'h/help'
            case 'restrict'
                __hybrid-key_parse_subcommand 1 'destination=+' 'any-destination' 'allow-forwarded-messages' 'no-allow-forwarded-messages' 'version' 'h/help'
            case 'forget'
                __hybrid-key_parse_subcommand 1 'version' 'h/help'
            case 'export'
                __hybrid-key_parse_subcommand 0 'version' 'h/help'
            case 'import'
                __hybrid-key_parse_subcommand 1 'version' 'h/help'
            case 'allowed-signers'
                __hybrid-key_parse_subcommand 0 'principal=' 'namespace=' 'version' 'h/help'
            end
        case 'status'
            __hybrid-key_parse_subcommand 0 'json' 'cacert=' 'connect-to=+' 'adapter=' 'ble-channel' 'no-ble-channel' 'version' 'h/help'
        case 'log'
            __hybrid-key_parse_subcommand 0 'json' 'version' 'h/help'
        case 'forget'
            __hybrid-key_parse_subcommand 0 'version' 'h/help'
        case 'pam'
            __hybrid-key_parse_subcommand 0 'version' 'h/help'
            switch $unparsed_tokens[1]
            case 'enrol'
                __hybrid-key_parse_subcommand 0 'user=' 'open' 'timeout=' 'cacert=' 'connect-to=+' 'adapter=' 'ble-channel' 'no-ble-channel' 'version' 'h/help'
            end
        case 'check-config'
            __hybrid-key_parse_subcommand 0 'json' 'version' 'h/help'
        case 'help'
            __hybrid-key_parse_subcommand -r 1 'version'
        end
    end
end

function __hybrid-key_tokens
    if test (string split -m 1 -f 1 -- . "$FISH_VERSION") -gt 3
        commandline --tokens-raw $argv
    else
        commandline -o $argv
    end
end

function __hybrid-key_parse_subcommand -S -a positional_count
    argparse -s r -- $argv
    set -l option_specs $argv[2..]
    set -l is_repeating_positional $_flag_r
    set -el _flag_r
    set -a commands $unparsed_tokens[1]
    set positional_index 0
    while true
        set -e unparsed_tokens[1]
        argparse -sn "$commands" $option_specs -- $unparsed_tokens 2> /dev/null
        set unparsed_tokens $argv
        set positional_index (math $positional_index + 1)
        for non_repeating_flag_or_option in $non_repeating_flags_or_options
            if set -ql "_flag_$(string replace -a - _ -- $non_repeating_flag_or_option)"
                set non_repeating_flags_or_options_absent 1
                break
            end
        end
        test (count $unparsed_tokens) -eq 0 -o \( -z "$is_repeating_positional" -a "$positional_index" -gt "$positional_count" \) && break
    end
end

function __hybrid-key_complete_directories
    set -l token (commandline -t)
    string match -- '*/' $token
    set -l subdirs $token*/
    printf %s\n $subdirs
end

function __hybrid-key_custom_completion
    set -x SAP_SHELL fish
    set -x SAP_SHELL_VERSION $FISH_VERSION
    set -l tokens (__hybrid-key_tokens -p)
    if test -z "$(__hybrid-key_tokens -t)"
        set -l index (count (__hybrid-key_tokens -pc))
        set tokens $tokens[..$index] \'\' $tokens[(math $index + 1)..]
    end
    command $tokens[1] $argv $tokens
end

complete -c 'hybrid-key' -f
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_positional "hybrid-key" -eq 1' -fa 'agent' -d 'Offer the phone\'s SSH keys on a socket, for IdentityAgent in ~/.ssh/config.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_positional "hybrid-key" -eq 1' -fa 'serve' -d 'Run the agent and the security key as a service of systemd.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_positional "hybrid-key" -eq 1' -fa 'ssh-keygen' -d 'Create an SSH key on a phone and print its public key.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_positional "hybrid-key" -eq 1' -fa 'ssh-keys' -d 'List, restrict, forget, export and import SSH keys.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_positional "hybrid-key" -eq 1' -fa 'status' -d 'Print the state of the security key, and of what it needs.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_positional "hybrid-key" -eq 1' -fa 'log' -d 'Print the signatures that programs requested, and the results.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_positional "hybrid-key" -eq 1' -fa 'forget' -d 'Forget for which local services the security key was used.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_positional "hybrid-key" -eq 1' -fa 'pam' -d 'Enrol a phone for sudo with pam_u2f.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_positional "hybrid-key" -eq 1' -fa 'check-config' -d 'Print every setting with its value and its source.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_positional "hybrid-key" -eq 1' -fa 'help' -d 'Show subcommand help information.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key agent" socket' -l 'socket' -d 'The socket; default: $XDG_RUNTIME_DIR/hybrid-key.sock.' -rfka ''
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key agent" restricted-socket' -l 'restricted-socket' -d 'A further socket, to be forwarded to other hosts: only for logins.' -rfka ''
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key agent" upstream' -l 'upstream' -d 'The socket of another SSH agent, whose keys are offered, too.' -rfka ''
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key agent" tty' -l 'tty' -d 'Show the code on this terminal.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key agent" timeout' -l 'timeout' -d 'Seconds to wait for a phone, and again for its user.' -rfka ''
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key agent" cacert' -l 'cacert' -d 'Trust these certificates (PEM) instead of the system\'s.' -rfka ''
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key agent"' -l 'connect-to' -d 'Connect elsewhere, as curl does.' -rfka ''
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key agent" adapter' -l 'adapter' -d 'The Bluetooth adapter.' -rfka ''
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key agent" ble-channel' -l 'ble-channel' -d 'Also offer a connection over Bluetooth alone; some older phones reject such a code. (default: no)'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key agent" no-ble-channel' -l 'no-ble-channel' -d 'Also offer a connection over Bluetooth alone; some older phones reject such a code. (default: no)'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key agent" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key agent" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key serve" cacert' -l 'cacert' -d 'Trust these certificates (PEM) instead of the system\'s.' -rfka ''
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key serve"' -l 'connect-to' -d 'Connect elsewhere, as curl does.' -rfka ''
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key serve" adapter' -l 'adapter' -d 'The Bluetooth adapter.' -rfka ''
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key serve" ble-channel' -l 'ble-channel' -d 'Also offer a connection over Bluetooth alone; some older phones reject such a code. (default: no)'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key serve" no-ble-channel' -l 'no-ble-channel' -d 'Also offer a connection over Bluetooth alone; some older phones reject such a code. (default: no)'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key serve" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key serve" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key ssh-keygen" rp' -l 'rp' -d 'A domain of yours for the passkey, such as ssh.example.org, or ssh:NAME; default: a random name below .invalid.' -rfka ''
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key ssh-keygen" comment' -l 'comment' -d 'The name of the key; default: user@host phone.' -rfka ''
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key ssh-keygen" allow-forwarded-messages' -l 'allow-forwarded-messages' -d 'Let a forwarded agent sign messages, such as git commits on another host.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key ssh-keygen"' -l 'destination' -d 'Use the key only to log in there, by a name in known_hosts or a fingerprint; repeat it for more hosts.' -rfka ''
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key ssh-keygen" open' -l 'open' -d 'Show the code in a window or on a page in the browser, not on the terminal.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key ssh-keygen" timeout' -l 'timeout' -d 'Seconds to wait for a phone, and again for its user.' -rfka ''
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key ssh-keygen" cacert' -l 'cacert' -d 'Trust these certificates (PEM) instead of the system\'s.' -rfka ''
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key ssh-keygen"' -l 'connect-to' -d 'Connect elsewhere, as curl does.' -rfka ''
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key ssh-keygen" adapter' -l 'adapter' -d 'The Bluetooth adapter.' -rfka ''
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key ssh-keygen" ble-channel' -l 'ble-channel' -d 'Also offer a connection over Bluetooth alone; some older phones reject such a code. (default: no)'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key ssh-keygen" no-ble-channel' -l 'no-ble-channel' -d 'Also offer a connection over Bluetooth alone; some older phones reject such a code. (default: no)'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key ssh-keygen" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key ssh-keygen" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key ssh-keys" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key ssh-keys" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_positional "hybrid-key ssh-keys" -eq 1' -fa 'list' -d 'Print the public keys, as for ~/.ssh/authorized_keys.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_positional "hybrid-key ssh-keys" -eq 1' -fa 'restrict' -d 'Change what a key may sign, or print it.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_positional "hybrid-key ssh-keys" -eq 1' -fa 'forget' -d 'Forget a key; its passkey stays on the phone.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_positional "hybrid-key ssh-keys" -eq 1' -fa 'export' -d 'Print all keys for import on another computer.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_positional "hybrid-key ssh-keys" -eq 1' -fa 'import' -d 'Add the keys that export printed elsewhere.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_positional "hybrid-key ssh-keys" -eq 1' -fa 'allowed-signers' -d 'Print the keys for git\'s gpg.ssh.allowedSignersFile.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key ssh-keys list" fingerprints' -l 'fingerprints' -d 'Print fingerprints instead.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key ssh-keys list" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key ssh-keys list" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key ssh-keys restrict"' -l 'destination' -d 'Use the key only to log in there, by a name in known_hosts or a fingerprint; repeat it for more hosts.' -rfka ''
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key ssh-keys restrict" any-destination' -l 'any-destination' -d 'Remove all destinations: the key may log in anywhere.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key ssh-keys restrict" allow-forwarded-messages' -l 'allow-forwarded-messages' -d 'Let a forwarded agent sign messages, such as git commits on another host.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key ssh-keys restrict" no-allow-forwarded-messages' -l 'no-allow-forwarded-messages' -d 'Let a forwarded agent sign messages, such as git commits on another host.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key ssh-keys restrict" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key ssh-keys restrict" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key ssh-keys forget" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key ssh-keys forget" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key ssh-keys export" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key ssh-keys export" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key ssh-keys import" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key ssh-keys import" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key ssh-keys allowed-signers" principal' -l 'principal' -d 'The signer, as in the commits.' -rfka ''
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key ssh-keys allowed-signers" namespace' -l 'namespace' -d 'The purpose of the signatures.' -rfka ''
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key ssh-keys allowed-signers" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key ssh-keys allowed-signers" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key status" json' -l 'json' -d 'Print one JSON object on standard output.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key status" cacert' -l 'cacert' -d 'Trust these certificates (PEM) instead of the system\'s.' -rfka ''
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key status"' -l 'connect-to' -d 'Connect elsewhere, as curl does.' -rfka ''
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key status" adapter' -l 'adapter' -d 'The Bluetooth adapter.' -rfka ''
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key status" ble-channel' -l 'ble-channel' -d 'Also offer a connection over Bluetooth alone; some older phones reject such a code. (default: no)'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key status" no-ble-channel' -l 'no-ble-channel' -d 'Also offer a connection over Bluetooth alone; some older phones reject such a code. (default: no)'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key status" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key status" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key log" json' -l 'json' -d 'Print one JSON object per line.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key log" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key log" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key forget" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key forget" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key pam" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key pam" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_positional "hybrid-key pam" -eq 1' -fa 'enrol' -d 'Create a passkey for this computer on a phone and print its line for pam_u2f.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key pam enrol" user' -l 'user' -d 'The account; default: the current one.' -rfka ''
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key pam enrol" open' -l 'open' -d 'Show the code in a window or on a page in the browser, not on the terminal.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key pam enrol" timeout' -l 'timeout' -d 'Seconds to wait for a phone, and again for its user.' -rfka ''
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key pam enrol" cacert' -l 'cacert' -d 'Trust these certificates (PEM) instead of the system\'s.' -rfka ''
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key pam enrol"' -l 'connect-to' -d 'Connect elsewhere, as curl does.' -rfka ''
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key pam enrol" adapter' -l 'adapter' -d 'The Bluetooth adapter.' -rfka ''
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key pam enrol" ble-channel' -l 'ble-channel' -d 'Also offer a connection over Bluetooth alone; some older phones reject such a code. (default: no)'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key pam enrol" no-ble-channel' -l 'no-ble-channel' -d 'Also offer a connection over Bluetooth alone; some older phones reject such a code. (default: no)'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key pam enrol" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key pam enrol" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key check-config" json' -l 'json' -d 'Print one JSON array.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key check-config" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key check-config" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-key' -n '__hybrid-key_should_offer_completions_for_flags_or_options "hybrid-key help" version' -l 'version' -d 'Show the version.'
