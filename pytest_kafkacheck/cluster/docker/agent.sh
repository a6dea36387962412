# Runs in the container that owns a node's network namespace. Each line of input is
# "<number> <seconds> <command in base64>"; each answer "<number> <exit status> <output in base64>".
# It says nothing else. `heal` is put before this text, see agent.py. Heals by itself when its master falls silent: end of input, or no line for $TTL seconds.
trap 'heal; exit 0' TERM INT HUP
while :; do
  if IFS=' ' read -r -t "$TTL" number limit command; then
    output=$(timeout -k 1 "$limit" bash -c "$(printf %s "$command" | base64 -d)" 2>&1 </dev/null)
    printf '%s %s %s\n' "$number" "$?" "$(printf %s "$output" | base64 -w0)"
  else
    status=$?
    heal
    [ "$status" -gt 128 ] || exit 0
  fi
done
