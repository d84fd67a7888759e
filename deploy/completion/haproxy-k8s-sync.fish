# Completion of haproxy-k8s-sync(8) for fish.

for program in haproxy-k8s-sync haproxy-k8s-sync-as-service
    set -l none 'not __fish_seen_subcommand_from plan explain doctor release config template services apply view watch check-config copy-to completion help version'
    set -l settings '__fish_seen_subcommand_from plan explain doctor release config services check-config; and not __fish_seen_subcommand_from template help'
    set -l asking '__fish_seen_subcommand_from plan explain doctor release config template services'
    set -l config '__fish_seen_subcommand_from config; and not __fish_seen_subcommand_from plan validate apply history rollback'
    set -l file '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from plan validate apply'
    set -l template '__fish_seen_subcommand_from template'
    complete -c $program -f
    complete -c $program -n $none -a plan -d 'What would change in HAProxy, and why'
    complete -c $program -n $none -a explain -d 'Why a node is in use, draining or out'
    complete -c $program -n $none -a doctor -d 'What a sync needs, and how to fix what fails'
    complete -c $program -n $none -a release -d 'Give the backends up: live servers stay'
    complete -c $program -n '__fish_seen_subcommand_from release; and not __fish_seen_subcommand_from help' -l servers -d 'Remove all servers that are managed'
    complete -c $program -n '__fish_seen_subcommand_from release; and not __fish_seen_subcommand_from help' -l daemon -x -a 'none http://127.0.0.1:8080' -d 'The running daemon'
    complete -c $program -n '__fish_seen_subcommand_from release; and not __fish_seen_subcommand_from help' -l yes -d 'Do it'
    complete -c $program -n $none -a check-config -d 'The settings in effect, and what is wrong with them'
    complete -c $program -n $none -a copy-to -d 'This program with its libraries, into a folder'
    complete -c $program -n '__fish_seen_subcommand_from copy-to' -F
    complete -c $program -n $none -a completion -d 'This, for a shell'
    complete -c $program -n '__fish_seen_subcommand_from completion; and not __fish_seen_subcommand_from bash zsh fish help' -a 'bash zsh fish'
    complete -c $program -n $none -a config -d 'A whole haproxy.cfg'
    complete -c $program -n $config -a plan -d 'What it would change in each HAProxy, and what that costs'
    complete -c $program -n $config -a validate -d 'What each HAProxy says of it'
    complete -c $program -n $config -a apply -d 'Write, load and verify it'
    complete -c $program -n $config -a history -d 'Those that ran'
    complete -c $program -n $config -a rollback -d 'Back to one of them'
    complete -c $program -n $file -F
    complete -c $program -n $none -a template -d 'A template set, without a cluster'
    complete -c $program -n "$template; and not __fish_seen_subcommand_from render test validate diff benchmark schema" -a 'render test validate diff benchmark schema'
    complete -c $program -n "$template; and __fish_seen_subcommand_from render test validate diff benchmark" -F
    complete -c $program -n $template -s o -l output -x -a 'text json' -d 'Output format'
    complete -c $program -n "$template; and __fish_seen_subcommand_from test" -s o -l output -x -a junit
    complete -c $program -n $template -l test -x -d 'This test alone'
    complete -c $program -n "$template; and __fish_seen_subcommand_from diff" -l against -r -d 'What to compare with'
    complete -c $program -n "$template; and __fish_seen_subcommand_from benchmark" -l count -x -d Renders
    complete -c $program -n $none -a services -d 'What is made of annotated Services'
    complete -c $program -n '__fish_seen_subcommand_from services; and not __fish_seen_subcommand_from view explain' -a 'view explain'
    complete -c $program -n $none -a apply -d 'Annotated Services to etcd, once'
    complete -c $program -n $none -a view -d 'The same, printed'
    complete -c $program -n $none -a watch -d 'The same, from now on'
    complete -c $program -n $none -a help -d 'The usual commands, or all about one'
    complete -c $program -n $none -a version -d 'The version'
    complete -c $program -n '__fish_seen_subcommand_from help; and not __fish_seen_subcommand_from all settings plan explain doctor release config template services apply view watch check-config copy-to completion' -a 'all settings plan explain doctor release config template services apply view watch check-config copy-to completion'
    complete -c $program -n '__fish_seen_subcommand_from check-config; and not __fish_seen_subcommand_from help' -l changed -d 'Those alone that differ from their defaults'
    complete -c $program -n "$none; or $settings" -l kubeconfig -r -F -d 'How to reach the Kubernetes API'
    complete -c $program -n "$none; or $settings" -l dry-run -d 'Leave HAProxy unchanged'
    complete -c $program -n "$none; or $settings" -l log-level -x -a 'debug info warn error' -d 'Lowest level that is logged'
    complete -c $program -n $none -s V -l version -d 'The version'
    complete -c $program -n "$none; or $asking; or $settings" -s h -l help -d 'The usual commands and flags'
    complete -c $program -n '__fish_seen_subcommand_from plan; and not __fish_seen_subcommand_from config' -l daemon -x -a none -d 'The running daemon whose memory is used'
    complete -c $program -n '__fish_seen_subcommand_from plan explain doctor release config services check-config version; and not __fish_seen_subcommand_from template help' -s o -l output -x -a 'text json' -d 'Output format'
    complete -c $program -n '__fish_seen_subcommand_from plan explain; and not __fish_seen_subcommand_from config services help' -l watch -d 'Again whenever it changed'
    complete -c $program -n $asking -l color -x -a 'auto always never' -d Colours
    complete -c $program -n $asking -l timeout -x -a '10s 30s 1m 5m' -d 'How long to wait for all answers'
end
