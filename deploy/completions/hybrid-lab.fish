function __hybrid-lab_should_offer_completions_for_flags_or_options -a expected_commands
    set -l non_repeating_flags_or_options $argv[2..]
    set -l non_repeating_flags_or_options_absent 0
    set -l positional_index 0
    set -l commands
    __hybrid-lab_parse_tokens
    test "$commands" = "$expected_commands"; and return $non_repeating_flags_or_options_absent
end

function __hybrid-lab_should_offer_completions_for_positional -a expected_commands positional_index_comparison expected_positional_index
    set -l non_repeating_flags_or_options
    set -l non_repeating_flags_or_options_absent 0
    set -l positional_index 0
    set -l commands
    __hybrid-lab_parse_tokens
    test "$commands" = "$expected_commands" -a \( "$positional_index" "$positional_index_comparison" "$expected_positional_index" \)
end

function __hybrid-lab_parse_tokens -S
    set -l unparsed_tokens (__hybrid-lab_tokens -pc)
    switch $unparsed_tokens[1]
    case 'hybrid-lab'
        __hybrid-lab_parse_subcommand 0 'version' 'h/help'
        switch $unparsed_tokens[1]
        case 'demo'
            __hybrid-lab_parse_subcommand 0 'no-qr' 'linked' 'version' 'h/help'
        case 'run'
            __hybrid-lab_parse_subcommand -r 1 'adapters=' 'tunnel-domain=' 'relay-port=' 'version' 'h/help'
        case 'up'
            __hybrid-lab_parse_subcommand 0 'adapters=' 'tunnel-domain=' 'relay-port=' 'json' 'env-file=' 'version' 'h/help'
        case 'phone'
            __hybrid-lab_parse_subcommand 1 'script=+' 'url=' 'image=' 'screen' 'woken' 'links=' 'display=' 'ceremonies=' 'passkeys=' 'tunnel-domain=' 'cacert=' 'connect-to=' 'adapter=' 'json' 'timeout=' 'version' 'h/help'
        case 'air'
            __hybrid-lab_parse_subcommand -r 1 'adapters=' 'no-loopback' 'version' 'h/help'
        case 'shiny'
            __hybrid-lab_parse_subcommand 0 'adapters=' 'tunnel-domain=' 'relay-port=' 'browser' 'phone=' 'pinentry=' 'program=' 'json' 'version' 'h/help'
        case 'help'
            __hybrid-lab_parse_subcommand -r 1 'version'
        end
    end
end

function __hybrid-lab_tokens
    if test (string split -m 1 -f 1 -- . "$FISH_VERSION") -gt 3
        commandline --tokens-raw $argv
    else
        commandline -o $argv
    end
end

function __hybrid-lab_parse_subcommand -S -a positional_count
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

function __hybrid-lab_complete_directories
    set -l token (commandline -t)
    string match -- '*/' $token
    set -l subdirs $token*/
    printf %s\n $subdirs
end

function __hybrid-lab_custom_completion
    set -x SAP_SHELL fish
    set -x SAP_SHELL_VERSION $FISH_VERSION
    set -l tokens (__hybrid-lab_tokens -p)
    if test -z "$(__hybrid-lab_tokens -t)"
        set -l index (count (__hybrid-lab_tokens -pc))
        set tokens $tokens[..$index] \'\' $tokens[(math $index + 1)..]
    end
    command $tokens[1] $argv $tokens
end

