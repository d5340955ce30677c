#!/usr/bin/env bash
# Prints the C++ of the README and of docs/extending.md as one program: the ```cpp blocks in order, #include lines
# first, types before main, everything else inside. examples/consumer/main.cpp is this output; a test compares the two:
#   scripts/readme_program.sh README.md docs/extending.md > examples/consumer/main.cpp
set -euo pipefail
awk '
  /^```cpp$/ { inside = 1; block = ""; is_type = -1; next }
  /^```$/ && inside {
    inside = 0
    sub(/^\n+/, "", block)
    if (is_type == 1) types = types block "\n"
    else body = body (body == "" ? "" : "\n") block
    next
  }
  inside && /^#include/ { includes = includes $0 "\n"; next }
  inside {
    if (is_type < 0 && $0 != "") is_type = $0 ~ /^(struct|class) /
    block = block $0 "\n"
  }
  END {
    print "// The C++ of README.md and docs/extending.md as one program, printed by scripts/readme_program.sh."
    printf "%s\n%sint main() {\n", includes, types
    n = split(body, line, "\n")
    for (k = 1; k < n; ++k) print (line[k] == "" ? "" : "  " line[k])
    print "}"
  }
' "$@"
