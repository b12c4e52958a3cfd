package torque

import (
	"errors"
	"strings"
)

// access is who may use a reservation, where that is one user, or the jobs of one account.
type access struct{ user, account string }

// parseAccess reads what mdiag -r prints: who may use each reservation that is no job's. A row begins at
// the line's begin; what is known of it follows on lines of its own, as "    ACL: RES==now= USER==alice+ ACCT==proj+ ".
func parseAccess(call string, text []byte) (map[string]access, error) {
	all := make(map[string]access)
	name, stage := "", 0
	err := lines(call, text, func(line string) error {
		switch {
		case stage == 0 && line == "Diagnosing Reservations":
			stage = 1
		case stage == 1 && strings.HasPrefix(line, "-----"):
			stage = 2
		case stage == 0:
			return errors.New("it does not belong here")
		case stage == 1 || line == "" || strings.HasPrefix(line, "WARNING:") || strings.HasPrefix(line, "Active Reserved Processors: "):
		case line[0] != ' ':
			var f [10]string
			job, err := false, error(nil)
			if fields(line, f[:]) < 9 {
				return errors.New("a row of less than 9 words")
			}
			if job, err = isJob(f[1]); err != nil {
				return err
			}
			name = ""
			if !job {
				name = strings.Clone(f[0])
				all[name] = access{}
			}
		case strings.HasPrefix(line, "    ACL: ") && name != "":
			all[name] = access{only(line, " USER=="), only(line, " ACCT==")}
		}
		return nil
	})
	if err == nil && stage != 2 {
		err = unreadable(call, "its end", text, errors.New("the table is not whole"))
	}
	return all, err
}

// only is the one name of a kind in an access list, USER==alice+; several are USER==alice+:==bob+.
func only(acl, kind string) string {
	_, rest, is := strings.Cut(acl, kind)
	name, _, _ := strings.Cut(rest, " ")
	name = strings.TrimRight(name, "+-=")
	if !is || checkWord(name) != nil {
		return ""
	}
	return strings.Clone(name)
}
