#!/usr/bin/env python3
#SBATCH --time=2
#SBATCH --ntasks=2
import os
print("tasks", os.environ["SLURM_NTASKS"])
