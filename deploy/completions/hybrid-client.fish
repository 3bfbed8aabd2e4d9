function __hybrid-client_should_offer_completions_for_flags_or_options -a expected_commands
    set -l non_repeating_flags_or_options $argv[2..]
    set -l non_repeating_flags_or_options_absent 0
    set -l positional_index 0
    set -l commands
    __hybrid-client_parse_tokens
    test "$commands" = "$expected_commands"; and return $non_repeating_flags_or_options_absent
end

function __hybrid-client_should_offer_completions_for_positional -a expected_commands positional_index_comparison expected_positional_index
    set -l non_repeating_flags_or_options
    set -l non_repeating_flags_or_options_absent 0
    set -l positional_index 0
    set -l commands
    __hybrid-client_parse_tokens
    test "$commands" = "$expected_commands" -a \( "$positional_index" "$positional_index_comparison" "$expected_positional_index" \)
end

function __hybrid-client_parse_tokens -S
    set -l unparsed_tokens (__hybrid-client_tokens -pc)
    switch $unparsed_tokens[1]
    case 'hybrid-client'
        __hybrid-client_parse_subcommand 0 'version' 'h/help'
        switch $unparsed_tokens[1]
        case 'show-qr'
            __hybrid-client_parse_subcommand 0 'request=' 'origin=' 'top-origin=' 'qr-output=' 'open' 'print-url' 'cacert=' 'connect-to=+' 'adapter=' 'ble-channel' 'no-ble-channel' 'link' 'phone=' 'no-phones' 'json' 'timeout=' 'version' 'h/help'
        case 'present'
            __hybrid-client_parse_subcommand 0 'request=' 'origin=' 'issue' 'qr-output=' 'print-url' 'cacert=' 'connect-to=+' 'adapter=' 'ble-channel' 'no-ble-channel' 'json' 'timeout=' 'version' 'h/help'
        case 'phones'
            __hybrid-client_parse_subcommand 0 'version' 'h/help'
            switch $unparsed_tokens[1]
            case 'list'
                __hybrid-client_parse_subcommand 0 'json' 'version' 'h/help'
            case 'rename'
                __hybrid-client_parse_subcommand 2 'version' 'h/help'
            case 'forget'
                __hybrid-client_parse_subcommand 1 'version' 'h/help'
            end
        case 'doctor'
            __hybrid-client_parse_subcommand 0 'relay=' 'json' 'cacert=' 'connect-to=+' 'adapter=' 'timeout=' 'version' 'h/help'
        case 'check-config'
            __hybrid-client_parse_subcommand 0 'json' 'version' 'h/help'
        case 'help'
            __hybrid-client_parse_subcommand -r 1 'version'
        end
    end
end

function __hybrid-client_tokens
    if test (string split -m 1 -f 1 -- . "$FISH_VERSION") -gt 3
        commandline --tokens-raw $argv
    else
        commandline -o $argv
    end
end

function __hybrid-client_parse_subcommand -S -a positional_count
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

function __hybrid-client_complete_directories
    set -l token (commandline -t)
    string match -- '*/' $token
    set -l subdirs $token*/
    printf %s\n $subdirs
end

function __hybrid-client_custom_completion
    set -x SAP_SHELL fish
    set -x SAP_SHELL_VERSION $FISH_VERSION
    set -l tokens (__hybrid-client_tokens -p)
    if test -z "$(__hybrid-client_tokens -t)"
        set -l index (count (__hybrid-client_tokens -pc))
        set tokens $tokens[..$index] \'\' $tokens[(math $index + 1)..]
    end
    command $tokens[1] $argv $tokens
end

