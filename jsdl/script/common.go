package script

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gbroker/grid"
)

// maxName bounds the name of a job, in bytes, as JobName of a document is bounded.
const maxName = 255

func setName(j *reading, v value) error {
	if v.text == "" {
		return errNoValue
	}
	if len(v.text) > maxName {
		return fmt.Errorf("it has %d bytes: at most %d", len(v.text), maxName)
	}
	j.job.Name = strings.Join(strings.Fields(v.text), " ")
	return nil
}

// name gives a job without a name that of its script, as sbatch and qsub do.
func (j *reading) name() {
	if j.job.Name == "" {
		j.job.Name = strings.Join(strings.Fields(j.base), " ")
	}
}

func setHold(j *reading, _ value) error {
	j.job.Terms.Held = true
	return nil
}

func setNice(j *reading, v value) error {
	n := int64(100)
	if v.text != "" {
		var err error
		if n, err = count(v.text, -1<<31, 1<<31); err != nil {
			return err
		}
	}
	j.job.Terms.Priority = j.clamped(v, -n)
	return nil
}

// clamped is a priority within the bounds of ours.
func (j *reading) clamped(v value, n int64) int {
	within := max(-grid.MaxPriority, min(n, grid.MaxPriority))
	if within != n {
		j.warn(v.word, "is taken as the priority %d, beyond which there is none", within)
	}
	return int(within)
}

func setQueue(j *reading, v value) error {
	queue, server, at := strings.Cut(v.text, "@")
	switch {
	case at:
		return fmt.Errorf("the brokers choose the server: write %s alone, and leave %s out", short(queue), short("@"+server))
	case strings.Contains(queue, ","):
		return errors.New("a job goes into one queue: name one, or leave it out and the site chooses")
	}
	j.job.Queue = grid.QueueName(queue)
	if err := grid.CheckName(queue); err != nil {
		return fmt.Errorf("%w; or leave it out, and the site chooses", err)
	}
	return nil
}

func setSites(j *reading, v value) error {
	for _, name := range strings.Split(v.text, ",") {
		j.job.Sites.Only = append(j.job.Sites.Only, grid.SiteName(name))
	}
	return j.job.Sites.Check()
}

func setAccount(j *reading, v value) error {
	if v.text == "" {
		return errNoValue
	}
	j.job.Account = v.text
	return grid.CheckAccount(v.text)
}

func setArray(read func(string) (*Array, error)) func(*reading, value) error {
	return func(j *reading, v value) (err error) {
		j.array, err = read(v.text)
		return err
	}
}

// signals are the names of Linux's, from 1 on.
var signals = strings.Fields(`HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP
	TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS`)

// setSignal reads [B:]SIGNAL[@SECONDS].
func setSignal(j *reading, v value) error {
	where, text, is := strings.Cut(v.text, ":")
	if !is {
		where, text = "", where
	} else if where != "B" {
		return fmt.Errorf("%s: is for reservations, which a job here has none of", short(where))
	}
	name, before, timed := strings.Cut(text, "@")
	seconds := int64(60)
	if timed {
		var err error
		if seconds, err = count(before, 1, 65535); err != nil {
			return err
		}
	}
	number := int64(slices.Index(signals, strings.TrimPrefix(strings.ToUpper(name), "SIG")) + 1)
	if number == 0 {
		var err error
		if number, err = count(name, 1, grid.MaxSignalSent); err != nil {
			return fmt.Errorf("%s is no signal such as USR1 or 10", short(name))
		}
	}
	j.job.Warning = grid.Warning{Signal: int(number), Before: grid.Tick(seconds) * grid.Second, Leader: where == "B"}
	return nil
}

