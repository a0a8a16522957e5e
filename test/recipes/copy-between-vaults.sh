#!/usr/bin/env bash
# Copies tokens into another vault, sealed on the way. VAULT_API_KEY is a key of the target vault.
#   copy-between-vaults.sh from.db to.db
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

recipient=$(vault keygen --out "$folder/identity" --field recipient)   # the target of the tokens
vault export --file "$1" --recipient "$recipient" --out "$folder/tokens"   # their source
vault import --file "$2" "$folder/tokens" --identity "$folder/identity"
