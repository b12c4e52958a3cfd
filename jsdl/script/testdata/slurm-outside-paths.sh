#!/bin/bash
#SBATCH -o /home/alice/logs/run.%j.out
#SBATCH -e /dev/null
#SBATCH -t 2
echo out
