# Whether nodes of two sites reach each other. One job listens (listen WORD FIRST LAST LIMIT: the ports that its site offers, and
# for how many seconds), prints on which two ports, a told one and any, and connects back to who comes; the other (meet WORD HOST
# PORT ANY) comes, and is connected to. Who comes says the word, by which strangers are told from it, and its port.
# Each prints a line for each trial: reached HOST PORT, or failed HOST PORT and why.
for tool in perl python3; do command -v $tool >/dev/null && break; done
here=$(uname -n)
case $tool in
perl) exec perl -e '
	use strict; use IO::Select; use IO::Socket::INET; $| = 1; $SIG{PIPE} = "IGNORE";
	my ($here, $role, $word, @a) = @ARGV;
	sub offer { IO::Socket::INET->new(LocalPort => $_[0], Listen => 100, Proto => "tcp") }
	sub line {
		my ($c, $end, $text) = ($_[0], time + 3, "");
		my $ready = IO::Select->new($c);
		while ($text !~ /\n/ && length $text < 100 && $ready->can_read($end > time ? $end - time : 0)) {
			sysread($c, $text, 100, length $text) or last;
		}
		$text
	}
	sub heard {
		my ($s, $end) = ($_[0], time + $_[1]);
		while ((my $left = $end - time) > 0) {
			$s->timeout($left);
			my $c = $s->accept or next;
			return ($c->peerhost, $1) if line($c) =~ /^\Q$word\E ([0-9]{1,5})\n/ && 0 < $1 && $1 < 65536;
		}
		return
	}
	sub try {
		my ($host, $port, $mine) = @_;
		my $c = IO::Socket::INET->new(PeerAddr => $host, PeerPort => $port, Proto => "tcp", Timeout => 20);
		print $c ? "reached $host $port\n" : "failed $host $port $@\n";
		print $c "$word $mine\n" if $c;
		$c
	}
	my $any = offer(0) or die "no port: $@\n";
	my $mine = $any->sockport;
	if ($role eq "listen") {
		my ($first, $last, $limit) = @a; my $told;
		for (my $n = 0; !$told && $n < 100; $n++) { $told = offer($first + int rand($last - $first + 1)) }
		$told or die "no port from $first to $last is free\n";
		print "listens $here ", $told->sockport, " $mine\n";
		my ($host, $port) = heard($told, $limit) or die "nobody came\n";
		heard($any, 25);
		try($host, $port, $mine);
	} else {
		my ($host, $told, $other) = @a;
		my $came = try($host, $told, $mine);
		try($host, $other, $mine);
		heard($any, 30) if $came;
	}' "$here" "$@" ;;
python3) exec python3 -c '
import random, re, socket, sys, time
here, role, word, a = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
def say(*words): print(*words, flush=True)
def offer(port):
	s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("", port)); s.listen(100); return s
def line(c):
	end, text = time.time() + 3, b""
	while b"\n" not in text and len(text) < 100:
		c.settimeout(max(end - time.time(), 0.001))
		more = c.recv(100)
		if not more: break
		text += more
	return text.decode("latin-1")
def heard(s, span):
	end = time.time() + span
	while time.time() < end:
		try:
			s.settimeout(max(end - time.time(), 0.001))
			c, peer = s.accept()
			with c: said = re.match(re.escape(word) + " ([0-9]{1,5})\n", line(c))
		except OSError: continue
		if said and 0 < int(said.group(1)) < 65536: return peer[0], said.group(1)
def attempt(host, port):
	try:
		with socket.create_connection((host, int(port)), 20) as c: c.sendall("{} {}\n".format(word, mine).encode())
		say("reached", host, port)
		return True
	except OSError as e: say("failed", host, port, e)
any = offer(0)
mine = any.getsockname()[1]
if role == "listen":
	told, first, last, limit = None, int(a[0]), int(a[1]), int(a[2])
	for n in range(100):
		try: told = offer(random.randint(first, last)); break
		except OSError: pass
	if not told: sys.exit("no port from %d to %d is free" % (first, last))
	say("listens", here, told.getsockname()[1], mine)
	back = heard(told, limit)
	if not back: sys.exit("nobody came")
	heard(any, 25)
	attempt(*back)
else:
	came = attempt(a[0], a[1])
	attempt(a[0], a[2])
	if came: heard(any, 30)
' "$here" "$@" ;;
esac
