# Sourced by the scripts that train a model of models/: trains it in pieces that can be stopped and continued.
#
# Before: the script's argument in $1 ("finish", or none), STEPS, WORK, graphs (what to train on), OUT (the finished model) and
# settings (options of `sked train`); finishing: more of them for the last step.
# The user's: SKED, the command (build/cuda/sked of `make cuda`); BACKEND, cuda or cpu; THREADS; MINUTES of a piece; ANNEAL, the
# updates in which the rate falls, where those are more than STEPS.
SKED=${SKED:-build/cuda/sked}
MODEL=$WORK/model.safetensors

mkdir -p "$WORK"
action=${1:-train}
# settings and finishing are lists of options without blanks in them
# shellcheck disable=SC2086
set -- --graphs "$graphs" --seed 0 --threads "${THREADS:-15}" --backend "${BACKEND:-cuda}" --steps "$STEPS" \
    --set anneal="${ANNEAL:-$STEPS}" --set validate=0 $settings
if [ "$action" = finish ]; then
    # shellcheck disable=SC2086
    exec "$SKED" train "$@" --minutes 0 --resume "$MODEL" --weights-only ${finishing:-} -o "$OUT"
fi
if [ -f "$MODEL" ]; then
    set -- "$@" --resume "$MODEL"
fi
exec "$SKED" train "$@" --minutes "${MINUTES:-8.5}" -o "$MODEL" -o "$WORK/log.jsonl"
