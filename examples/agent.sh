#!/bin/sh
# A small honest agent: it counts words, and does what the message asks for to show the rest of the contract.
# Run by `resident run -- sh examples/agent.sh`, once per turn. What the caller wrote is untrusted: it is only
# ever compared, counted and quoted, never evaluated.
set -eu

text=$(resident read --text)
question=$(resident read --question)
words=$(printf '%s' "$text" | wc -w | tr -d ' ')

if [ -n "$question" ]; then
    printf 'You answered: %s\n' "$text" | resident complete -
    exit
fi

case $text in
output*)
    resident output report "{\"words\": $words}"
    resident complete "The report is recorded: $words words." ;;
reject*) resident reject "You asked me to decline, so I do." ;;
fail*) exit 1 ;;
slow*)
    seconds=$(printf '%s' "$text" | tr -cd 0-9 | cut -c 1-3)
    sleep "${seconds:-10}"
    resident complete "That took ${seconds:-10} seconds." ;;
*ask*) resident ask "What should the answer say?" ;;
*) resident complete "Your message has $words words." ;;
esac
