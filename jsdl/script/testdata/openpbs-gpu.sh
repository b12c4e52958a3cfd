#!/bin/bash
#PBS -P ab01
#PBS -q gpuq
#PBS -l select=1:ncpus=12:ngpus=1:mem=90gb:cpu_type=rome
#PBS -l walltime=24:00:00
#PBS -m e
#PBS -M carol@example.org
echo gpu
