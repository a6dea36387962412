# The agent's main loop. It runs in the container that owns a node's network namespace.
# Each line of input is "<number> <seconds> <command in base64>"; each answer is
# "<number> <exit status> <output in base64>". It prints nothing else. agent.py defines `heal` before this text.
# It heals by itself when pytest is gone: at the end of the input, or after $TTL seconds without a line.
trap 'heal; exit 0' TERM INT HUP
while :; do
  if IFS=' ' read -r -t "$TTL" number limit command; then
    output=$(timeout -k 1 "$limit" bash -c "$(printf %s "$command" | base64 -d)" 2>&1 </dev/null)
    printf '%s %s %s\n' "$number" "$?" "$(printf %s "$output" | base64 -w0)"
  else
    status=$?
    heal
    [ "$status" -gt 128 ] || exit 0 # above 128: the time was up; otherwise: end of the input
  fi
done
