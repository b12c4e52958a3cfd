#!/bin/bash
#PBS -l nodes=1:ppn=2:compute
#PBS -l walltime=1:00:00:00
#PBS -A physics
#PBS -m abe
#PBS -M bob@example.org
echo done
