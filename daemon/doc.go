// Package daemon is the composition root: it builds one site from its
// configuration, runs it and takes up changes of its neighbours.
//
// # The folder of a site
//
// `gbroker init` makes it, and every relative path is relative to it:
//
//	gbroker.yaml      the configuration, read at start
//	neighbours.yaml   the members, taken up whenever it changes
//	identity.key      the private key from which the peer ID follows (mode 0600)
//	api.token         the token of the HTTP interface over TCP (mode 0600)
//	ready             exists while the daemon serves; see [Ready]
//	data/             journal, sandboxes, what the overlay remembers
//
// # gbroker.yaml
//
//	site: NAME                   a-z 0-9 - _, at most 63; required
//	listen: ADDRESS              multiaddress over TCP, or a list of them; [] only dials out
//	api: HOST:PORT               HTTP on a loopback address; left out: no TCP
//	socket: PATH                 the unix socket of the users; at most 107 bytes as an absolute path
//	data: FOLDER
//	sandboxes: FOLDER            of the jobs; left out: jobs in the data folder. On a shared file
//	                             system where jobs run on other nodes; the data folder stays on a local disk
//	speed: NUMBER                above 0, at most 1000; 1 is the reference machine
//	batch:
//	  system: embedded|slurm|torque|openpbs|pool
//	  policy: POLICY             fcfs, firstfit[:N], easy[:K[:ORDER]], easysjbf, cons-rebuild or
//	                             cons-compress; left out: easy, or what the system says of itself. See [plan.ParsePolicy]
//
//	                             of the embedded system; the others tell it themselves:
//	  nodes: NUMBER              of equal nodes, called SITE-1, SITE-2, …
//	  cores: NUMBER              on each of them
//	  memory: SIZE               on each of them; left out: not declared, and not counted
//	  nodes: [NODE, …]           instead of these three, where nodes differ
//	  queues: [QUEUE, …]         left out: one queue without a name
//	  file_limit: SIZE           the largest file that a job may write; left out: any
//	  confine: true|false        each job in a control group (version 2) of its own, where one can be
//	                             made; left out: false
//
//	                             of slurm, torque and openpbs:
//	  commands: FOLDER           where its commands are; left out: PATH
//	  environment: {NAME: VALUE} of its commands, besides LC_ALL, TZ, PATH and HOME
//	  refresh: SPAN              how often it is polled if nothing happens; left out: 10s
//	  command_limit: SPAN        after which a command is killed; left out: 30s
//	  queue: LABEL               of jobs that name none; left out: its default
//	  account: LABEL             that is charged; left out: the user's default
//	  reach: [SITE, …]           sites whose nodes and those of this one reach each other by TCP; left out: none
//	  ports: FIRST-LAST          of which one is offered to the programs of a job over several sites; left
//	                             out: 20000-29999
//
//	                             of a pool of desktops (system: pool):
//	  listen: HOST:PORT          where the agents call; left out: 0.0.0.0:4050
//	  address: HOST:PORT         how they call it, where that is not the same
//	  interval: SPAN             how often each computer reports; left out: 30s
//	  silence: SPAN              after how long without a word a job counts as cut off; left out: 10m
//	  rule: edf|slack|best       which job with a deadline goes first to which computer; left out: edf
//	  margin: NUMBER             a job is in time if it would be with so much more work, as a part of it; left out: 0
//	  presume: NUMBER            the part of a computer that a job is presumed to have in hours of which nothing is known yet,
//	                             0.01 to 1; left out: 0.5
//	  copies: NUMBER             on how many computers a job that may run twice runs at once, where these have nothing else to do, 1 to 8; left out: 2
//	  untrusted: [NAME, ...]     computers of which the result of a job that may run twice counts only where another computer comes to the same; left out: none
//
//	                             of the others again:
//	  nodes_see_jobs: true|false whether the nodes see the folder of the jobs; left out: true
//	  users: USERS               left out: all jobs run under the daemon's own account
//	  as: sudo|root              how other accounts are taken on; left out: root if the daemon is
//	  maui: true|false|FOLDER    (torque) its scheduler is Maui, and where the commands of that are; left out: false
//	  operator: ACCOUNT          that makes reservations: SlurmUser, an ADMIN of maui.cfg, any but root for
//	                             openpbs; left out: the daemon's own account
//	  sched_config: FILE         (openpbs) of its scheduler, if it can be read here
//	  resources: {LABEL: LABEL}  (openpbs) its name of a resource by ours; left out: gpu is ngpus
//	neighbours: FILE
//	administrators: [USER, …]
//	retention: {days: NUMBER, bytes: SIZE}
//	limits: {jobs: NUMBER, processes: NUMBER, documents: SIZE, bytes: SIZE, offered: SIZE}
//	default_walltime: SPAN
//	estimate_deadline: SPAN
//	forget_after: SPAN           left out: never
//	reevaluation: {interval: SPAN, settle: SPAN, margin: SPAN, cooldown: SPAN, soon: SPAN, tell: SPAN}
//	netmon: {time_share: NUMBER, bytes_per_hour: SIZE}  where one is 0, the round trip is measured, and rates are learned from files alone
//	outbound: [NETWORK, …]       that users may reach by this site (URIs of files, webhooks) although they are
//	                             not of the public internet, such as 10.0.0.0/8 or 127.0.0.1; left out: none
//	files: FILES                 of the URIs in jobs
//	mail: MAIL                   to users, of their jobs; left out: none is sent
//	log: {level: debug|info|warn|error, format: text|json}
//	budgets: {USER: NUMBER, …}   what users of this site may pay at others that have prices, in all, in the unit of the
//	                             prices; who is left out may pay anything
//	prices: PRICES               that jobs of other sites pay; left out: none, and nothing is decided by fees
//	each_node: {disk: SIZE, clock: FREQUENCY, bandwidth: BITRATE}
//	                             what every node has, for jobs that ask for it; a frequency as 2.4GHz, a rate of bits as
//	                             10Gbit/s; left out: not declared
//	architecture: WORD           in JSDL's words; left out: this machine's
//	operating_system: WORD
//
// USERS says under which account a user's jobs run. The users of a neighbour are those of
// the same name here only where neighbours.yaml says same_users; no job runs as root:
//
//	same: true|false             under the account of the user's name; left out: false
//	map: {USER: ACCOUNT, …}      comes before; USER@SITE is a user of a neighbour, by its name here
//	otherwise: ACCOUNT|refuse    all others; left out: refuse
//
// FILES says where inputs by URI come from and outputs go:
//
//	read: [FOLDER, …]            file: may name files below them; left out: none
//	watch: FOLDER                workflows of USER may begin by files that appear below FOLDER/USER, read as the daemon; left out: none
//	write: [FOLDER, …]           the same for outputs; left out: none
//	known_hosts: FILE            of the keys of sftp servers; left out: users give them
//	credentials: FILE            that all users may use, of mode 0600; see package stage/transfer
//	cache: SIZE                  of inputs from other sites, kept for other jobs of their users; left out: 10GiB
//	patience: SPAN               how long a place is tried; left out: 2m
//
// PRICES are a rate per core and hour, in the unit of the users' fees:
//
//	base: NUMBER                 required
//	priority: NUMBER             what is added to the factor of 1 for each point of the priority of a local job
//	                             that gives way to a reservation; left out: 0
//	hours: [{from: HH:MM, to: HH:MM, factor: NUMBER}, …]
//	                             of the day, in this machine's time; the first that holds counts
//	users: [{site: NAME, user: NAME, factor: NUMBER}, …]
//	                             of a neighbour; without user, of all who have none of their own
//	share: NUMBER                the part of the cores that reservations of other sites may have at one time; left out: all
//
// MAIL says how mail is sent:
//
//	from: NAME@HOST              the sender; required
//	server: HOST[:PORT]          that takes it by SMTP; left out, the port is 587, for tls: tls 465, for none 25
//	tls: starttls|tls|none       left out: starttls; a server that does not offer it gets nothing
//	authorities: FILE            certificates (PEM) that the server's is believed of; left out: the machine's
//	credentials: FILE            for the server, of mode 0600: user: NAME and password: WORD; left out: none
//	program: FILE                that takes what sendmail takes, instead of a server
//	to: [DOMAIN, …]              mail goes to these, and what lies below them; left out: any
//	per_hour: NUMBER             mails of one user; left out: 60. What is more is told together
//
// A NODE is one machine, and a QUEUE the NAME of one that has all nodes, or a
// partition (the nodes of two may overlap):
//
//	name: NAME                   a-z 0-9 - _, at most 63; required
//	cores: NUMBER                required
//	memory: SIZE                 left out: not declared, and not counted
//	resources: {LABEL: NUMBER}   what else it has, at most 16; a LABEL with a colon between quotes
//	speed: NUMBER                left out: the site's
//	properties: [LABEL, …]       what jobs may ask for, at most 16
//
//	name: NAME
//	nodes: [NAME, …]             left out: all
//	limit: SPAN                  the longest that a job may run; left out: any
//
// A LABEL is 1 to 64 letters, digits and . _ : -
//
// # neighbours.yaml
//
//	members:
//	  - name: NAME               this site's alias for the other
//	    peer: PEERID             as `gbroker id` prints it there
//	    addresses: [ADDRESS, …]  where it is dialled; none: it dials us
//	    send: true|false         whether jobs may be sent to it; true if left out
//	    rate_limit: RATE         of file transfers, each way; left out: none
//	    default_bandwidth: RATE  believed until it is measured
//	    same_users: true|false   whether its users are those of the same name here; false if left out
//	    via: NAME                the member through which it is met, where neither can dial the other
//	relay: {rate: RATE, at_most: N}  members meet through here; left out: none; {}: 16 at 1 MB/s
//
// SIZE is a NUMBER with B, kB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB
// (powers of 1024) or no unit (bytes). RATE is a SIZE per second; "/s" may stand
// behind it. SPAN is one or more NUMBER UNIT, UNIT being d, h, m, s or ms: 1h30m.
//
// Both files are read strictly over the defaults: a field that is not listed here,
// one that stands twice, a value of the wrong kind or out of its range is a
// [Mistake] with its line and column, and all of them are told at once. Anchors,
// aliases and tags of YAML are refused.
package daemon
