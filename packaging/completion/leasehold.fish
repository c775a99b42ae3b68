# Completion of leasehold for fish. What there is to complete comes from the program's own help, so it never differs.

# The words so far, `leasehold` first, and then the one that is being written.
function __leasehold_words
    commandline -opc
end

function __leasehold_at -a position
    test (count (__leasehold_words)) -eq $position
end

function __leasehold_commands
    leasehold --help | string replace -rf '^  ([a-z]+) +(.*)' '$1\t$2'
end

function __leasehold_options
    set -l words (__leasehold_words)
    set -l help (leasehold $words[2] --help 2>/dev/null)
    set -l described --help (string replace -rf '^  (--?[A-Za-z-]+)( [^ ]+)?  +(.*)' '$1\t$3' -- $help)
    string join \n -- $described
    # Those that stand in the usage only.
    for option in (string replace -a -r '`[^`]*`' '' -- $help | string match -ar '[(\[|] ?--?[A-Za-z][A-Za-z-]*' | string trim -c ' ([|')
        string match -q -- "$option*" $described; or echo $option
    end
end

# Without a daemon there are none.
function __leasehold_names
    leasehold list --json --timeout 1s --prefix (commandline -ct) 2>/dev/null | string match -ar '"name":"[^"\\\\]+"' | string split -f 4 '"'
end

# Behind `run NAME --` is the command that is run, with words of its own.
function __leasehold_runs
    set -l words (__leasehold_words)
    test "$words[2]" = run; and contains -- -- $words
end

function __leasehold_run_command
    set -l words (__leasehold_words)
    set -l dashes (contains -i -- -- $words)
    complete -C (string join ' ' -- (string escape -- $words[(math $dashes + 1)..]) (commandline -ct))
end

complete -c leasehold -n '__leasehold_at 1' -f -a '(__leasehold_commands)'
complete -c leasehold -n '__leasehold_at 2; and contains help (__leasehold_words)' -f -a '(__leasehold_commands)'
complete -c leasehold -n '__leasehold_at 2; and contains (__leasehold_words)[2] run get watch renew release revoke acquire' -f -a '(__leasehold_names)'
complete -c leasehold -n 'not __leasehold_at 1; and not __leasehold_runs; and string match -q -- "-*" (commandline -ct)' -f -a '(__leasehold_options)'
complete -c leasehold -n __leasehold_runs -f -a '(__leasehold_run_command)'
