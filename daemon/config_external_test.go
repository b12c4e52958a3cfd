package daemon

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"gbroker/grid"
)

// Each mistake about batch systems that are reached by commands, with its exact words.
func TestExternalMistakes(t *testing.T) {
	t.Parallel()
	const at = "gbroker.yaml:2:"
	for _, c := range []struct{ batch, want string }{
		{"{system: slrm}", at + `17: batch.system: "slrm" is not known: write one of embedded, slurm, torque, openpbs, pool`},
		{"{system: slurm, nodes: 4}", at + `31: batch.nodes: this batch system tells its nodes and queues itself: remove this`},
		{"{nodes: [{name: n, cores: 1}], system: torque}", at + `16: batch.nodes: this batch system tells its nodes and queues itself: remove this`},
		{"{system: slurm, cores: 4}", at + `31: batch.cores: this batch system tells its nodes and queues itself: remove this`},
		{"{system: slurm, memory: 4GiB}", at + `32: batch.memory: this batch system tells its nodes and queues itself: remove this`},
		{"{system: slurm, file_limit: 1GiB}", at + `36: batch.file_limit: this batch system limits its jobs itself: remove this`},
		{"{system: slurm, confine: true}", at + `33: batch.confine: this batch system limits its jobs itself: remove this`},
		{"{file_limit: lots}", at + `21: batch.file_limit: "lots" has no unit of bytes: write it like 64GiB, 500MB or 1000000`},
		{"{system: slurm, queues: [q]}", at + `32: batch.queues: this batch system tells its nodes and queues itself: remove this`},
		{"{refresh: 5s}", at + `18: batch.refresh: the embedded batch system has no commands: remove this, or write the system: slurm, torque, openpbs`},
		{"{users: {same: true}}", at + `17: batch.users: the embedded batch system has no commands: remove this, or write the system: slurm, torque, openpbs`},
		{"{system: slurm, refresh: 1ms}", at + `33: batch.refresh: 1ms is out of range: write 1s to 1h`},
		{"{system: slurm, command_limit: 1h}", at + `39: batch.command_limit: 1h is out of range: write 1s to 10m`},
		{"{system: slurm, commands: ''}", at + `34: batch.commands: "" is no path: write one, relative to the folder of gbroker.yaml or absolute`},
		{"{system: slurm, environment: [A]}", at + `37: batch.environment is a list: write names with values, such as {SLURM_CONF: /etc/slurm/slurm.conf}`},
		{"{system: slurm, environment: {A-B: c}}", at + `38: batch.environment: "A-B" is no name of a variable: letters, digits and _, as SLURM_CONF`},
		{"{system: slurm, environment: {TZ: UTC}}", at + `38: batch.environment: TZ is set by gbroker, which reads what the commands print: remove it`},
		{"{system: slurm, environment: {A: b, A: c}}", at + `44: batch.environment: "A" is here twice: remove one`},
		{"{system: slurm, environment: {A: [b]}}", at + `41: batch.environment is a list: write a text`},
		{"{system: slurm, queue: a b}", at + `31: batch.queue: the name "a b" has ' ' at position 2: use letters, digits and . _ : -, first a letter or digit`},
		{"{system: slurm, reach: [b, b]}", at + `35: batch.reach: "b" is here twice: remove one`},
		{"{system: slurm, ports: 20000}", at + `31: batch.ports: "20000" is no range of ports: write it as 20000-29999`},
		{"{system: slurm, ports: 80-90}", at + `31: batch.ports: the ports 80 to 90: they must be from 1024 to 65535, the lower first`},
		{"{system: slurm, account: -x}", at + `33: batch.account: the name "-x" has '-' at position 1: use letters, digits and . _ : -, first a letter or digit`},
		{"{system: slurm, nodes_see_jobs: no}", at + `40: batch.nodes_see_jobs is the text "no": write true or false`},
		{"{system: slurm, maui: true}", at + `30: batch.maui: only TORQUE has Maui: remove this`},
		{"{system: torque, operator: maui}", at + `35: batch.operator: TORQUE without Maui has no reservations: write maui: true, or remove this`},
		{"{system: openpbs, operator: root}", at + `36: batch.operator: OpenPBS takes no reservations of root: write another account`},
		{"{system: embedded, operator: pbs}", at + `37: batch.operator: the embedded batch system has none: remove this`},
		{"{system: torque, sched_config: f}", at + `39: batch.sched_config: only OpenPBS has one: remove this`},
		{"{system: torque, resources: {gpu: ngpus}}", at + `37: batch.resources: only OpenPBS gives resources other names: remove this`},
		{"{system: openpbs, resources: {gpu: n gpus}}", at + `43: batch.resources: the name "n gpus" has ' ' at position 2: use letters, digits and . _ : -, first a letter or digit`},
		{"{system: slurm, as: su, users: {same: true}}", at + `28: batch.as: "su" is not known: write one of sudo, root`},
		{"{system: slurm, as: sudo}", at + `28: batch.as: no other account is used: remove it, or map users`},
		{"{system: slurm, users: same}", at + `31: users is the text "same": write fields, such as same: …`},
		{"{system: slurm, users: {}}", at + `31: users: everybody is refused: write same: true, a map, or otherwise: ACCOUNT; leave users out to run all jobs under the daemon's own account`},
		{"{system: slurm, users: {map: {alice: root}}}", at + `45: users.map: "root" is no account for this: write one without rights of its own`},
		{"{system: slurm, users: {map: {a b: c}}}", at + "38: users.map: \"a b\" is no user name: write it as `id -un` prints it"},
		{"{system: slurm, users: {map: {alice@X: c}}}", at + `38: users.map: the name "X" has 'X' at position 1: use a-z 0-9 - _, first a letter or digit`},
		{"{system: slurm, users: {othrwise: guest}}", at + `32: unknown field "othrwise": did you mean "otherwise"?`},
	} {
		cfg := Default("/site")
		if got := parseConfig(&cfg, "gbroker.yaml", []byte("site: a\nbatch: "+c.batch+"\nsandboxes: /shared\n")).Error(); got != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.batch, got, c.want)
		}
	}
}

