// Options of the sanitizers, linked into every program of a sanitizer build, so that a program behaves the same
// under ctest, in a debugger and when a test starts it. ASAN_OPTIONS and the like still override them.
//
// UBSan heeds a suppression only where code was compiled to go on after a finding; halt_on_error then stops it at
// every other finding.

extern "C" {

const char* __asan_default_options();
const char* __ubsan_default_options();
const char* __tsan_default_options();

const char* __asan_default_options() {
  return "detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1";
}

const char* __ubsan_default_options() {
  return "halt_on_error=1:print_stacktrace=1:suppressions='" SWITCHYARD_UBSAN_SUPPRESSIONS "'";
}

const char* __tsan_default_options() {
  return "halt_on_error=1:second_deadlock_stack=1";
}
}
