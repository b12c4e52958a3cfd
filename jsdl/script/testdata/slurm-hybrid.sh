#!/bin/bash
#SBATCH --job-name=hybrid
#SBATCH --nodes=2 --ntasks-per-node=2 --cpus-per-task=4
#SBATCH --time=1:00:00
#SBATCH --hint=nomultithread
export OMP_NUM_THREADS=${SLURM_CPUS_PER_TASK:-1}
export OMP_PLACES=cores
echo "tasks $SLURM_NTASKS threads $OMP_NUM_THREADS"
