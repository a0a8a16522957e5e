#!/usr/bin/env bash
# Copies tokens into another vault, sealed on the way. VAULT_API_KEY is a key of the target vault.
#   copy-between-vaults.sh from.db to.db
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

recipient=$(vault keygen --out "$folder/secret" --field recipient)   # where the tokens go to
vault export --file "$1" --recipient "$recipient" --out "$folder/tokens"   # where they come from
vault import --file "$2" "$folder/tokens" --identity "$folder/secret"
