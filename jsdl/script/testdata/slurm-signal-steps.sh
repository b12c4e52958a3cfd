#!/bin/bash
#SBATCH --signal=SIGTERM@90
#SBATCH --time=4
#SBATCH -c 2
echo ok
