#!/bin/bash -l

# MPI over whole nodes, as a user guide has it
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
#SBATCH --time=0-01:30
#SBATCH --partition=compute
#SBATCH --account=proj42
#SBATCH --exclusive

cd $SLURM_SUBMIT_DIR || exit 9
echo "tasks $SLURM_NTASKS nodes $SLURM_NNODES per node $SLURM_NTASKS_PER_NODE"
