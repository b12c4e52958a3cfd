package torque

import (
	"errors"
	"strings"
)

// parseAccess reads what mdiag -r prints: who may use each reservation, where that is one user. A row begins at
// the line's begin; what is known of it follows on lines of its own, as "    ACL: RES==now= USER==alice+ ".
func parseAccess(call string, text []byte) (map[string]string, error) {
	users := make(map[string]string)
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
			}
		case strings.HasPrefix(line, "    ACL: ") && name != "":
			if user := onlyUser(line); user != "" {
				users[name] = strings.Clone(user)
			}
		}
		return nil
	})
	if err == nil && stage != 2 {
		err = unreadable(call, "its end", text, errors.New("the table is not whole"))
	}
	return users, err
}

// onlyUser is the one user of an access list, USER==alice+; several are USER==alice+:==bob+.
func onlyUser(acl string) string {
	_, rest, is := strings.Cut(acl, " USER==")
	user, _, _ := strings.Cut(rest, " ")
	user = strings.TrimRight(user, "+-=")
	if !is || checkWord(user) != nil {
		return ""
	}
	return user
}
