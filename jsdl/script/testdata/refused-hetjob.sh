#!/bin/bash
#SBATCH -n1
#SBATCH hetjob
#SBATCH -n4
