#!/bin/sh
# Squares a whole number. What it takes and gives is in module_tool.tool.json.
set -eu

# One line of JSON comes in: {"arguments": {"number": 12}}
read -r request

# The schema has made sure that `number` is there and is a whole number, so this is enough. For
# texts, which may hold anything, use jq: text=$(printf '%s' "$request" | jq -r .arguments.text)
number=$(printf '%s' "$request" | sed -n 's/.*"number": *\(-\{0,1\}[0-9]*\).*/\1/p')

# Anything on standard error is for people; it is shown when the tool fails.
echo "squaring $number" >&2

# One line of JSON goes out.
printf '{"square": %d}\n' "$((number * number))"
