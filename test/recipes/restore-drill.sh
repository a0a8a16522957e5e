#!/usr/bin/env bash
# restore-drill.sh BACKUPS KEY_FILE: restores the newest backup into a temporary folder, and uses the copy.
set -euo pipefail
export VAULT_KEY_FILE=$2
unset VAULT_URL VAULT_STORE VAULT_API_KEY VAULT_API_KEY_FILE VAULT_KEY_COMMAND VAULT_PASSPHRASE_FILE
newest=$(ls "$1"/vault-*.db | tail -n 1)
[ -n "$(find "$newest" -mmin -1560)" ] || { echo "$newest is older than 26 hours" >&2; exit 1; }

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export VAULT_FILE=$folder/vault.db
tokens=$(vault restore "$newest" --field checked.tokens)
for tenant in $(vault tenant list -q); do
  # This key works only in the copy.
  vault tenant issue-key --tenant "$tenant" --key-out "$folder/$tenant.key" -q > /dev/null
  vault usage --api-key-file "$folder/$tenant.key" > /dev/null
done
echo "$newest: restored, $tokens tokens"
