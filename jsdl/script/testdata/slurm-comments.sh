#!/bin/bash
##SBATCH --nodes=99
# SBATCH --nodes=98
 #SBATCH --nodes=97
#SBATCH --comment="first run of the \"big\" model" --time=5   # five minutes
#SBATCH -J "quoted name"

echo first command
#SBATCH --nodes=96
