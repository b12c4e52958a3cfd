#!/bin/bash
#SBATCH --begin=2026-11-23T20:00:00
#SBATCH --deadline=2026-11-25
#SBATCH --hold
#SBATCH --nice=50
#SBATCH --time=8:00:00
echo later
