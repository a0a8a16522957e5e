#!/usr/bin/env bash
# Runs commands against one daemon and loads the same snapshot before each:
#   back-to-a-snapshot.sh tokens.ndjson 'command' 'command' …
set -euo pipefail

ready=$(mktemp -d)/ready.json
vault serve --dev --port 0 --ready-file "$ready" >/dev/null 2>&1 &
daemon=$!
trap 'kill "$daemon" || true; wait "$daemon" || true; rm -rf "$(dirname "$ready")"' EXIT
vault wait --ready-file "$ready" --timeout 30s
eval "$(vault env --ready-file "$ready")"
dev() (eval "$(vault env --ready-file "$ready" --as management)" && vault dev "$@")

vault import "$1" >/dev/null
dev snapshot save seeded >/dev/null
shift
for test in "$@"; do
  dev snapshot load seeded --yes >/dev/null
  sh -c "$test"
done
