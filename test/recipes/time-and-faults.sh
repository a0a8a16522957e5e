#!/usr/bin/env bash
# Simulates a token that expires tomorrow, and a daemon that is busy twice.
set -euo pipefail

ready=$(mktemp -d)/ready.json
vault serve --dev --port 0 --ready-file "$ready" >/dev/null &
daemon=$!
trap 'kill "$daemon" || true; wait "$daemon" || true; rm -rf "$(dirname "$ready")"' EXIT
vault wait --ready-file "$ready"
eval "$(vault env --ready-file "$ready")"
dev() (eval "$(vault env --ready-file "$ready" --as management)" && vault dev "$@")

dev clock set 2030-01-31T12:00:00Z >/dev/null
token=$(vault tokens create --type token --text pin --expires-at 2030-02-01 --field id)
dev clock advance 25h --field removed
vault tokens get "$token" 2>/dev/null || [ $? = 3 ]

dev faults set 'POST /tokens' --status 429 --times 2 >/dev/null
tries=1
until vault tokens create --type token --text pin >/dev/null 2>&1; do
  [ $((tries += 1)) -le 5 ]
done
echo "$tries"
