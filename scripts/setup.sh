#!/usr/bin/env bash
# Installs what building segre needs and this machine lacks; does nothing if nothing is missing.
#
#   scripts/setup.sh build    compiler, CMake, header libraries; LibTorch and plotly.js in .venv
#   scripts/setup.sh python   also what building the Python package needs: nanobind, scikit-build-core, NumPy
#   scripts/setup.sh test     also what the tests need: Chromium, which opens the report, and pytest, mypy, pandas, Jupyter,
#                             scikit-learn, pyarrow, Polars
#   scripts/setup.sh lint     also clang-format, clang-tidy
#   scripts/setup.sh fuzz     also Clang with its sanitizers and libFuzzer
#   scripts/setup.sh bench    also all of PyTorch (2 GB more) and scikit-learn, for comparison
#
# TORCH_DIR=DIR uses that LibTorch; TORCH=2.15.0 installs that version of it, CUDA=1 the wheel with its CUDA libraries.
set -euo pipefail
cd "$(dirname "$0")/.."

torch_version=${TORCH:-2.11.0}
plotly_version=6.3.0
sklearn_version=1.7.2
python_build=(nanobind==3.1.0 scikit-build-core==1.1.1 numpy)
# Of the tests in Python: pandas and Matplotlib are used by the notebook, which nbclient and ipykernel run. scikit-learn
# (with SciPy), pyarrow and Polars are 155 MB to download: what is offered for them is tested with them.
python_test=(pytest==9.2.0 pytest-xdist==3.8.0 mypy==2.4.1 pandas==3.1.1
             matplotlib==3.11.2 nbclient==0.11.0 ipykernel==7.4.0
             "scikit-learn==$sklearn_version" pyarrow==26.0.1 polars==2.1.0)

packages=(g++ make cmake ninja-build ccache git ca-certificates python3 python3-venv
          libtomlplusplus-dev libcli11-dev nlohmann-json3-dev libgtest-dev
          libpng-dev zlib1g-dev libminizip-dev libcurl4-openssl-dev libgloo-dev)
optional=()
case "${1:-build}" in
  build) ;;
  python) packages+=(python3-dev) ;;
  test) packages+=(python3-dev); optional+=(chromium pkgconf) ;;
  lint) packages+=(clang-format clang-tidy) ;;
  fuzz) packages+=(clang libclang-rt-dev) ;;
  bench) ;;
  *) echo "setup.sh: unknown part '$1' (build, python, test, lint, fuzz, bench)" >&2; exit 2 ;;
esac

say() { printf '\033[1m== %s\033[0m\n' "$*"; }
installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null; then sudo "$@"; else return 1; fi
}

apt_install() {
  as_root apt-get update -qq && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

install_packages() {
  local missing=() package
  for package in "${packages[@]}"; do installed "$package" || missing+=("$package"); done
  [ ${#missing[@]} = 0 ] && return
  say "install Debian packages: ${missing[*]}"
  if ! command -v apt-get >/dev/null || ! apt_install "${missing[@]}"; then
    echo "These packages could not be installed. Run this, then make again:" >&2
    echo "  sudo apt-get update && sudo apt-get install -y ${missing[*]}" >&2
    exit 1
  fi
}

install_optional() {
  local package
  for package in "${optional[@]}"; do
    installed "$package" && continue
    # Tried once per checkout: if the distribution does not have it, the test that needs it is skipped.
    [ -e ".venv/without-$package" ] && continue
    say "install Debian package: $package (for a test)"
    if ! apt_install "$package"; then
      mkdir -p .venv && touch ".venv/without-$package"
      echo "$package could not be installed; the tests that need it will be skipped. To run them: sudo apt-get install -y $package" >&2
    fi
  done
}

# A Python that can create virtual environments; the first on the PATH may not be able to.
find_python() {
  local python
  for python in python3 /usr/bin/python3; do
    if "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
      echo "$python"
      return
    fi
  done
  echo "No Python 3.10 or newer with venv was found. Run this, then make again:" >&2
  echo "  sudo apt-get update && sudo apt-get install -y python3 python3-venv" >&2
  exit 1
}

pip_install() {
  if ! .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-warn-conflicts "$@"; then
    echo "Installing from PyPI failed. Check the network, or run this, then make again:" >&2
    echo "  $PWD/.venv/bin/python -m pip install $*" >&2
    exit 1
  fi
}

# once NAME COMMAND...: runs the command unless it has already succeeded in this checkout.
once() {
  local stamp=".venv/done-$1"
  shift
  [ -e "$stamp" ] && return
  "$@"
  touch "$stamp"
}

make_venv() {
  local python
  python=$(find_python)
  say "create a virtual environment in .venv"
  "$python" -m venv .venv
}

install_plotly() {
  say "install plotly.js $plotly_version (for reports)"
  pip_install --no-deps --target .venv/plotly-wheel "plotly==$plotly_version"
  cp .venv/plotly-wheel/plotly/package_data/plotly.min.js .venv/plotly.min.js
  rm -rf .venv/plotly-wheel
}

link_torch() {
  ln -sfn "$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/torch" .venv/torch
}

# Another version takes the place of the one before.
forget_torch() { rm -f .venv/done-torch-*; }

install_torch_cpu() {
  say "install LibTorch $torch_version for the CPU (0.55 GB)"
  forget_torch
  pip_install --no-deps "torch==$torch_version"
  # The two small NVIDIA libraries that libtorch_cpu itself is linked against, in the versions that this torch requires.
  local toolkit metadata
  metadata=$(echo .venv/lib/python*/site-packages/torch-"$torch_version"*/METADATA)
  toolkit=$(sed -n 's/^Requires-Dist: cuda-toolkit\[[^]]*\]==\([0-9.]*\).*/\1/p' "$metadata")
  if [ -n "$toolkit" ]; then pip_install "cuda-toolkit[cudart,cupti]==$toolkit"; fi
  link_torch
}

install_torch_full() {
  say "install PyTorch $torch_version with its CUDA libraries (2.7 GB)"
  forget_torch
  pip_install "torch==$torch_version" numpy
  link_torch
  touch ".venv/done-torch-cpu-$torch_version"
}

install_sklearn() {
  say "install scikit-learn $sklearn_version (0.2 GB)"
  pip_install "scikit-learn==$sklearn_version" numpy
}

install_python_build() {
  say "install nanobind, scikit-build-core and NumPy (to build the Python package)"
  pip_install "${python_build[@]}"
}

install_python_test() {
  say "install pytest, mypy, pandas, Jupyter, scikit-learn, pyarrow and Polars (to test the Python package, 0.5 GB)"
  pip_install "${python_test[@]}"
}

install_packages
once venv make_venv
once plotly-$plotly_version install_plotly
if [ "${1:-build}" = bench ] || { [ "${CUDA:-0}" = 1 ] && [ -z "${TORCH_DIR:-}" ]; }; then
  once torch-full-$torch_version install_torch_full
elif [ -z "${TORCH_DIR:-}" ]; then
  once torch-cpu-$torch_version install_torch_cpu
elif [ ! -e "$TORCH_DIR/lib/libtorch_cpu.so" ]; then
  echo "TORCH_DIR=$TORCH_DIR: no lib/libtorch_cpu.so in it; expected an unpacked LibTorch, 2.11 or later, or a wheel's torch folder" >&2
  exit 2
fi
case "${1:-build}" in python|test) once python-build install_python_build ;; esac
# A new number where the list has changed.
if [ "${1:-build}" = test ]; then once python-test-3 install_python_test; fi
if [ "${1:-build}" = bench ]; then once sklearn-$sklearn_version install_sklearn; fi
install_optional
