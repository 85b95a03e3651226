#!/bin/sh
# Trains models/paper.safetensors, the paper's policy from nothing, in pieces that can be stopped and continued.
#
#     scripts/train-paper.sh                   one piece of up to MINUTES (default 8.5); repeat until STEPS
#     scripts/train-paper.sh finish            the weights alone, into models/paper.safetensors
#
# WORK, SKED, BACKEND, MINUTES, THREADS as in train-pieces.sh. It takes 222 s of an H200 that three other trainings share. The
# result depends on STEPS, RATE and the device, not on threads or on where the pieces end.
set -eu
cd "$(dirname "$0")/.."
WORK=${WORK:-build/training-paper}
STEPS=${STEPS:-7000}
OUT=${OUT:-models/paper.safetensors}

graphs=erdos-renyi:50-50,layered:50-50
settings="--devices 4 --set policy=stepwise --set rule=none --set listed=0 --set transfers=0 --set unequal=0 --set graphs=1"
settings="$settings --set batch=100 --set backward=uniform --set credit=steps --set lambda=0.6 --set rate=${RATE:-0.002}"
settings="$settings --set gentlest=4 --set sharpest=40 --set layers=5"
. scripts/train-pieces.sh
