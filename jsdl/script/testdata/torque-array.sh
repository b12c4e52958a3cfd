#!/bin/bash
#PBS -N sweep
#PBS -t 0-8:4,10%3
#PBS -l nodes=1:ppn=1,walltime=600
#PBS -o sweep-$PBS_ARRAYID.log
#PBS -j oe
echo $PBS_ARRAYID
