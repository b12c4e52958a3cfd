package flows

import (
	"cmp"
	"slices"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/stage"
)

// grantLife is how long a grant holds: a job that waits longer has its files from the home.
const grantLife = 3 * grid.Day

// shares tells that other tasks need what a task leaves.
func (f *flow) shares(i int) bool {
	return slices.ContainsFunc(f.parts, func(p api.FlowPart) bool {
		for _, k := range p.Maker {
			if k == i {
				return true
			}
		}
		return false
	})
}

// grants let the site to which a task goes take what earlier tasks left from where they ran. The largest files have them, where a job may not carry more.
func (f *flow) grants(inputs []input) (list []grid.Grant) {
	if f.keeper.config.Sign == nil {
		return nil
	}
	user := grid.User{Home: f.keeper.config.Self, Name: f.spec.User}
	inputs = slices.Clone(inputs)
	slices.SortStableFunc(inputs, func(a, b input) int { return cmp.Compare(b.file.Size, a.file.Size) })
	for _, in := range inputs {
		if in.ran == "" || in.ran == user.Home || len(list) == grid.MaxGrants {
			continue
		}
		g := grid.Grant{Holder: in.ran, Content: stage.Content(in.left), Until: f.keeper.config.Now() + grantLife}
		signature, err := f.keeper.config.Sign(g.Text(user))
		if err != nil {
			f.keeper.config.Log.Error("a grant cannot be signed, and the file goes by way of home", "workflow", f.spec.ID, "error", err)
			return list
		}
		g.Signature = signature
		list = append(list, g)
	}
	return list
}
