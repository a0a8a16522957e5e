#!/usr/bin/env bash
# A vault for the time of a command: start, wait, seed, run, stop.
#   with-a-daemon.sh npm test
# The command finds VAULT_URL, VAULT_API_KEY and CARD_TOKEN in its environment; this script ends with its exit code.
set -euo pipefail

ready=$(mktemp -d)/ready.json
vault serve --dev --port 0 --ready-file "$ready" >/dev/null &
daemon=$!
trap 'kill "$daemon" || true; wait "$daemon" || true; rm -rf "$(dirname "$ready")"' EXIT

vault wait --ready-file "$ready" --timeout 30s
eval "$(vault env --ready-file "$ready")"

CARD_TOKEN=$(vault tokens create --type card --data - --field id <<<'{"number":"4242424242424242"}')
export CARD_TOKEN

"$@"
