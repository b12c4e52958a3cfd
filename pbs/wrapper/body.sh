# From here on the text is the same for all jobs; what is above are this job's values. Commands are substituted by
# back quotes alone: package wrapper says why.

unset CDPATH IFS
PATH=${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin
exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
machine=`uname -n`
here=$machine.$$

say() { printf '%s gbroker wrapper: %s\n' "$attempt" "$1" >&2; }

# leave CODE WHY: goes before anything has run
leave() {
	say "$2: nothing is started"
	exit "$1"
}

# heed: goes if TERM came before anything has run. A TERM to all of us ends the commands of this shell too, so what did not
# succeed is no reason of its own then.
heed() { [ -z "$told" ] || leave 143 'it was told to end'; }

# now: milliseconds since 1970, in $now: a number, whatever becomes of the commands
now() {
	now=`date +%s%3N`
	case $now in '' | *[!0-9]*) now=`date +%s`000 ;; esac
}

# rest: a short pause
rest() { sleep 0.1 2>/dev/null || sleep 1; }

# name PID: the lines by which control files name a process, in $named
name() {
	start=0 boot=
	if { read -r stat <"/proc/$1/stat" && read -r boot </proc/sys/kernel/random/boot_id; } 2>/dev/null; then
		set -- "$1" ${stat##*) }
		start=${21}
	fi
	named="pid $1${nl}start $start${nl}boot $boot"
}

# write KIND LINES: a control file under a temporary name, which becomes $tmp
write() {
	tmp=$ctl/.tmp.$1.$here
	(umask 077 && printf 'gbroker-ctl 1\nattempt %s\n%s\n.\n' "$attempt" "$2" >"$tmp") 2>/dev/null
	last=
	{ while read -r line; do last=$line; done <"$tmp"; } 2>/dev/null
	[ "$last" = . ]
}

# appear KIND: the file $tmp appears as a control file, unless one is there; the first stands
appear() {
	ln "$tmp" "$ctl/$1.$suffix" 2>/dev/null
	[ "$tmp" -ef "$ctl/$1.$suffix" ]
	mine=$?
	rm -f "$tmp"
	return $mine
}

# submitted: whether the attempt was submitted out of this very folder
submitted() {
	{ while read -r line; do [ "$line" = "attempt $attempt" ] && return 0; done <"$ctl/submit.$suffix"; } 2>/dev/null
	return 1
}

# ended LINES: whether the end is written, by us or another
ended() {
	if ! write end "$1"; then
		rm -f "$tmp"
		return 1
	fi
	sync "$tmp" 2>/dev/null
	appear end || [ -e "$ctl/end.$suffix" ]
}

# used: tells the processor time of what this shell has waited for, as far as it can
used() {
	[ -n "$ctl" ] || return 0
	tmp=$ctl/.tmp.times.$here
	{ { times; } >"$tmp"; } 2>/dev/null # not in a subshell, which has no children
	cpu=`awk -F'[^0-9]+' 'NR == 2 { printf "%.0f", ($1 * 60 + $2) * 1000 + substr($3 "000", 1, 3) + ($4 * 60 + $5) * 1000 + substr($6 "000", 1, 3) }' "$tmp" 2>/dev/null`
	rm -f "$tmp"
	case $cpu in '' | 0 | *[!0-9]*) return 0 ;; esac
	if write usage "cpu $cpu${nl}memory 0"; then
		sync "$tmp" 2>/dev/null
		appear usage
	fi
	rm -f "$tmp"
}

# finish CODE SIGNAL CAUSE DETAIL: tells the end and goes
finish() {
	trap '' TERM
	if [ -n "$ctl" ]; then
		detail=`printf '%.1900s' "$4" | tr '\000-\037\177' ' '`
		now
		lines="at $now${nl}code $1${nl}signal $2${nl}cause $3${nl}detail $detail"
		tries=0
		until ended "$lines"; do
			tries=$((tries + 1))
			if [ $tries -ge 60 ]; then
				say "the end cannot be written to $ctl: $3 $1 $4"
				break
			fi
			sleep 1
		done
	fi
	case $3 in itself) ;; *) say "$4" ;; esac
	exit "$1"
}

never() { finish 126 0 never-ran "$1"; }

