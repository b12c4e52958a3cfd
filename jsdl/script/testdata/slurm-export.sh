#!/bin/bash
#SBATCH --export=NONE,INPUT=run1.dat,HOSTTYPE
#SBATCH --get-user-env
#SBATCH --time=3
echo "input $INPUT host $HOSTTYPE"
