#!/bin/sh
# Several processes over MPI. Usage: mpi.sh SKED, a command built with MPI. The cases are in mpi.py.
exec python3 "$(dirname "$0")/mpi.py" "$@"
