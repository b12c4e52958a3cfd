#SBATCH -n1
echo x
