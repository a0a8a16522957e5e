#!/usr/bin/env bash
# Starts a vault, stores a card, runs a command and stops the vault:
#   with-a-daemon.sh npm test
# The command gets VAULT_URL, VAULT_API_KEY and CARD_TOKEN as variables. This script ends with its exit code.
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
