#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gpus=4
#SBATCH --partition=gpu
#SBATCH --time=2-0
echo "nodes $SLURM_JOB_NUM_NODES"
