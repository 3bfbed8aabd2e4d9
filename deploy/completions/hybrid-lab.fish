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
            __hybrid-lab_parse_subcommand 0 'no-qr' 'version' 'h/help'
        case 'run'
            __hybrid-lab_parse_subcommand -r 1 'adapters=' 'tunnel-domain=' 'relay-port=' 'version' 'h/help'
        case 'up'
            __hybrid-lab_parse_subcommand 0 'adapters=' 'tunnel-domain=' 'relay-port=' 'json' 'env-file=' 'version' 'h/help'
        case 'phone'
            __hybrid-lab_parse_subcommand 1 'script=+' 'url=' 'image=' 'screen' 'display=' 'ceremonies=' 'passkeys=' 'tunnel-domain=' 'cacert=' 'connect-to=' 'adapter=' 'json' 'timeout=' 'version' 'h/help'
        case 'air'
            __hybrid-lab_parse_subcommand -r 1 'adapters=' 'no-loopback' 'version' 'h/help'
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
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_positional "hybrid-lab" -eq 1' -fa 'demo' -d 'A complete registration and sign-in on this machine, explained as it happens.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_positional "hybrid-lab" -eq 1' -fa 'run' -d 'Run a command beside a virtual radio and a relay, and clear up when it ends.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_positional "hybrid-lab" -eq 1' -fa 'up' -d 'Set up a virtual radio and a relay for browsers and phones that are started beside it.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_positional "hybrid-lab" -eq 1' -fa 'phone' -d 'Answer sign-in codes by a script, for tests.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_positional "hybrid-lab" -eq 1' -fa 'air' -d 'Run a command on a private bus with a virtual Bluetooth service.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_positional "hybrid-lab" -eq 1' -fa 'help' -d 'Show subcommand help information.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab demo" no-qr' -l 'no-qr' -d 'Leave the QR codes out.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab demo" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab demo" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab run" adapters' -l 'adapters' -d 'How many Bluetooth adapters there are, 2 to 16: hci0 for the desktop, hci1 for the phone.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab run" tunnel-domain' -l 'tunnel-domain' -d 'The relay\'s tunnel domain; its host name follows from it.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab run" relay-port' -l 'relay-port' -d 'The relay\'s port on 127.0.0.1; a free one if it is not named.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab run" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab run" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab up" adapters' -l 'adapters' -d 'How many Bluetooth adapters there are, 2 to 16: hci0 for the desktop, hci1 for the phone.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab up" tunnel-domain' -l 'tunnel-domain' -d 'The relay\'s tunnel domain; its host name follows from it.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab up" relay-port' -l 'relay-port' -d 'The relay\'s port on 127.0.0.1; a free one if it is not named.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab up" json' -l 'json' -d 'Print what programs need as JSON.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab up" env-file' -l 'env-file' -d 'Write the lines for a shell to this file as well.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab up" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab up" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab phone"' -l 'script' -d 'What it does; approve if none is given.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab phone" url' -l 'url' -d 'The text of the code.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab phone" image' -l 'image' -d 'A picture of the code, PNG or JPEG.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab phone" screen' -l 'screen' -d 'Watch the screen of an X server (Xvfb, for instance) until it shows a code.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab phone" display' -l 'display' -d 'The X server, as in $DISPLAY, which names it otherwise.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab phone" ceremonies' -l 'ceremonies' -d 'How many codes to answer, 0 for as many as come until Ctrl-C; as many as there are scripts otherwise.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab phone" passkeys' -l 'passkeys' -d 'Keep the passkeys in this file, in clear; otherwise they go with it.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab phone" tunnel-domain' -l 'tunnel-domain' -d 'The relay; HYBRID_LAB_TUNNEL_DOMAIN names it otherwise.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab phone" cacert' -l 'cacert' -d 'Trust these certificates (PEM); HYBRID_LAB_CACERT names them otherwise.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab phone" connect-to' -l 'connect-to' -d 'Connect elsewhere, as curl does; HYBRID_LAB_CONNECT_TO says so otherwise.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab phone" adapter' -l 'adapter' -d 'The Bluetooth adapter.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab phone" json' -l 'json' -d 'Tell on standard output what it sees and does, as JSON, one object a line.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab phone" timeout' -l 'timeout' -d 'How long to wait for a code, and then for the desktop, in seconds.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab phone" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab phone" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab air" adapters' -l 'adapters' -d 'How many adapters there are, 1 to 16.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab air" no-loopback' -l 'no-loopback' -d 'An adapter does not hear its own adverts.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab air" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab air" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab help" version' -l 'version' -d 'Show the version.'
