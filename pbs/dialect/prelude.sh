# What a batch script finds in its environment, where the batch system that it was written for is not
# the one that runs it. $1 is the dialect, the rest the program and its arguments.
dialect=$1
shift

# fill NAME VALUE: sets a variable, unless the batch system, or the script itself, has
fill() {
	eval "[ -n \"\${$1+x}\" ]" || export "$1=$2"
}

# The host file has a line for each process; those of one node lie together.
number=0 first=0 groups= last= count=0 same=0 times=0
group() {
	[ "$times" -gt 0 ] || return 0
	[ "$times" -eq 1 ] && groups="$groups${groups:+,}$same" || groups="$groups${groups:+,}$same(x$times)"
}
node() {
	[ "$count" -gt 0 ] || return 0
	number=$((number + 1))
	[ "$number" -gt 1 ] || first=$count
	if [ "$count" -eq "$same" ]; then
		times=$((times + 1))
	else
		group
		same=$count times=1
	fi
}
if [ -r "$GBROKER_HOSTFILE" ]; then
	while read -r host; do
		if [ "$host" != "$last" ]; then
			node
			last=$host count=0
		fi
		count=$((count + 1))
	done <"$GBROKER_HOSTFILE"
	node
	group
fi
here=$(uname -n)
case $dialect in
slurm)
	# SLURM_JOBID and the lists of nodes are left to Slurm: by them mpirun would look for srun.
	export SLURM_SUBMIT_DIR="$PWD"
	fill SLURM_JOB_ID "$GBROKER_JOB"
	fill SLURM_CLUSTER_NAME "$GBROKER_SITE"
	fill SLURM_SUBMIT_HOST "$here"
	fill SLURM_JOB_NUM_NODES "$number"
	fill SLURM_NNODES "$number"
	fill SLURM_TASKS_PER_NODE "$groups"
	fill SLURM_CPUS_ON_NODE "$((first * ${SLURM_CPUS_PER_TASK:-1}))"
	fill SLURM_NODEID 0
	fill SLURM_PROCID 0
	fill SLURM_LOCALID 0
	fill SLURMD_NODENAME "$here"
	[ -z "$SLURM_ARRAY_TASK_ID" ] || fill SLURM_ARRAY_JOB_ID "${GBROKER_JOB%.*}"
	;;
torque | openpbs)
	# PBS_ENVIRONMENT is left to PBS: by it mpirun would ask its daemons for the nodes.
	export PBS_O_WORKDIR="$PWD"
	fill PBS_JOBID "$GBROKER_JOB"
	fill PBS_NODEFILE "$GBROKER_HOSTFILE"
	fill PBS_O_HOST "$here"
	fill PBS_SERVER "$GBROKER_SITE"
	fill PBS_O_HOME "$HOME"
	fill PBS_O_LOGNAME "$LOGNAME"
	fill PBS_O_PATH "$PATH"
	fill PBS_QUEUE "$GBROKER_SITE"
	fill PBS_NODENUM 0
	fill PBS_TASKNUM 1
	fill PBS_VNODENUM 0
	[ "$dialect" = torque ] || fill PBS_JOBDIR "$PWD"
	;;
esac
unset dialect number first groups last count same times host here
exec "$@"