# who: cause and detail of a TERM
who() {
	ls "$ctl" >/dev/null 2>&1 # a network file system looks again
	now
	if [ -n "$ctl" ] && [ -e "$ctl/kill.$suffix" ]; then
		cause=request detail='ended on request'
	elif [ -n "$alone" ]; then
		cause=alone detail="nobody said within $part_words that the other parts of its job had begun"
	elif [ $((now - began)) -ge "$limit" ]; then
		cause=walltime detail="it ran for its limit of $limit_words"
	else
		cause=disappeared detail='the batch system told it to end, but not by the broker: was it cancelled by hand, or the machine shut down?'
	fi
}

# stopped: ends here if TERM came before the program was started
stopped() {
	[ -n "$told" ] || return 0
	who
	finish 143 15 "$cause" "$detail, before its program was started"
}

# ours: goes unless this attempt may still start out of its control directory
ours() {
	[ -d "$ctl" ] || leave 75 "there is no control directory $ctl"
	if ! submitted; then
		ls "$ctl" >/dev/null 2>&1
		sleep 1
		submitted || leave 75 "this attempt was not submitted out of $ctl as it is now"
	fi
	for kind in run usage end hosts; do # its token may be lost: any trace of a start counts
		[ ! -e "$ctl/$kind.$suffix" ] || leave 75 'it has started before'
	done
}

# take: takes the start token, or goes
take() {
	name $$
	tries=0
	until write start "holder supervisor${nl}at $began${nl}$named" && { sync "$tmp" 2>/dev/null; appear start; }; do
		rm -f "$tmp"
		! there start || leave 75 'its start token is taken'
		again
	done
	sync "$ctl" 2>/dev/null
	submitted || leave 75 "$ctl was made again meanwhile" # the folder was thrown away between the two
}

# again: a pause before what could not be written is tried again, up to a minute of $tries
again() {
	heed
	tries=$((tries + 1))
	[ $tries -lt 60 ] || leave 74 "$ctl cannot be written"
	sleep 1
}

# failed WHAT SAID: gives 1, and in $why the reason why something cannot be written; $full where that is a disk which may have
# room later. The system's own word comes last, behind all names.
failed() {
	why="$1: $2"
	case ${2%\)} in *'No space left on device' | *'uota exceeded') full=yes ;; esac
	return 1
}

# into FOLDER WHAT: goes from the top of the sandbox into a folder in it, which is made where
# it is not there. Gives 1, and the reason in $why, where that cannot be done.
into() {
	cd -P "$top" || { why="the job's sandbox cannot be opened"; return 1; }
	left=$1
	while [ "$left" != . ]; do
		part=${left%%/*}
		if [ "$part" = "$left" ]; then left=.; else left=${left#*/}; fi
		[ "$part" = . ] && continue
		if [ ! -e "./$part" ] && [ ! -L "./$part" ]; then
			said=`mkdir "./$part" 2>&1` || { failed "$2" "$said"; return 1; }
		fi
		why=`cd -P "./$part" 2>&1` || { why="$2: $why"; return 1; }
		cd -P "./$part" || return 1
		case `pwd -P`/ in
		"$top"/*) ;;
		*) why="$2 leads out of the job's sandbox by a symbolic link"; return 1 ;;
		esac
	done
}

# plain FILE WHAT: whether a file in this folder may be opened
plain() {
	if [ -L "./$1" ]; then
		why="$2 is a symbolic link, by which it could lead out of the job's sandbox"
	elif [ -e "./$1" ] && [ ! -f "./$1" ]; then
		why="$2: is no regular file"
	else
		return 0
	fi
	return 1
}

# create PATH WHAT: makes a file in the sandbox, and stays in its folder
create() {
	case $1 in */*) into "${1%/*}" "$2" ;; *) into . "$2" ;; esac || return 1
	base=${1##*/}
	plain "$base" "$2" || return 1
	said=`(: >"./$base") 2>&1` || failed "$2" "$said"
}

# files: opens the program's standard files as 3, 4 and 5
files() {
	if [ -z "$input" ]; then
		exec 3</dev/null
	else
		case $input in */*) into "${input%/*}" "$what_input" ;; *) into . "$what_input" ;; esac || return 1
		base=${input##*/}
		plain "$base" "$what_input" || return 1
		why=`(: <"./$base") 2>&1` || { why="$what_input: $why"; return 1; }
		exec 3<"./$base"
	fi
	create "$output" "$what_output" || return 1
	exec 4>"./$base"
	if [ "$error" = "$output" ]; then
		exec 5>&4
	else
		create "$error" "$what_error" || return 1
		exec 5>"./$base"
	fi
}

