#!/bin/sh
# A sweep as a Slurm array job: each task takes its part of the seeds, and goes on where it was if it is killed or requeued.
#
#   sbatch --array=1-64 slurm_sweep.sh
#   picklock merge results-*.jsonl          when all have ended
#
# Under Kubernetes, in a Job with completionMode: Indexed, the part is $((JOB_COMPLETION_INDEX + 1)); in a CI matrix it is
# the matrix' own number.
#SBATCH --job-name=picklock
#SBATCH --requeue
set -eu

: "${PICKLOCK:=picklock}" "${LOCK:=redlock}" "${FAULTS:=all}" "${SEEDS:=0..10000000}"

"$PICKLOCK" sweep "$LOCK" --faults "$FAULTS" --seeds "$SEEDS" \
    --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" --results "results-$SLURM_ARRAY_TASK_ID.jsonl" \
    --jobs "${SLURM_CPUS_PER_TASK:-1}" ||
    # 1: a promise was broken, which is a result; anything else is a failure of the task.
    [ $? -eq 1 ]
