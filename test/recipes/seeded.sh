#!/usr/bin/env bash
# A seeded vault for the time of a command, with the same ids and keys on every machine:
#   seeded.sh npm test
# The command finds VAULT_URL, VAULT_API_KEY, APP_SUPPORT_KEY, TOKEN_VISA and the others in its environment; this script ends
# with its exit code.
exec vault exec --seed-file "$(dirname "$0")/seed.yaml" --seed 7 -- "$@"