complete -c 'hybrid-client' -f
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_positional "hybrid-client" -eq 1' -fa 'show-qr' -d 'Show a code, wait for a phone, print its response.'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_positional "hybrid-client" -eq 1' -fa 'present' -d 'Show a code, and print the digital credential that a phone presents.'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_positional "hybrid-client" -eq 1' -fa 'phones' -d 'List, rename or forget linked phones.'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_positional "hybrid-client" -eq 1' -fa 'doctor' -d 'Look for what would keep a phone from signing in here.'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_positional "hybrid-client" -eq 1' -fa 'check-config' -d 'Print every setting with its value and its source.'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_positional "hybrid-client" -eq 1' -fa 'help' -d 'Show subcommand help information.'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client show-qr" request' -l 'request' -d 'The website\'s request; a dash reads standard input.' -rfka ''
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client show-qr" origin' -l 'origin' -d 'The website, such as https://example.com.' -rfka ''
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client show-qr" top-origin' -l 'top-origin' -d 'The top-level page, if the website is a frame in a page of another origin.' -rfka ''
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client show-qr" qr-output' -l 'qr-output' -d 'Write the code to an image instead of drawing it here.' -rfka ''
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client show-qr" open' -l 'open' -d 'Show the code and the progress on a page in the browser ($BROWSER, or xdg-open).'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client show-qr" print-url' -l 'print-url' -d 'Print the text of the code on a line of its own instead of drawing it.'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client show-qr" cacert' -l 'cacert' -d 'Trust these certificates (PEM) instead of the system\'s.' -rfka ''
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client show-qr"' -l 'connect-to' -d 'Connect elsewhere, as curl does.' -rfka ''
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client show-qr" adapter' -l 'adapter' -d 'The Bluetooth adapter.' -rfka ''
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client show-qr" ble-channel' -l 'ble-channel' -d 'Also offer a connection over Bluetooth alone; some older phones reject such a code. (default: no)'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client show-qr" no-ble-channel' -l 'no-ble-channel' -d 'Also offer a connection over Bluetooth alone; some older phones reject such a code. (default: no)'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client show-qr" link' -l 'link' -d 'Offer to link the phone, so that it needs no code next time.'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client show-qr" phone' -l 'phone' -d 'The linked phone to contact; default: the last used one.' -rfka ''
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client show-qr" no-phones' -l 'no-phones' -d 'Contact no linked phone.'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client show-qr" json' -l 'json' -d 'Report the progress on standard error as JSON, one object per line.'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client show-qr" timeout' -l 'timeout' -d 'Seconds to wait for a phone, and again for its user; default: the request\'s timeout, or 120.' -rfka ''
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client show-qr" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client show-qr" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client present" request' -l 'request' -d 'The website\'s request; a dash reads standard input.' -rfka ''
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client present" origin' -l 'origin' -d 'The website, such as https://example.com.' -rfka ''
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client present" issue' -l 'issue' -d 'Issue a credential to the phone\'s wallet: the request is for navigator.credentials.create().'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client present" qr-output' -l 'qr-output' -d 'Write the code to an image instead of drawing it here.' -rfka ''
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client present" print-url' -l 'print-url' -d 'Print the text of the code on a line of its own instead of drawing it.'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client present" cacert' -l 'cacert' -d 'Trust these certificates (PEM) instead of the system\'s.' -rfka ''
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client present"' -l 'connect-to' -d 'Connect elsewhere, as curl does.' -rfka ''
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client present" adapter' -l 'adapter' -d 'The Bluetooth adapter.' -rfka ''
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client present" ble-channel' -l 'ble-channel' -d 'Also offer a connection over Bluetooth alone; some older phones reject such a code. (default: no)'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client present" no-ble-channel' -l 'no-ble-channel' -d 'Also offer a connection over Bluetooth alone; some older phones reject such a code. (default: no)'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client present" json' -l 'json' -d 'Report the progress on standard error as JSON, one object per line.'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client present" timeout' -l 'timeout' -d 'Seconds to wait for a phone, and again for its user; default: 120.' -rfka ''
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client present" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client present" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client phones" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client phones" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_positional "hybrid-client phones" -eq 1' -fa 'list' -d 'List the linked phones, the last used first.'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_positional "hybrid-client phones" -eq 1' -fa 'rename' -d 'Change the name of a phone on this computer.'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_positional "hybrid-client phones" -eq 1' -fa 'forget' -d 'Remove the link of a phone from this computer.'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client phones list" json' -l 'json' -d 'Print each phone as JSON, one object per line.'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client phones list" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client phones list" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client phones rename" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client phones rename" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client phones forget" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client phones forget" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client doctor" relay' -l 'relay' -d 'A relay that must work, by number or host name.' -rfka ''
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client doctor" json' -l 'json' -d 'Print one JSON object on standard output, and each check as a line of JSON on standard error.'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client doctor" cacert' -l 'cacert' -d 'Trust these certificates (PEM) instead of the system\'s.' -rfka ''
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client doctor"' -l 'connect-to' -d 'Connect elsewhere, as curl does.' -rfka ''
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client doctor" adapter' -l 'adapter' -d 'The Bluetooth adapter.' -rfka ''
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client doctor" timeout' -l 'timeout' -d 'Time limit for all checks together, in seconds.' -rfka ''
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client doctor" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client doctor" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client check-config" json' -l 'json' -d 'Print one JSON array.'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client check-config" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client check-config" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-client' -n '__hybrid-client_should_offer_completions_for_flags_or_options "hybrid-client help" version' -l 'version' -d 'Show the version.'
