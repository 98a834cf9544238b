#!/bin/sh
# How full the disk is on which a path lies. The schema lets no quote and no backslash into the
# path, so that it can be cut out of the line without a JSON parser.
set -eu
path=$(sed -n 's/.*"path" *: *"\([^"]*\)".*/\1/p')
# An assignment of its own, so that `set -e` sees when df fails; what df complains goes to the client.
report=$(df -Pk -- "$path")
printf '%s\n' "$report" | awk '
    # Names of devices and folders may hold blanks; the three numbers are found by what follows them.
    match($0, /[0-9]+ +[0-9]+ +[0-9]+ +([0-9]+%|-)/) {
        split(substr($0, RSTART, RLENGTH), kib, " +")
        percent = kib[1] > 0 ? 100 * kib[2] / kib[1] : 0
        printf "{\"total_bytes\": %.0f, \"used_bytes\": %.0f, \"free_bytes\": %.0f, \"used_percent\": %.1f}\n",
            kib[1] * 1024, kib[2] * 1024, kib[3] * 1024, percent
    }'
