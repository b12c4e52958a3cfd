#!/bin/sh
#PBS -l nodes=2:ppn=4
#PBS -l walltime=2:00:00,mem=4gb
#PBS -q batch
#PBS -N cfd
#PBS -V
NP=$(wc -l < $PBS_NODEFILE)
echo "processes $NP of $PBS_NUM_NODES nodes"
