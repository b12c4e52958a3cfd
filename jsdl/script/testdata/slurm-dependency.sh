#!/bin/bash
#SBATCH --dependency=afterok:xeon16.01JD3V0QX2M6W8T9Z4C5A7B1EF:xeon16.01JD3V0QX2M6W8T9Z4C5A7B1EG.all,singleton
#SBATCH --time=1
echo after
