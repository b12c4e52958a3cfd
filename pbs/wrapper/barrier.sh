# The barrier of a part of a co-allocated job: package control says what its files mean.

# up: seconds since this machine was started, by which no clock that is set counts
up() {
	upside=0
	{ read -r upside _ </proc/uptime; } 2>/dev/null
	upside=${upside%%.*}
}

# there KIND: whether a control file is there, looked for by reading the folder: so a network
# file system looks again too, and no command is needed for it
there() {
	for found in "$ctl/$1"[.]"$suffix"; do
		[ -e "$found" ] && return 0
	done
	return 1
}

# free: a port that nothing on this node uses now, in $port, and not $taken
free() {
	port=0 tries=0
	while [ $tries -lt 100 ]; do
		tries=$((tries + 1))
		port=`od -An -N2 -tu2 /dev/urandom | tr -d ' '`
		port=$((port_first + port % port_count))
		if [ "$port" != "$taken" ] && ! grep -qi ":`printf %04X $port` " /proc/net/tcp /proc/net/tcp6 2>/dev/null; then
			return 0
		fi
	done
	return 1
}

# spans: whether the program can be one of MPI over all sites, without a way from one cluster into the other: by Hydra, of
# MPICH, or the daemons of Open MPI 4, where the job asks for that by name (else another site may have MPICH)
spans() {
	[ -n "$reach" ] && [ -z "$own_starter" ] && mpi || return 1
	case $kind in
	mpich) proxy=`find_command hydra_pmi_proxy` ;;
	openmpi)
		case $wanted`"$starter" --version 2>/dev/null </dev/null` in
		openmpi*' 4.'*) proxy=`find_command orted` && command -v getent >/dev/null ;;
		*) false ;;
		esac
		;;
	*) false ;;
	esac
}

# arrive: says that this part is here, with its nodes and where programs may meet it; of a program of MPI also where
# the mpirun of all sites may listen, unless it stays within its site
arrive() {
	address= meeting= taken=
	[ -z "$parallel" ] || ! free || meeting=$machine:$port taken=$port
	if [ -z "$parallel" ] || spans; then
		free && address=$machine:$port
	fi
	entries=`slots | spread | awk '$1 != last { if (n) printf "%s:%d ", last, n; last = $1; n = 0 }
		{ n++ } END { if (n) printf "%s:%d", last, n }'` || return 1
	now
	name $$
	write arrived "at $now$nl$named${nl}address $address${nl}hosts $entries${meeting:+${nl}rendezvous $meeting}" &&
		mv -f "$tmp" "$ctl/arrived.$suffix" 2>/dev/null
}

# gather: the barrier. It is left when all have arrived; nothing has run where it ends here.
gather() {
	tries=0
	until arrive; do again; done
	up
	now
	left=$(((part_until - now) / 1000))
	[ "$left" -le "$part_longest" ] || left=$part_longest # it came before its start
	patience=$((upside + left))
	until there go; do
		heed
		! there start || leave 75 'its start token is taken'
		there submit || leave 75 "this attempt was not submitted out of $ctl as it is now" # its folder is gone, or made again
		up
		[ "$upside" -lt "$patience" ] || leave 69 'nobody said that the others have arrived'
		rest
	done
}

# meet: makes the host file of all sites out of go, and finds where programs meet, and the mpirun of all sites listens ($head)
meet() {
	tmp=$ctl/.tmp.sites.$here
	said=`(awk '$1 == "site" { site = $2 }
		$1 == "hosts" { for (i = 2; i <= NF; i++) { split($i, h, ":"); for (k = 0; k < h[2]; k++) print h[1], site } }' \
		"$ctl/go.$suffix" >"$tmp" && mv -f "$tmp" "$all_hosts") 2>&1` || { failed 'the host file of all sites cannot be written' "$said"; return 1; }
	why="$ctl/go.$suffix cannot be read"
	head=`awk '$1 == "address" { print $2; exit }' "$ctl/go.$suffix"` || return 1
	rendezvous=`awk '$1 == "site" && n++ { exit } ($1 == "address" || $1 == "rendezvous") && $2 { at = $2 } END { print at }' "$ctl/go.$suffix"` || return 1
	if [ -n "$parallel" ] && awk '$1 == "address" && $2 == "" { exit 1 }' "$ctl/go.$suffix"; then
		one_world=yes
	fi
}

# members: the hosts of all sites: their numbers from 0, site, node, processes
members() {
	awk '$1 == "site" { site = $2 }
		$1 == "hosts" { for (i = 2; i <= NF; i++) { split($i, h, ":"); print n++, site, h[1], h[2] } }' "$ctl/go.$suffix"
}

# toward NODE: what starts a command on another node of this job, in $via
toward() {
	if [ -n "$SLURM_JOB_ID" ]; then
		via="srun --overlap --nodes=1 --ntasks=1 --nodelist=$1 --mpi=none --input=none"
	elif command -v pbs_tmrsh >/dev/null; then
		via="pbs_tmrsh $1"
	elif command -v pbsdsh >/dev/null; then
		via="pbsdsh -h $1"
	else
		via="ssh -o BatchMode=yes $1"
	fi
}