// Mapped accounts cannot pass the data folder.
func TestMappedUsersNeedSandboxes(t *testing.T) {
	t.Parallel()
	for _, sandboxes := range []string{"", "sandboxes: data/jobs\n"} {
		cfg := Default("/site")
		const want = "gbroker.yaml:2:32: users: other accounts cannot pass the data folder: write sandboxes: FOLDER at the top, outside of it, where every account may pass"
		if got := parseConfig(&cfg, "gbroker.yaml", []byte("site: a\nbatch: {system: slurm, users: {same: true}}\n"+sandboxes)).Error(); got != want {
			t.Errorf("%q:\n got %s\nwant %s", sandboxes, got, want)
		}
	}
}

func TestExternalConfig(t *testing.T) {
	t.Parallel()
	c := Default("/site")
	if wrong := parseConfig(&c, "gbroker.yaml", []byte(`
site: a
sandboxes: /shared/gbroker
batch:
  system: torque
  commands: /opt/torque/bin
  environment: {PBS_DEFAULT: head.example.org, A: ""}
  refresh: 20s
  command_limit: 1m
  queue: Long.1
  account: physics
  nodes_see_jobs: false
  maui: /opt/maui/bin
  operator: maui
  as: sudo
  users:
    same: true
    map: {alice: a1, alice@xeon32: guest}
    otherwise: refuse
`)); len(wrong) > 0 {
		t.Fatal(wrong)
	}
	want := Default("/site")
	want.Site, want.Sandboxes = "a", "/shared/gbroker"
	want.Batch.System, want.Batch.Refresh = Torque, 20*time.Second
	want.Batch.External = ExternalConfig{
		Commands: "/opt/torque/bin", Environment: []string{"A=", "PBS_DEFAULT=head.example.org"}, CommandLimit: time.Minute,
		Queue: "Long.1", Account: "physics", Blind: true, Maui: true, MauiCommands: "/opt/maui/bin", Operator: "maui", As: "sudo",
		Users: UsersConfig{Mapped: true, Same: true, Map: map[string]string{"alice": "a1", "alice@xeon32": "guest"}},
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("\n got %+v\nwant %+v", c, want)
	}
	if c.Processes() != 0 || c.JobsFolder() != "/shared/gbroker" || want.JobsFolder() != c.JobsFolder() || Default("/s").JobsFolder() != "/s/data/jobs" {
		t.Errorf("%d processes, jobs in %s", c.Processes(), c.JobsFolder())
	}
}

// Who runs under which account? Nobody as root, strangers never under a name of here.
func TestAccounts(t *testing.T) {
	t.Parallel()
	same := UsersConfig{Mapped: true, Same: true, Map: map[string]string{"alice": "a1", "alice@x": "guest", "mallory": "root"}}
	other := UsersConfig{Mapped: true, Otherwise: "nobody"}
	for _, c := range []struct {
		users   UsersConfig
		name    string
		site    grid.SiteName
		account string
		refused bool
	}{
		{UsersConfig{}, "alice", "x", "", false},
		{same, "alice", "", "a1", false},
		{same, "alice", "x", "guest", false},
		{same, "alice", "y", "", true},
		{same, "bob", "", "bob", false},
		{same, "bob", "x", "", true},
		{same, "root", "", "", true},
		{same, "mallory", "", "", true},
		{other, "bob", "x", "nobody", false},
		{other, "bob", "", "nobody", false},
	} {
		account, err := c.users.Account(c.name, c.site)
		if account != c.account || errors.Is(err, grid.ErrInvalid) != c.refused {
			t.Errorf("%s@%s is %q, %v", c.name, c.site, account, err)
		}
	}
}
