#!/bin/bash
#SBATCH --ntasks=6
#SBATCH --ntasks-per-node=3
#SBATCH --time=1:0:0
echo "tasks $SLURM_NTASKS nodes $SLURM_JOB_NUM_NODES"
