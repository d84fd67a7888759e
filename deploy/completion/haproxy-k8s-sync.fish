# Completion of haproxy-k8s-sync(8) for fish.

for program in haproxy-k8s-sync haproxy-k8s-sync-as-service
    set -l none 'not __fish_seen_subcommand_from plan explain doctor check-config'
    set -l asking '__fish_seen_subcommand_from plan explain doctor'
    complete -c $program -f
    complete -c $program -n $none -a plan -d 'What would be changed in HAProxy, and why'
    complete -c $program -n $none -a explain -d 'Why a node is in use, draining or out'
    complete -c $program -n $none -a doctor -d 'Everything between here and a working sync, and how to mend it'
    complete -c $program -n $none -a check-config -d 'The settings in effect, and what is wrong with them'
    complete -c $program -n $none -s V -l version -d 'The version'
    complete -c $program -n "$none; or $asking" -s h -l help -d 'The commands and all settings'
    complete -c $program -n '__fish_seen_subcommand_from plan doctor' -s o -l output -x -a 'text json' -d 'The form of what is printed'
    complete -c $program -n $asking -l color -x -a 'auto always never' -d Colours
    complete -c $program -n $asking -l timeout -x -a '10s 30s 1m 5m' -d 'How long is waited for all answers'
end
