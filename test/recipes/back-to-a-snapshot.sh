#!/usr/bin/env bash
# Runs commands against one daemon and loads the same snapshot before each:
#   back-to-a-snapshot.sh tokens.ndjson 'command' 'command' …
set -euo pipefail

folder=$(mktemp -d)
file="$folder/vault.db"
vault serve --dev --file "$file" --port 0 --ready-file "$folder/ready.json" >/dev/null 2>&1 &
daemon=$!
trap 'kill "$daemon" || true; wait "$daemon" || true; rm -rf "$folder"' EXIT
vault wait --ready-file "$folder/ready.json" --timeout 30s
eval "$(vault env --ready-file "$folder/ready.json")"

vault import "$1" >/dev/null
vault snapshot save seeded --file "$file" >/dev/null
shift
for test in "$@"; do
  vault snapshot load seeded --yes --file "$file" >/dev/null
  sh -c "$test"
done
