package e2e

import (
	"os/user"
	"strings"
	"testing"

	"gbroker/api"
	"gbroker/test/cluster"
)

// What a user may pay elsewhere is kept back by a lien while his job is there, and settled by what it has run, also by a broker that was killed
// meanwhile. What costs more than is free is refused: with a fee when it is handed in, else at the sites that ask more.
func TestBudget(t *testing.T) {
	t.Parallel()
	who, err := user.Current()
	must(t, err)
	dir := place(t)
	a := newSite(t, dir, "alpha", cluster.Options{Nodes: 1, Cores: 1})
	b := newSite(t, dir, "beta", cluster.Options{Nodes: 1, Cores: 4})
	configure(t, a, "# budgets: {alice: 1000}\n", "budgets: {"+who.Username+": 100}\n")
	configure(t, b, `# prices: {base: 1, hours: [{from: "22:00", to: "6:00", factor: 0.5}]}`, "prices: {base: 1200}")
	start(t, a, b)
	introduce(t, a, b)
	sees(t, a, map[string]int{"alpha": 1, "beta": 4})
	mine := func() api.Budget {
		t.Helper()
		list := told[[]api.Budget](t, a, "budget")
		if len(list) != 1 || list[0].User != who.Username || list[0].Granted == nil || *list[0].Granted != 100 || list[0].Free == nil {
			t.Fatalf("the budget is %+v", list)
		}
		if free := 100 - list[0].InLiens - list[0].Spent; *list[0].Free-free > 1e-6 || free-*list[0].Free > 1e-6 {
			t.Fatalf("the sum is wrong: %+v", list[0])
		}
		return list[0]
	}
	paid := work{script: "sleep 6", cpus: 4, walltime: 30} // 4 cores at 1200 an hour: 40 at most
	id := paid.submit(t, a, dir, "paid")
	eventually(t, "40 are in liens", func() bool { return mine().InLiens == 40 && string(mine().Liens[0].Job) == id })
	a.Kill()
	start(t, a)
	if is := mine(); is.InLiens != 40 && is.Spent == 0 {
		t.Errorf("after the kill the budget is %+v", is)
	}
	completes(t, a, id)
	eventually(t, "it is settled", func() bool { return mine().InLiens == 0 })
	if is := mine(); is.Spent < 7 || is.Spent > 40 {
		t.Errorf("a job of 6 s was charged %v", is.Spent)
	}
	paid.terms = "<gb:Fee>4000</gb:Fee>"
	if r := a.Client(t.Context(), "submit", paid.write(t, dir, "dear")); r.Code == 0 || r.Stdout != "" || !strings.Contains(r.Stderr, "may cost 133.33") || !strings.Contains(r.Stderr, "of a budget of 100") {
		t.Errorf("it is refused by %+v", r)
	}
	paid.terms, paid.walltime = "", 300
	id = paid.submit(t, a, dir, "long")
	eventually(t, "its reason is the budget", func() bool {
		return strings.Contains(status(t, a, id).Reason, "beta: the budget of its user does not cover it (asked 400, available ")
	})
	free := work{script: "true", cpus: 1}
	completes(t, a, free.submit(t, a, dir, "free"))
	if is := mine(); is.InLiens != 0 {
		t.Errorf("in the end the budget is %+v", is)
	}
	client(t, a, "cancel", id)
	if r := a.Admin(t.Context(), "budget", "--config", a.Config()); r.Code != 0 || !strings.Contains(r.Stdout, who.Username) {
		t.Errorf("gbroker budget says %+v", r)
	}
}
