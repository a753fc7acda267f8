#!/bin/sh
# Usage: fuzz.sh FOLDER ARGUMENT...
# Runs each fuzz target in FOLDER with libFuzzer's ARGUMENTs (-max_total_time=SECONDS, -runs=NUMBER). Seeds come from
# core/tests/corpus/NAME; new inputs that reach new code stay in build/corpus/NAME. An input that crashes, hangs or
# allocates without bound is kept as build/corpus/NAME-crash-* (-timeout-*, -oom-*); `TARGET FILE` runs it again.
set -eu
folder=$1
shift
ran=0
for target in "$folder"/fuzz_*; do
  [ -x "$target" ] && [ -f "$target" ] || continue
  name=$(basename "$target")
  mkdir -p "build/corpus/$name"
  seeds=
  [ ! -d "core/tests/corpus/$name" ] || seeds="core/tests/corpus/$name"
  echo "fuzz: $name"
  # shellcheck disable=SC2086  # empty or one word
  "$target" "$@" -timeout=25 -rss_limit_mb=1024 -malloc_limit_mb=512 -print_final_stats=1 -print_funcs=0 \
    -verbosity=0 -artifact_prefix="build/corpus/$name-" "build/corpus/$name" $seeds
  ran=$((ran + 1))
done
if [ "$ran" = 0 ]; then
  echo "fuzz: no fuzz target in $folder" >&2
  exit 1
fi
echo "fuzz: $ran targets, no findings"
