# Whether nodes of two sites reach each other. One job listens (listen FIRST LAST: the ports that its site offers), prints on
# which two ports, a told one and any, and connects back to who comes; the other (meet HOST PORT ANY) comes, and is connected to.
# Each prints a line for each trial: reached HOST PORT, or failed HOST PORT and why.
here=$(uname -n)
for tool in perl python3; do command -v $tool >/dev/null && break; done
case $tool in
perl) exec perl -e '
	use strict; use IO::Socket::INET; $| = 1;
	my ($here, $role, @a) = @ARGV;
	sub offer { IO::Socket::INET->new(LocalPort => $_[0], Listen => 5, Proto => "tcp") }
	sub heard { $_[0]->timeout($_[1]); my $c = $_[0]->accept or return; my $line = <$c>; chomp $line if defined $line; $line }
	sub try {
		my ($host, $port, $text) = @_;
		my $c = IO::Socket::INET->new(PeerAddr => $host, PeerPort => $port, Proto => "tcp", Timeout => 20);
		print $c ? "reached $host $port\n" : "failed $host $port $@\n";
		print $c "$text\n" if $c;
	}
	my $any = offer(0) or die "no port: $@\n";
	if ($role eq "listen") {
		my ($first, $last) = @a; my $told;
		for (my $n = 0; !$told && $n < 100; $n++) { $told = offer($first + int rand($last - $first + 1)) }
		$told or die "no port from $first to $last is free\n";
		print "listens $here ", $told->sockport, " ", $any->sockport, "\n";
		my $back = heard($told, 240) or die "nobody came\n";
		heard($any, 25);
		try(split(/ /, $back), "here");
	} else {
		my ($host, $told, $other) = @a;
		try($host, $told, "$here " . $any->sockport);
		try($host, $other, "here");
		heard($any, 30);
	}' "$here" "$@" ;;
python3) exec python3 -c '
import random, socket, sys
here, role, a = sys.argv[1], sys.argv[2], sys.argv[3:]
def say(*words): print(*words, flush=True)
def offer(port):
	s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("", port)); s.listen(5); return s
def heard(s, span):
	s.settimeout(span)
	try: return s.accept()[0].makefile().readline().strip()
	except OSError: return ""
def attempt(host, port, text):
	try:
		with socket.create_connection((host, int(port)), 20) as c: c.sendall((text + "\n").encode())
		say("reached", host, port)
	except OSError as e: say("failed", host, port, e)
any = offer(0)
if role == "listen":
	told, first, last = None, int(a[0]), int(a[1])
	for n in range(100):
		try: told = offer(random.randint(first, last)); break
		except OSError: pass
	if not told: sys.exit("no port from %d to %d is free" % (first, last))
	say("listens", here, told.getsockname()[1], any.getsockname()[1])
	back = heard(told, 240)
	if not back: sys.exit("nobody came")
	heard(any, 25)
	attempt(*back.split(), "here")
else:
	attempt(a[0], a[1], here + " %d" % any.getsockname()[1])
	attempt(a[0], a[2], "here")
	heard(any, 30)
' "$here" "$@" ;;
esac