# slots: the names of the nodes, as the batch system gives them: a line for each place
slots() {
	if [ -n "$SLURM_JOB_NODELIST" ]; then
		nodes=`scontrol show hostnames "$SLURM_JOB_NODELIST" 2>/dev/null`
		[ -n "$nodes" ] || nodes=${SLURMD_NODENAME:-$machine}
		set --
		for group in `printf '%s' "${SLURM_TASKS_PER_NODE:-1}" | tr ',' ' '`; do
			times=1 tasks=${group%%\(*}
			case $group in *\(x*\)) times=${group#*x} times=${times%\)} ;; esac
			while [ "$times" -gt 0 ]; do set -- "$@" "$tasks" && times=$((times - 1)); done
		done
		for node in $nodes; do
			tasks=${1:-1}
			[ $# -eq 0 ] || shift
			while [ "$tasks" -gt 0 ]; do echo "$node" && tasks=$((tasks - 1)); done
		done
	elif [ -r "$PBS_NODEFILE" ]; then
		cat "$PBS_NODEFILE"
	else
		echo "$machine"
	fi
}

# spread: of the lines read, as many as there are processes: each k-th where a process
# has k places, and each several times where there are fewer lines than processes
spread() {
	awk -v want="$processes" 'NF { line[n++] = $1 }
		END { for (i = 0; n && i < want; i++) print line[int(i * n / want)] }'
}

# host: writes the host file
host() {
	if [ -n "$ctl" ]; then
		tmp=$ctl/.tmp.hosts.$here
		said=`(slots | spread >"$tmp" && [ -s "$tmp" ] && mv -f "$tmp" "$hosts") 2>&1`
	else
		said=`mktemp 2>&1` && hosts=$said && said=`(slots | spread >"$hosts") 2>&1`
	fi || failed 'the host file cannot be written' "$said"
}

# running: writes the control file run
running() {
	trap '' TERM
	exec 3<&- 4>&- 5>&-
	now
	name "$child"
	write run "at $now$nl$named" && mv -f "$tmp" "$ctl/run.$suffix" 2>/dev/null || rm -f "$tmp"
}

# explain NAME LABEL: gives 1, and the reason in $why, where a file cannot be executed
explain() {
	if [ ! -e "$1" ]; then
		case $1 in
		./*) why="the executable $2 does not exist in the working directory: send it along by a DataStaging element, or give an absolute path (PATH is not searched)" ;;
		*) why="the executable $2 does not exist at site $site" ;;
		esac
		return 1
	fi
	if [ -d "$1" ] || [ ! -x "$1" ]; then
		why="the executable $2 is not executable: give the file its execute permission (chmod +x) before it is submitted"
		return 1
	fi
	[ -r "$1" ] || return 0
	case `dd if="$1" bs=4 count=1 2>/dev/null | od -An -tx1 | tr -d ' \n'` in
	7f454c46) ;;
	2321*)
		interpreter=`dd if="$1" bs=256 count=1 2>/dev/null | tr -d '\000' | sed -n '1{s/^#![ 	]*//;s/[ 	].*//;p;q;}'`
		if [ ! -e "$interpreter" ]; then
			cr=`printf '\r'`
			case $interpreter in
			*"$cr")
				why="the executable $2 has Windows line ends, so its first line names no interpreter \"${interpreter%"$cr"}\": take them away (sed -i 's/\\r$//') before it is submitted"
				return 1
				;;
			esac
			why="the executable $2 cannot be run: its interpreter \"$interpreter\" does not exist at site $site"
			return 1
		fi
		;;
	*)
		why="the executable $2 is neither a program for this machine nor a script that begins with #!"
		return 1
		;;
	esac
}

# flavour COMMAND: which MPI it starts
flavour() {
	case `"$1" --version 2>&1 </dev/null` in
	*'Open MPI'* | *OpenRTE* | *PRRTE*) echo openmpi ;;
	*HYDRA* | *MPICH*) echo mpich ;;
	*'Intel(R) MPI'*) echo intelmpi ;;
	esac
}

