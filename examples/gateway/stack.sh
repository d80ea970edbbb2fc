# shellcheck shell=bash
# The gateway in front of two fake providers, for `./dev run`, which sources this file.
# Everything it starts is a child of this shell and listens on loopback; data lives in a temporary folder.

stack_templates=$(dirname -- "${BASH_SOURCE[0]}")
stack_folder='' # temporary: logs, configuration, data
stack_pids=()   # what was started, the latest last

# run_stack GATEWAY PROVIDER [GATEWAY_ARGUMENT...]: until a signal, or until the gateway ends by itself.
run_stack() {
  local gateway=$1 provider=$2
  shift 2
  trap stop_stack EXIT
  trap 'exit 0' INT TERM HUP
  stack_folder=$(mktemp -d "${TMPDIR:-/tmp}/switchyard-run.XXXXXX")

  # One that errs now and then, and a slower one that does not.
  local primary backup
  start_provider primary "$provider" '{
  "latency": { "distribution": "lognormal", "mean": "150ms" },
  "errors": [ { "status": 500, "rate": 0.1 } ]
}'
  primary=$(ready_value primary provider) || not_ready primary
  start_provider backup "$provider" '{ "latency": { "distribution": "lognormal", "mean": "300ms" } }'
  backup=$(ready_value backup provider) || not_ready backup

  local configuration
  configuration=$(<"$stack_templates/demo.json.in")
  configuration=${configuration//@PRIMARY@/"$primary"}
  configuration=${configuration//@BACKUP@/"$backup"}
  printf '%s\n' "$configuration" >"$stack_folder/demo.json"

  start_in_stack gateway "$gateway" --config "$stack_folder/demo.json" --data-dir "$stack_folder/data" \
    --listen "127.0.0.1:$(free_port 8080)" --admin "127.0.0.1:$(free_port 9090)" "$@"
  local plane admin
  plane=$(ready_value gateway gateway) || { end_without_service && return; }
  admin=$(ready_value gateway admin)
  print_stack "$plane" "$admin" "$primary" "$backup"

  local status=0
  wait "${stack_pids[-1]}" || status=$?
  echo "the gateway ended by itself with status $status" >&2
  tail -n 20 "$stack_folder/gateway.log" >&2
  return "$status"
}

# The gateway has not got ready: it was only to say something (--help, --check), or it failed.
end_without_service() {
  ! child_runs "${stack_pids[-1]}" || not_ready gateway
  local status=0
  wait "${stack_pids[-1]}" || status=$?
  ((status == 0)) || not_ready gateway "$status"
  cat "$stack_folder/gateway.out"
}

# not_ready NAME [STATUS]: says what it said, and ends.
not_ready() {
  echo "$1 did not get ready:" >&2
  tail -n 20 "$stack_folder/$1.out" "$stack_folder/$1.log" >&2
  exit "${2:-1}"
}

print_stack() {
  local gateway=$1 admin=$2 primary=$3 backup=$4
  cat <<TXT

  gateway     $gateway
  dashboard   $admin/
  metrics     $admin/metrics
  providers   $primary (errs now and then), $backup
  config      $stack_folder/demo.json
  logs        $stack_folder/*.log

Send a request:

  curl -i $gateway/v1/chat/completions -H 'Content-Type: application/json' \\
    -d '{"model":"chat","messages":[{"role":"user","content":"Hello"}]}'

Take the first provider down and send it three times: the backup answers, and the first one's circuit opens.

  curl -X POST $primary/control/down
  curl $admin/admin/circuits
  curl -X POST $primary/control/up

Ctrl-C ends everything.
TXT
}

# start_provider NAME PROGRAM SCRIPT: the script is JSON that says how it behaves.
start_provider() {
  printf '%s\n' "$3" >"$stack_folder/$1.json"
  start_in_stack "$1" "$2" --listen 127.0.0.1:0 --name "$1" --script "$stack_folder/$1.json"
}

# start_in_stack NAME COMMAND...: output goes to NAME.out, messages to NAME.log.
start_in_stack() {
  local name=$1
  shift
  : >"$stack_folder/$name.out" # or whoever waits for its line might look before it is there
  "$@" </dev/null >"$stack_folder/$name.out" 2>"$stack_folder/$name.log" &
  stack_pids+=("$!")
}

# ready_value NAME KEY: waits for NAME's line `ready KEY=URL ...` and prints the URL of KEY. Fails when none comes.
ready_value() {
  local name=$1 key=$2 pid=${stack_pids[-1]} line='' polls
  for ((polls = 0; polls < 600; ++polls)); do # 30 s
    line=$(grep -m 1 '^ready .' "$stack_folder/$name.out" || true)
    if [[ $line =~ \ $key=([^ ]+) ]]; then
      echo "${BASH_REMATCH[1]}"
      return
    fi
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.05
  done
  return 1
}

# free_port PREFERRED: itself when nobody listens there, else 0, which lets the system choose.
free_port() {
  if (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; then
    echo "port $1 is taken; using a free one" >&2
    echo 0
  else
    echo "$1"
  fi
}

# Ends what this shell started, the gateway first, so that it can still finish what its providers are answering.
stop_stack() {
  trap '' INT TERM HUP
  local i
  for ((i = ${#stack_pids[@]} - 1; i >= 0; --i)); do
    stop_child "${stack_pids[i]}"
  done
  [[ -z $stack_folder ]] || rm -rf -- "$stack_folder"
}

# A child that has ended leaves the list of running jobs, so its process id, perhaps another's by now, is not touched.
stop_child() {
  local pid=$1 polls
  child_runs "$pid" || return 0
  kill -TERM "$pid" 2>/dev/null || true
  for ((polls = 0; polls < 100; ++polls)); do # 10 s
    child_runs "$pid" || return 0
    sleep 0.1
  done
  kill -KILL "$pid" 2>/dev/null || true
}

child_runs() { [[ " $(jobs -rp | tr '\n' ' ') " == *" $1 "* ]]; }
