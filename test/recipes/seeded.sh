#!/usr/bin/env bash
# Runs a command with a seeded vault, which has the same ids and keys on every machine:
#   seeded.sh npm test
# The command gets VAULT_URL, VAULT_API_KEY, APP_SUPPORT_KEY, TOKEN_VISA and more as variables. This script ends with its exit
# code.
exec vault exec --seed-file "$(dirname "$0")/seed.yaml" --seed 7 -- "$@"
