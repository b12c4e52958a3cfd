#!/bin/bash
#SBATCH -N 2
#SBATCH --gpus-per-node=2
#SBATCH --ntasks-per-node=2
#SBATCH -p gpu
#SBATCH -t 30:00
echo "nodes $SLURM_JOB_NUM_NODES"
