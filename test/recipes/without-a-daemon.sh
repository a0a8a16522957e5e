#!/usr/bin/env bash
# Uses a vault file without a daemon: stores a value and reads it masked.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/vault" "$folder/keys"
export VAULT_FILE="$folder/vault/vault.db" VAULT_KEY_FILE="$folder/keys/vault.key"

vault init --key-out "$folder/management.key" >/dev/null
vault apps create --api-key-file "$folder/management.key" --name backend --type private \
  --permission token:create --permission token:read --key-out "$folder/backend.key" >/dev/null

export VAULT_API_KEY_FILE="$folder/backend.key"
token=$(printf '123-45-6789' | vault tokens create --type social_security_number --text - --field id)
vault tokens get "$token" --field data
