# choose_tests TESTDIR: write the names of the tests to run here, those that match the pattern TESTS if it is set, to TESTDIR/chosen.
# Sets gpu (empty where there is none), skipped (how many need one and are left out) and PETSC_OPTIONS, to what every test needs here.

choose_tests() {
  local name
  unset PETSC_OPTIONS # of the caller's shell, perhaps from make env
  gpu='' # a PETSc without CUDA has no tests for it
  if [ -s "$1/device" ] && nvidia-smi -L 2>/dev/null | grep -q GPU; then
    gpu=yes
    cp "$1/all" "$1/runnable"
    export PETSC_OPTIONS=$gpu_mpi_options
  else
    comm -23 "$1/all" "$1/device" >"$1/runnable"
  fi
  skipped=$(($(wc -l <"$1/all") - $(wc -l <"$1/runnable")))
  while read -r name; do
    # shellcheck disable=SC2254 # TESTS is a pattern
    case $name in ${TESTS:-*}) echo "$name" ;; esac
  done <"$1/runnable" >"$1/chosen"
}