# find_command NAME: the full path of a command on the site's PATH
find_command() {
	folders=$search:
	while [ -n "$folders" ]; do
		folder=${folders%%:*}
		folders=${folders#*:}
		case $folder in /*) [ -f "$folder/$1" ] && [ -x "$folder/$1" ] && { echo "$folder/$1"; return 0; } ;; esac
	done
	return 1
}

# mpi: what starts the program in parallel, in $starter and $kind
mpi() {
	found=
	for candidate in $candidates; do
		starter=`find_command "$candidate"` || continue
		kind=`flavour "$starter"`
		if [ -n "$kind" ] && { [ "$wanted" = mpi ] || [ "$wanted" = "$kind" ]; }; then
			return 0
		fi
		found="$found${found:+; }$starter is ${kind:-no MPI that is known here}"
	done
	why="mpirun is not installed at site $site: the job asks for $parallel, and ${found:-it is on none of the folders of PATH=$search}"
	return 1
}

# inherited: the names of variables that come from the batch system
inherited() {
	printf '%s\n' HOME USER LOGNAME TMPDIR CUDA_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES GBROKER_GPUS
	if [ -n "$parallel$dialect" ]; then
		env | sed -n 's/^\(\(SLURM\|SLURMD\|PBS\|PMI\|PMIX\|HYDRA\)_[A-Za-z0-9_]*\)=.*/\1/p'
	fi
}

# marked: the processes of this attempt on this machine, by their environment
marked() {
	for p in `grep -lzxF -e "GBROKER_ATTEMPT=$attempt" /proc/[0-9]*/environ 2>/dev/null`; do
		p=${p#/proc/}
		echo "${p%/environ}"
	done
}

# strike SIGNAL: at the program and all of its processes on this machine
strike() {
	kill "-$1" "$child" `marked` 2>/dev/null
}

# stop: TERM, a grace time, KILL
stop() {
	strike TERM
	strike CONT # it may be stopped
	tenths=0
	while kill -0 "$child" 2>/dev/null; do
		rest
		tenths=$((tenths + 1))
		[ $tenths -lt "$grace" ] || strike KILL
	done
}

# warn: the signal before the limit
warn() {
	case $warn_whom in
	leader) kill "-$warning" "$child" ;;
	all) kill "-$warning" `marked` ;;
	*) for p in `marked`; do [ "$p" -eq "$child" ] || kill "-$warning" "$p"; done ;;
	esac 2>/dev/null
}

# countdown: warns in time, in the background
countdown() {
	trap 'kill "$nap" 2>/dev/null; exit' TERM
	exec >/dev/null 2>&1 3<&- 4>&- 5>&-
	sleep "$warn_after" &
	nap=$!
	wait "$nap"
	warn
}

# remind: tells this shell to end once more, until it is gone or ends this; in the background
remind() {
	trap '' TERM
	exec >/dev/null 2>&1 3<&- 4>&- 5>&-
	while sleep 1; do kill -TERM $$ || exit; done
}

# reap CODE: the program's exit code becomes $code, unless the shell says CODE, or that it
# does not know any more (bash: -1)
reap() {
	wait "$child" 2>/dev/null
	again=$?
	case $again in -* | "$1") ;; *) code=$again ;; esac
}

# sweep: ends whatever the program left on this machine
sweep() {
	tries=0
	while remains=`marked` && [ -n "$remains" ] && [ $tries -lt 100 ]; do
		kill -KILL $remains 2>/dev/null
		tries=$((tries + 1))
		[ $tries -lt 3 ] || rest
	done
}

