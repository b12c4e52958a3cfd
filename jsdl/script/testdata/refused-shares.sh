#!/bin/sh
#SBATCH -N3 --gpus=4
