#!/bin/sh
#PBS -l nodes=1
#PBS -l walltime=2:00
echo before
exit 4