# join NUMBER: what starts processes on one host for the first site's mpirun. It goes at once where that does not
# listen yet, and is started again.
join() {
	tries=0 said=$ctl/.tmp.join.$1.$here family=
	[ "$kind" != openmpi ] || sleep 1 # mpirun takes so long to listen
	while :; do
		("join_$kind" "$1") >"$said" 2>&1 &
		joiner=$! guard=
		[ "$kind$family" != openmpi ] || { hurry "$joiner" & guard=$!; }
		wait "$joiner"
		status=$?
		[ -z "$guard" ] || kill "$guard" 2>/dev/null
		tries=$((tries + 1))
		if [ $status -eq 0 ] || [ $tries -ge 300 ] || ! early "$said"; then
			cat "$said" >&2
			rm -f "$said"
			return $status
		fi
		rest
	done
}

# join_mpich NUMBER: Hydra's proxy
join_mpich() {
	execute env "GBROKER_DIRECTORY=$PWD" "$proxy" --control-port "$head" --rmk user --launcher manual --demux poll \
		--pgid 0 --retries 10 --usize -2 --proxy-id "$1"
}

# join_openmpi NUMBER: the daemon of Open MPI. It has to know the number that mpirun gave itself, which nobody chooses: a first
# one, under number 0, is told it by mpirun and refused.
join_openmpi() {
	server=`getent ahostsv4 "${head%:*}" | awk '{ print $1; exit }'`
	all=`members | awk '{ names = names ",g" $1 } END { print "m" names "@0(" NR + 1 ")" }'`
	job=$((${family:-0} * 65536))
	execute env "GBROKER_DIRECTORY=$PWD" "$proxy" -mca ess env -mca ess_base_jobid $job -mca ess_base_vpid $(($1 + 1)) \
		-mca ess_base_num_procs "`members | awk 'END { print NR + 1 }'`" -mca orte_node_regex "$all" \
		-mca orte_hnp_uri "$job.0;tcp://$server:${head##*:}" -mca plm rsh -mca plm_rsh_no_tree_spawn 1 -mca routed direct \
		-mca pmix '^s1,s2,cray,isolated'
}

# hurry PID: ends a daemon that was to be refused, and hangs
hurry() {
	count=0
	while [ $count -lt 100 ]; do
		kill -0 "$1" || return
		rest
		count=$((count + 1))
	done
	kill "$1"
	sleep 2
	kill -KILL "$1"
} 2>/dev/null

# early FILE: whether what was started to join came before mpirun listened, or did not know its number
early() {
	[ "$kind" = openmpi ] || { grep -q 'unable to connect to server' "$1"; return; }
	[ -z "$family" ] || { grep -q 'unable to complete a TCP connection' "$1"; return; }
	family=`sed -n '/unexpected process identifier/ { s/.*identifier \[\[\([0-9]*\),0\],0\].*/\1/p; q; }' "$1"`
}

# lead_mpich: mpirun of MPICH, which starts nothing itself: its way to other nodes is true
lead_mpich() {
	members | awk '{ print "g" $1 ":" $4 }' >"$machines"
	total=`awk 'END { print NR }' "$all_hosts"`
	arguments execute env "MPIEXEC_PORT_RANGE=${head##*:}:${head##*:}" "$starter" -launcher ssh -launcher-exec /bin/true \
		-f "$machines" -n "$total" -genvnone -wdir / /bin/sh -c 'cd "$GBROKER_DIRECTORY" && exec "$@"' sh "$program"
}

# lead_openmpi: likewise that of Open MPI
lead_openmpi() {
	members | awk '{ print "g" $1 " slots=" $4 }' >"$machines"
	total=`awk 'END { print NR }' "$all_hosts"`
	root=
	[ `id -u` -ne 0 ] || root=--allow-run-as-root
	arguments execute "$starter" $root -mca plm rsh -mca plm_rsh_agent /bin/true -mca plm_rsh_no_tree_spawn 1 -mca routed direct \
		-mca ras '^slurm,tm' -mca orte_do_not_resolve 1 -mca oob_tcp_static_ipv4_ports "${head##*:}" -nolocal --hostfile "$machines" --oversubscribe --map-by slot \
		--bind-to none -n "$total" -wdir / /bin/sh -c 'cd "$GBROKER_DIRECTORY" && exec "$@"' sh "$program"
}

# span: this process becomes what starts the program of MPI over all sites: at the first of them mpirun, and what joins it
# for each host of this one.
span() {
	joined=
	for member in `members | awk -v site="$part_site" '$2 == site { print $1 ":" $3 }'`; do
		via=
		[ -z "$joined" ] || toward "${member#*:}"
		join "${member%%:*}" &
		joined="$joined $!"
	done
	code=0
	if [ "$part_rank" -eq 0 ]; then
		machines=$ctl/.tmp.machines.$here
		via=
		("lead_$kind")
		code=$?
		rm -f "$machines"
	fi
	for member in $joined; do
		wait "$member" || [ $code -ne 0 ] || code=$?
	done
	exit $code
}

# vigil: tells this shell to end the program unless all have begun in time; in the background
vigil() {
	trap - TERM USR1
	exec >/dev/null 2>&1 3<&- 4>&- 5>&-
	up
	end=$((upside + part_within))
	until there begun; do
		up
		if [ "$upside" -ge "$end" ]; then
			while kill -USR1 $$; do sleep 1; done
			exit
		fi
		sleep 1
	done
}

# --------------------------------------------------------------------------------------