# launch: starts the program; its number becomes $child. Gives 1, and the reason in $why,
# where that cannot be done, and $full where it may be later.
launch() {
	full=
	! refused || return 1
	top=`cd -P "$work" 2>/dev/null && pwd -P` || { why="the job's sandbox cannot be opened: $work"; return 1; }
	files && into "$directory" "$what_directory" && host || return 1
	[ -z "$part_of" ] || meet || return 1
	case $executable in /*) program=$executable ;; *) program=./$executable ;; esac
	explain "$program" "$label" || return 1
	if [ -n "$parallel" ] && [ -z "$own_starter" ]; then
		mpi || return 1
	fi
	if [ "$memory" -gt 0 ] && ! (ulimit -d "$memory") 2>/dev/null; then
		why="the memory limit of $memory KiB cannot be set"
		return 1
	fi
	if [ -n "$limits" ] && ! command -v prlimit >/dev/null; then
		why="limits of processes cannot be set: there is no prlimit (util-linux) here"
		return 1
	fi
	[ -z "$told" ] || return 1 # what was found may have been cut short
	default=
	env --default-signal true 2>/dev/null && default=--default-signal
	(
		trap - TERM
		[ "$memory" -eq 0 ] || ulimit -d "$memory"
		[ -z "$limits" ] || limit
		become
		exit 126
	) <&3 >&4 2>&5 3<&- 4>&- 5>&- &
	child=$!
}

# limit: sets the limits of this process, and so of the program. One that the site holds lower
# already cannot be set, and need not be.
limit() {
	self=`exec sh -c 'echo "$PPID"'`
	# The limits are words.
	prlimit --pid "$self" $limits 2>/dev/null && return
	for one in $limits; do
		prlimit --pid "$self" "$one" 2>/dev/null
	done
}

# become: this process becomes the program, or what starts it many times
become() {
	if [ -z "$parallel" ]; then
		started arguments execute
	elif [ -n "$own_starter" ]; then
		own arguments execute
	elif [ -n "$one_world" ]; then
		span
	elif [ "$kind" = openmpi ]; then
		root=
		[ `id -u` -ne 0 ] || root=--allow-run-as-root
		arguments execute "$starter" --oversubscribe $root --hostfile "$hosts" -n "$processes" "$program"
	elif [ -n "$SLURM_JOB_ID" ]; then # it takes the nodes from there
		arguments execute "$starter" -n "$processes" "$program"
	else
		arguments execute "$starter" -f "$hosts" -n "$processes" "$program"
	fi
}

# execute COMMAND...: with exactly the program's environment
execute() {
	case $1 in *=*) set -- /bin/sh -c 'exec "$@"' sh "$@" ;; esac # env would take it for a variable
	variables inherit "$@"
}

# inherit VARIABLE... COMMAND...: puts those of the batch system before
inherit() {
	GBROKER_GPUS=${CUDA_VISIBLE_DEVICES:-${ROCR_VISIBLE_DEVICES:-}}
	case $GBROKER_GPUS in '' | NoDevFiles) unset GBROKER_GPUS ;; esac
	for variable in `inherited`; do
		eval "[ -z \"\${$variable+x}\" ] || set -- \"$variable=\$$variable\" \"\$@\""
	done
	# What leads to another node is words.
	exec $via env -i $default -- "$@"
}

# --------------------------------------------------------------------------------------

if [ -n "$ctl" ]; then
	heed
	ours
	[ -z "$part_of" ] || gather
fi
now
began=$now
if [ -n "$ctl" ]; then
	take
	stopped
	if [ -e "$ctl/kill.$suffix" ]; then
		finish 143 15 request 'ended before its program was started'
	fi
fi
until launch; do
	exec 3<&- 4>&- 5>&-
	[ -n "$told" ] || rest
	stopped # the TERM to all of us may be what launch failed of
	[ -n "$full" ] || never "$why"
	sleep 1 # it has not run, so that may be tried as often as is liked
done
# From here to the wait this shell itself does next to nothing: TERM is for the program now.
[ -z "$ctl" ] || running &
writer=$!
countdown=
[ "$warning" -eq 0 ] || { countdown & countdown=$!; }
waker=
[ -z "$part_of" ] || { trap 'told=1 alone=1' USR1; vigil & waker=$!; }
exec 3<&- 4>&- 5>&-
reminder=
trap '[ -n "$told" ] || { remind & reminder=$!; }; told=1' TERM # one that comes between the next two lines ends no wait
code=143
if [ -z "$told" ]; then
	wait "$child"
	code=$?
	[ "$code" -ge 0 ] || code=143
fi
cause=itself detail=
case $code in 137 | 143) [ -n "$told" ] || rest ;; esac # the batch system tells all of us to end, one by one
trap '' TERM USR1 # the next wait is a true one
[ -z "$reminder" ] || kill -KILL "$reminder"
if [ -n "$told" ]; then
	who
	if kill -0 "$child" 2>/dev/null; then
		stop
		reap none
	else
		reap 127 # it was told the first time
	fi
elif [ "$code" -eq 137 ] || [ "$code" -eq 143 ]; then
	who
	[ "$cause" != disappeared ] || cause=itself detail=
fi
wait "$writer"
[ -z "$countdown$waker" ] || kill $countdown $waker 2>/dev/null
sweep
signal=0
if [ "$code" -gt 128 ] && [ "$code" -le 192 ]; then
	signal=$((code - 128))
fi
used
finish "$code" "$signal" "$cause" "$detail"
