package agent

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"gbroker/grid"
	"gbroker/pbs/pool/line"

	"go.uber.org/zap"
)

// serve keeps a session with the pool: it registers where that is wanted, connects, reports, and asks for
// orders. What the network or the pool hinders is tried again, with pauses that grow and differ by chance.
func (a *Agent) serve(ctx, work context.Context) error {
	pause, told := 50*time.Millisecond, ""
	for ctx.Err() == nil {
		began := time.Now()
		err := a.converse(ctx, work)
		switch {
		case ctx.Err() != nil:
			return nil
		case !hasJoined(a.config.Dir):
			return fmt.Errorf("%w: this computer has left the pool", grid.ErrForbidden)
		case errors.Is(err, errForbidden):
			pause = a.config.Patience
		}
		if time.Since(began) > a.config.Patience || err.Error() != told {
			a.log.Warn("there is no session with the pool: it is tried again", zap.Error(err))
			told = err.Error()
		}
		a.tell(State{Why: err.Error(), Jobs: a.reports()})
		if time.Since(began) > a.config.Patience {
			pause = 50 * time.Millisecond
		}
		rest(ctx, pause/2+rand.N(pause))
		pause = min(2*pause, a.config.Patience)
	}
	return nil
}

// converse is one session, to its end.
func (a *Agent) converse(ctx, work context.Context) error {
	session := line.Nonce()
	hello := line.Connect{Version: line.Version, Session: session, Registration: a.registration, Jobs: a.reports()}
	orders, err := a.connect(ctx, hello)
	if errors.Is(err, errBegin) && a.registered {
		a.registered = false // the pool has lost what it knew, or another session said something else
		orders, err = a.connect(ctx, hello)
	}
	if err == nil {
		err = orders.Check()
	}
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	a.mu.Lock()
	a.session, a.version = session, 0
	a.mu.Unlock()
	a.log.Info("this computer serves the pool", zap.String("pool", a.client.base), zap.String("as", a.name))
	a.obey(work, session, orders)

	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		end(a.listen(ctx, work, session))
	}()
	end(a.report(ctx, work, session))
	<-asked
	return context.Cause(ctx)
}

// connect begins a session. An agent registers first when it was started: its owner may have changed what the computer gives.
func (a *Agent) connect(ctx context.Context, hello line.Connect) (orders line.Orders, err error) {
	if !a.registered {
		what := line.Register{Version: line.Version, Registration: a.registration, Computer: a.computer()}
		if err := a.client.ask(ctx, talkLimit, line.RegisterPath, what, &struct{}{}); err != nil {
			return orders, fmt.Errorf("registering: %w", err)
		}
		a.registered = true
	}
	return orders, a.client.ask(ctx, talkLimit, line.ConnectPath, hello, &orders)
}

// reports are what the pool is told of the jobs.
func (a *Agent) reports() []line.Report {
	list := []line.Report{}
	for _, j := range a.held() {
		list = append(list, j.report())
	}
	return list
}

// report reports at the interval that the pool sets, and whenever there is news.
func (a *Agent) report(ctx, work context.Context, session string) error {
	for {
		status := line.Status{Session: session, Jobs: a.reports(), Speed: a.speed(), Disk: a.config.Disk, Seen: a.owner.report()}
		status.Availability, status.Why, status.Idle = a.owner.status()
		a.tell(State{Connected: true, Availability: status.Availability, Why: status.Why, Jobs: status.Jobs})
		var o line.Orders
		if err := a.client.ask(ctx, talkLimit, line.ReportPath, status, &o); err != nil {
			return fmt.Errorf("reporting: %w", err)
		}
		if err := o.Check(); err != nil {
			return err
		}
		a.obey(work, session, o)
		wait := time.NewTimer(a.interval())
		select {
		case <-wait.C:
		case <-a.news:
			wait.Stop()
		case <-ctx.Done():
			wait.Stop()
			return ctx.Err()
		}
	}
}

// listen asks for orders that are newer than those it knows, where the pool lets it.
func (a *Agent) listen(ctx, work context.Context, session string) error {
	for ctx.Err() == nil {
		a.mu.Lock()
		version, poll := a.version, a.poll
		a.mu.Unlock()
		if poll == 0 {
			rest(ctx, a.interval())
			continue
		}
		var o line.Orders
		if err := a.client.ask(ctx, poll+talkLimit, line.OrdersPath, line.Ask{Session: session, Version: version}, &o); err != nil {
			return fmt.Errorf("asking for orders: %w", err)
		}
		if err := o.Check(); err != nil {
			return err
		}
		a.obey(work, session, o)
	}
	return ctx.Err()
}

// leave ends the session.
func (a *Agent) leave(ctx context.Context) {
	a.mu.Lock()
	session := a.session
	a.mu.Unlock()
	if session == "" {
		return
	}
	if err := a.client.ask(ctx, 5*time.Second, line.DisconnectPath, line.Ask{Session: session}, &struct{}{}); err != nil {
		a.log.Info("the pool is not told that this agent ends", zap.Error(err))
	}
}
