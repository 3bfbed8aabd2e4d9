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
        case 'air'
            __hybrid-lab_parse_subcommand -r 1 'adapters=' 'no-loopback' 'version' 'h/help'
        case 'demo'
            __hybrid-lab_parse_subcommand 0 'no-qr' 'version' 'h/help'
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
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_positional "hybrid-lab" -eq 1' -fa 'air' -d 'Run a command on a private bus with a virtual Bluetooth service.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_positional "hybrid-lab" -eq 1' -fa 'demo' -d 'A complete registration and sign-in on this machine, explained as it happens.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_positional "hybrid-lab" -eq 1' -fa 'help' -d 'Show subcommand help information.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab air" adapters' -l 'adapters' -d 'How many adapters there are, 1 to 16.' -rfka ''
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab air" no-loopback' -l 'no-loopback' -d 'An adapter does not hear its own adverts.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab air" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab air" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab demo" no-qr' -l 'no-qr' -d 'Leave the QR codes out.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab demo" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab demo" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-lab' -n '__hybrid-lab_should_offer_completions_for_flags_or_options "hybrid-lab help" version' -l 'version' -d 'Show the version.'
