#!/usr/bin/env bash
# Tokens of one vault into another, sealed on the way: copy-between-vaults.sh from.db to.db. The API key is one of `to`.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

recipient=$(vault keygen --out "$folder/secret" --field recipient)   # where the tokens go to
vault export --file "$1" --recipient "$recipient" --out "$folder/tokens"   # where they come from
vault import --file "$2" "$folder/tokens" --identity "$folder/secret"
