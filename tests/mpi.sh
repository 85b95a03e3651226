#!/bin/sh
# Several processes over MPI. Usage: mpi.sh SKED PLAIN, commands built with MPI and without. The cases are in mpi.py.
exec python3 "$(dirname "$0")/mpi.py" "$@"
