#!/bin/bash
#SBATCH -a 0,3,7-13:2%2
#SBATCH -n1
#SBATCH -t5
#SBATCH -o logs/%x_%a.out
#SBATCH -J sweep
echo $SLURM_ARRAY_TASK_ID