complete -c 'hybrid-lab' -f
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_positional "hybrid-lab" -eq 1' -fa 'demo' -d 'Show a complete registration and sign-in on this computer, explained step by step.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_positional "hybrid-lab" -eq 1' -fa 'run' -d 'Run a command with a virtual radio and a relay, and clean up when it ends.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_positional "hybrid-lab" -eq 1' -fa 'up' -d 'Set up a virtual radio and a relay for browsers and phones that are started separately.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_positional "hybrid-lab" -eq 1' -fa 'phone' -d 'Answer sign-in codes as a script says, for tests.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_positional "hybrid-lab" -eq 1' -fa 'air' -d 'Run a command on a private bus with a virtual Bluetooth service.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_positional "hybrid-lab" -eq 1' -fa 'shiny' -d 'Serve a demo site for passkeys, and open it in Chromium with a phone that asks you.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_positional "hybrid-lab" -eq 1' -fa 'help' -d 'Show subcommand help information.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab demo" no-qr' -l 'no-qr' -d 'Do not show the QR codes.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab demo" linked' -l 'linked' -d 'Also link the phone, and sign in three times without a code.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab demo" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab demo" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab run" adapters' -l 'adapters' -d 'The number of Bluetooth adapters, 2 to 16: hci0 for the client, hci1 for the phone.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab run" tunnel-domain' -l 'tunnel-domain' -d 'The relay\'s tunnel domain; its host name follows from it.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab run" relay-port' -l 'relay-port' -d 'The relay\'s port on 127.0.0.1; by default a free one.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab run" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab run" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab up" adapters' -l 'adapters' -d 'The number of Bluetooth adapters, 2 to 16: hci0 for the client, hci1 for the phone.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab up" tunnel-domain' -l 'tunnel-domain' -d 'The relay\'s tunnel domain; its host name follows from it.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab up" relay-port' -l 'relay-port' -d 'The relay\'s port on 127.0.0.1; by default a free one.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab up" json' -l 'json' -d 'Print the settings as JSON.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab up" env-file' -l 'env-file' -d 'Also write the lines for a shell to this file.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab up" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab up" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab phone"' -l 'script' -d 'The script of a ceremony; the default is approve.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab phone" url' -l 'url' -d 'The text of the code.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab phone" image' -l 'image' -d 'A PNG or JPEG picture of the code.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab phone" screen' -l 'screen' -d 'Watch the screen of an X server (Xvfb, for instance) until it shows a code.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab phone" woken' -l 'woken' -d 'Wait for linked clients instead of a code.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab phone" links' -l 'links' -d 'Keep links with clients in this folder.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab phone" display' -l 'display' -d 'The X server; the default is $DISPLAY.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab phone" ceremonies' -l 'ceremonies' -d 'The number of codes to answer, or 0 for all until Ctrl-C; the default is the number of scripts.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab phone" passkeys' -l 'passkeys' -d 'Keep the passkeys in this file, unencrypted, for the next run.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab phone" tunnel-domain' -l 'tunnel-domain' -d 'The relay; the default is HYBRID_LAB_TUNNEL_DOMAIN.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab phone" cacert' -l 'cacert' -d 'Trust these PEM certificates; the default is HYBRID_LAB_CACERT.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab phone" connect-to' -l 'connect-to' -d 'Connect to another address, as in curl; the default is HYBRID_LAB_CONNECT_TO.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab phone" adapter' -l 'adapter' -d 'The Bluetooth adapter.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab phone" json' -l 'json' -d 'Report the events on standard output as JSON, one object per line.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab phone" timeout' -l 'timeout' -d 'The time to wait for a code, and then for the client, in seconds.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab phone" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab phone" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab air" adapters' -l 'adapters' -d 'The number of adapters, 1 to 16.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab air" no-loopback' -l 'no-loopback' -d 'Adapters do not receive their own adverts.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab air" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab air" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab shiny" adapters' -l 'adapters' -d 'The number of Bluetooth adapters, 2 to 16: hci0 for the client, hci1 for the phone.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab shiny" tunnel-domain' -l 'tunnel-domain' -d 'The relay\'s tunnel domain; its host name follows from it.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab shiny" relay-port' -l 'relay-port' -d 'The relay\'s port on 127.0.0.1; by default a free one.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab shiny" browser' -l 'browser' -d 'Open the site in Chromium, with a phone.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab shiny" phone' -l 'phone' -d 'With --browser: keep the phone\'s passkeys in this folder.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab shiny" pinentry' -l 'pinentry' -d 'With --browser: the program that asks for the phone.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab shiny" program' -l 'program' -d 'The program hybrid-shiny, if it is elsewhere.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab shiny" json' -l 'json' -d 'Print the settings as JSON.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab shiny" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab shiny" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab help" version' -l 'version' -d 'Show the version.'
