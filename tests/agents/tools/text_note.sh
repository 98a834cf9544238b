#!/bin/sh
# Notes a text, and in the journal that it ran. The schema lets nothing into the text that would need
# a JSON parser.
set -eu
text=$(sed -n 's/.*"text" *: *"\([a-z ]*\)".*/\1/p')
printf '{"server":"script","tool":"text.note"}\n' >>"$JOURNAL"
printf '{"noted": "%s"}\n' "$text"
