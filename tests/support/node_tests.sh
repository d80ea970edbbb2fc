# shellcheck shell=bash
# What tests/clients/run and tests/dashboard/run share; they source this file. They set `here`, their folder, and `export`
# what their tests need besides. Exit status: 0 all passed, 1 some failed, 2 could not run.

fail() {
  printf '%s: %s\n' "tests/$(basename -- "$here")/run" "$@" >&2
  exit 2
}

# Takes the command line into gateway, provider, packages, filter and counts.
take_arguments() {
  local usage='run --gateway PROGRAM --provider PROGRAM --packages FOLDER [--filter REGEX] [--counts FILE]'
  gateway='' provider='' packages='' filter='' counts=/dev/null
  while (($#)); do
    (($# > 1)) || fail "usage: $usage"
    case $1 in
    --gateway) gateway=$2 ;;
    --provider) provider=$2 ;;
    --packages) packages=$2 ;; # where the libraries are installed
    --filter) filter=$2 ;;     # only tests whose name matches
    --counts) counts=$2 ;;     # gets `PASSED FAILED`
    *) fail "usage: $usage" ;;
    esac
    shift 2
  done
  [[ -x $gateway && -x $provider && -n $packages ]] || fail "usage: $usage"
}

need_node() {
  local command
  for command in node npm; do
    command -v "$command" >/dev/null || fail "node and npm are needed; ./dev setup installs them"
  done
  node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 18 || (a === 18 && b >= 19) ? 0 : 1)' ||
    fail "Node 18.19 or newer is needed; this is $(node --version)"
}

# Installs what the lock file says, unless that was done before.
install_packages() {
  local files=(package.json package-lock.json .npmrc) stamp="$packages/installed" wanted
  wanted=$(cd "$here" && sha256sum "${files[@]}")
  if [[ -f $stamp && $(<"$stamp") == "$wanted" ]]; then return; fi
  mkdir -p "$packages"
  rm -f "$stamp"
  (cd "$here" && cp "${files[@]}" "$packages/")
  (cd "$packages" && npm ci --ignore-scripts --prefer-offline --no-audit --no-fund --loglevel=error) >&2 || return
  printf '%s\n' "$wanted" >"$stamp"
}

# run_node_tests CONCURRENCY: all *.test.mjs of the folder; writes the counts.
run_node_tests() {
  packages=$(cd -- "$packages" && pwd -P)
  export SWITCHYARD_CLIENT_PACKAGES=$packages SWITCHYARD_FAULTY_PROVIDER SWITCHYARD_GATEWAY
  SWITCHYARD_GATEWAY=$(realpath -- "$gateway")
  SWITCHYARD_FAULTY_PROVIDER=$(realpath -- "$provider")
  unset NODE_OPTIONS

  local report=$packages/report.tap status=0 passed failed
  local command=(node --test "--test-concurrency=$1" --test-reporter=spec --test-reporter-destination=stdout
    --test-reporter=tap "--test-reporter-destination=$report")
  [[ -z $filter ]] || command+=("--test-name-pattern=$filter")
  "${command[@]}" "$here"/*.test.mjs </dev/null || status=$?
  passed=$(count "$report" pass) failed=$(($(count "$report" fail) + $(count "$report" cancelled)))
  ((passed + failed > 0)) || fail "no test ran$([[ -z $filter ]] || echo ": none matches '$filter'")"
  ((status == 0 || failed > 0)) || fail "node ended with status $status"
  echo "$passed $failed" >"$counts"
  ((failed == 0))
}

# count REPORT WHAT: from the report's last lines.
count() { sed -nE "s/^# $2 ([0-9]+)\$/\1/p" "$1" | tail -n 1 | grep . || echo 0; }
