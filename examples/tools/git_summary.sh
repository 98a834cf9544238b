#!/bin/sh
# The state of a git repository. The schema lets no quote and no backslash into the path, so that
# it can be cut out of the line without a JSON parser.
set -eu
folder=$(sed -n 's/.*"repository" *: *"\([^"]*\)".*/\1/p')
# Asking must not write: not even the lock that refreshes the index.
export GIT_OPTIONAL_LOCKS=0
state=$(git -C "$folder" status --porcelain=v2 --branch)
# A branch without commits has no last one.
subject=$(git -C "$folder" log -1 --format=%s 2>/dev/null || true)
{ printf '%s\n' "$subject"; printf '%s\n' "$state"; } | awk '
    function quoted(text) {
        gsub(/[[:cntrl:]]/, " ", text)
        gsub(/["\\]/, "\\\\&", text)
        return "\"" text "\""
    }
    NR == 1 { subject = $0; next }
    $2 == "branch.oid" { commit = $3 }
    $2 == "branch.head" { branch = $3 }
    $2 == "branch.ab" { ahead = $3; behind = -$4 }
    /^[12u] / { changed++ }
    /^\? / { untracked++ }
    END {
        printf "{\"branch\": %s, \"commit\": %s, \"subject\": %s, ", quoted(branch), quoted(commit), quoted(subject)
        printf "\"ahead\": %d, \"behind\": %d, \"changed\": %d, \"untracked\": %d}\n", ahead, behind, changed, untracked
    }'
