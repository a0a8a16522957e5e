#!/usr/bin/env bash
# Handles errors by exit code, without reading stderr:
#   exit-codes.sh TOKEN
set -uo pipefail

vault tokens get "$1" --field data
case $? in
  0) ;;
  3) echo 'gone' ;;
  4 | 5) echo 'ask for a key that may read it' >&2; exit 1 ;;
  8) echo 'the daemon does not answer' >&2; exit 1 ;;
  *) exit 1 ;;
esac
