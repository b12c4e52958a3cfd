#!/bin/bash
#SBATCH --job-name=array_job
#SBATCH --array=1-5
#SBATCH --output=array_%A-%a.log
#SBATCH --ntasks=1
#SBATCH --time=00:05:00
PER_TASK=1000
START=$(( ($SLURM_ARRAY_TASK_ID - 1) * $PER_TASK + 1 ))
echo "task $SLURM_ARRAY_TASK_ID starts at $START of $SLURM_ARRAY_TASK_COUNT"
