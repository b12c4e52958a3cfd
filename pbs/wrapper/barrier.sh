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

# free: a port that nothing on this node uses now
free() {
	port=0 tries=0
	while [ $tries -lt 100 ]; do
		tries=$((tries + 1))
		port=$(od -An -N2 -tu2 /dev/urandom | tr -d ' ')
		port=$((port_first + port % port_count))
		if ! grep -qi ":$(printf %04X "$port") " /proc/net/tcp /proc/net/tcp6 2>/dev/null; then
			return 0
		fi
	done
	return 1
}

# arrive: says that this part is here, with its nodes and where programs may meet it
arrive() {
	address=
	free && address=$(uname -n):$port
	entries=$(slots | spread | awk '$1 != last { if (n) printf "%s:%d ", last, n; last = $1; n = 0 }
		{ n++ } END { if (n) printf "%s:%d", last, n }')
	write arrived "at $(now)$nl$(name $$)${nl}address $address${nl}hosts $entries" &&
		mv -f "$tmp" "$ctl/arrived.$suffix" 2>/dev/null
}

# gather: the barrier. It is left when all have arrived; nothing has run where it ends here.
gather() {
	tries=0
	until arrive; do
		tries=$((tries + 1))
		if [ -n "$told" ] || [ $tries -ge 60 ]; then
			say "$ctl cannot be written: nothing is started"
			exit 74
		fi
		sleep 1
	done
	up
	patience=$((upside + (part_until - $(now)) / 1000))
	until there go; do
		if [ -n "$told" ]; then
			say 'it was told to end before the others had arrived: nothing is started'
			exit 143
		fi
		if there start; then
			say 'its start token is taken: nothing is started'
			exit 75
		fi
		if ! there submit; then # its folder is gone, or made again
			say "this attempt was not submitted out of $ctl as it is now: nothing is started"
			exit 75
		fi
		up
		if [ "$upside" -ge "$patience" ]; then
			say 'nobody said that the others have arrived: nothing is started'
			exit 69
		fi
		rest
	done
}

# meet: makes the host file of all sites out of go, and finds where programs meet
meet() {
	why='the host file of all sites cannot be written'
	tmp=$ctl/.tmp.sites.$here
	awk '$1 == "site" { site = $2 }
		$1 == "hosts" { for (i = 2; i <= NF; i++) { split($i, h, ":"); for (k = 0; k < h[2]; k++) print h[1], site } }' \
		"$ctl/go.$suffix" >"$tmp" && mv -f "$tmp" "$all_hosts" || return 1
	rendezvous=$(awk '$1 == "address" { print $2; exit }' "$ctl/go.$suffix")
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
