#!/bin/bash
#SBATCH -t 1
#SBATCH -N1
echo before
exit 7