// dependencies are the words of the batch systems, and what they are here.
var dependencies = map[string]grid.DependencyKind{
	"after": grid.After, "afterok": grid.AfterOK, "afternotok": grid.AfterNotOK, "afterany": grid.AfterAny, "aftercorr": grid.AfterCorr,
	"afterstartarray": grid.After, "afterokarray": grid.AfterOK, "afternotokarray": grid.AfterNotOK, "afteranyarray": grid.AfterAny,
}

func setSlurmDependency(j *reading, v value) error {
	if strings.Contains(v.text, "?") {
		return errors.New("all of them must come true: join them with a comma instead of ?")
	}
	return j.depend(v)
}

func setPBSDependency(j *reading, v value) error { return j.depend(v) }

// depend reads TYPE:ID[:ID…],….
func (j *reading) depend(v value) error {
	j.job.Terms.After = nil
	for _, part := range strings.Split(v.text, ",") {
		word, ids, _ := strings.Cut(part, ":")
		if strings.EqualFold(word, "singleton") {
			j.job.Terms.After = append(j.job.Terms.After, grid.Dependency{Kind: grid.Singleton})
			continue
		}
		kind, known := dependencies[strings.ToLower(word)]
		if !known {
			return fmt.Errorf("%s cannot be waited for: after, afterok, afternotok, afterany, aftercorr and singleton can", short(word))
		}
		for _, id := range strings.Split(ids, ":") {
			d := grid.Dependency{Kind: kind, On: id}
			if err := d.Check(); err != nil {
				return fmt.Errorf("%s is not what 'gclient submit' prints: %w", short(id), err)
			}
			j.job.Terms.After = append(j.job.Terms.After, d)
		}
	}
	return nil
}

// mail is what a script says of word about its job.
type mail struct {
	to, when value
	begin    bool
	end      bool
	fail     bool
}

// setMailType reads the types of both dialects: BEGIN,END,FAIL and abe.
func setMailType(j *reading, v value) error {
	m := &j.mail
	m.when, m.begin, m.end, m.fail = v, false, false, false
	words := strings.Split(strings.ToUpper(v.text), ",")
	if j.dialect != slurm {
		words = strings.Split(strings.ToUpper(v.text), "")
	}
	for _, w := range words {
		switch w {
		case "BEGIN", "B":
			m.begin = true
		case "END", "E":
			m.end = true
		case "FAIL", "A":
			m.fail = true
		case "ALL":
			m.begin, m.end = true, true
		case "NONE", "N":
		case "ARRAY_TASKS", "J": // each job of a group is told of anyway
		case "REQUEUE", "INVALID_DEPEND", "STAGE_OUT", "TIME_LIMIT", "TIME_LIMIT_90", "TIME_LIMIT_80", "TIME_LIMIT_50", "F", "P":
			j.warn(v.word, "sends no word of %s: of begin, end and failure there is some", short(w))
		default:
			return fmt.Errorf("%s is no occasion for word of a job", short(w))
		}
	}
	return nil
}

// notices puts addresses and occasions together.
func (j *reading) notices() {
	m := &j.mail
	told := m.begin || m.end || m.fail
	if m.to.word.text == "" {
		if told {
			j.warn(m.when.word, "has no effect: there is no address; %s gives one", map[bool]string{true: "--mail-user=NAME@HOST", false: "-M NAME@HOST"}[j.dialect == slurm])
		}
		return
	}
	if m.when.word.text == "" && j.dialect != slurm {
		m.fail = true // qsub's -m a
	}
	for _, address := range strings.Split(m.to.text, ",") {
		for _, o := range []struct {
			yes  bool
			when grid.Occasion
		}{{m.begin, grid.OnBegin}, {m.end, grid.OnEnd}, {m.fail && !m.end, grid.OnFail}} {
			n := grid.Notice{When: o.when, To: "mailto:" + strings.TrimSpace(address)}
			if err := n.Check(); err != nil {
				j.wrong(m.to.word, "%v", err)
				return
			}
			if o.yes {
				j.job.Terms.Notify = append(j.job.Terms.Notify, n)
			}
		}
	}
}
