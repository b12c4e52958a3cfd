#!/bin/bash
#SBATCH --job-name=serial_job      # Job name
#SBATCH --output=serial_%j.log     # Standard output and error log
#SBATCH --ntasks=1                 # Run on a single CPU
#SBATCH --mem=1gb                  # Job memory request
#SBATCH --time=00:05:00            # Time limit hrs:min:sec

pwd; hostname >/dev/null; date >/dev/null
echo "tasks $SLURM_NTASKS nodes $SLURM_JOB_NUM_NODES"
