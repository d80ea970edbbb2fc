#!/usr/bin/env bash
# Runs the measurements and prints their tables. Called by `./dev bench`; SWITCHYARD_BUILD_DIR is the build folder.
#   bench/run.sh [micro] [pipeline] [store] [gateway] [streams] [-- OPTIONS OF THE SCRIPT OF A SINGLE PART]
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
build=${SWITCHYARD_BUILD_DIR:?the build folder}
parts=()
while (($#)) && [[ $1 != -- ]]; do
  parts+=("$1")
  shift
done
(($#)) && shift
((${#parts[@]})) || parts=(micro pipeline store gateway streams)

for part in "${parts[@]}"; do
  case $part in
    micro) python3 "$here/micro/table.py" "$build/bench/micro/switchyard-bench-micro" ;;
    pipeline | store)
      python3 "$here/$part/table.py" "$build/bench/$part/switchyard-bench-$part" --dir "$build" "$@"
      ;;
    gateway) python3 "$here/gateway/compare.py" --gateway "$build/examples/gateway/switchyard-gateway" "$@" ;;
    streams)
      python3 "$here/streams/compare.py" --gateway "$build/examples/gateway/switchyard-gateway" \
        --provider "$build/examples/faulty_provider/switchyard-faulty-provider" \
        --client "$build/bench/streams/switchyard-bench-streams" "$@"
      ;;
    *)
      echo "bench: no part $part; there are micro, pipeline, store, gateway and streams" >&2
      exit 2
      ;;
  esac
done
