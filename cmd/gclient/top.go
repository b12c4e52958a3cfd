package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/internal/cli"
)

func (p *program) top() *cobra.Command {
	var s selection
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Show jobs live",
		Long: `Show the jobs that have not ended, and the last that have, as they change: those that run first,
then those that wait, by the start that is expected. The broker tells each change; nothing is asked
again and again. Flags choose jobs by how they are.

Keys: q and Ctrl-C end it, the arrows, page up and page down scroll. Where the output is no
terminal the list is printed once.`,
		Example: `  gclient top
  gclient top --name 'mesh-*' --site xeon80`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := s.filter()
			if err != nil {
				return err
			}
			c, err := p.client(cmd)
			if err != nil {
				return err
			}
			defer c.Close()
			b := newBoard()
			if !cli.Terminal(cmd.OutOrStdout()) {
				if err := b.fill(cmd.Context(), c, f); err != nil {
					return err
				}
				_, err := fmt.Fprint(cmd.OutOrStdout(), b.text(now(), 0, 0, false))
				return err
			}
			if err := reached(cmd.Context(), c); err != nil {
				return err
			}
			return runTop(cmd, c, f, b)
		},
	}
	p.selectionFlags(cmd, &s)
	return cmd
}

// What the screen hears of.
type (
	jobChanged   struct{ event api.FeedEvent }
	jobsListed   struct{ board *board }
	secondPassed struct{}
	feedEnded    struct{ err error }
)

// screen is the model of bubbletea.
type screen struct {
	board         *board
	filter        api.Filter
	width, height int
	first         int // the row at the top
	coloured      bool
	failed        error
}

func (m screen) Init() tea.Cmd { return second() }

// second makes the spans on the screen move on.
func second() tea.Cmd {
	return tea.Tick(time.Second, func(time.Time) tea.Msg { return secondPassed{} })
}

func (m screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case secondPassed:
		return m, second()
	case jobsListed:
		m.board = msg.board
	case jobChanged:
		m.board.change(msg.event, m.filter)
	case feedEnded:
		m.failed = msg.err
		return m, tea.Quit
	case tea.KeyPressMsg:
		page := max(1, m.height-headLines-1)
		switch msg.String() {
		case "q", "ctrl+c", "esc":
			return m, tea.Quit
		case "down", "j":
			m.first++
		case "up", "k":
			m.first--
		case "pgdown", "space":
			m.first += page
		case "pgup":
			m.first -= page
		case "home":
			m.first = 0
		}
	}
	m.first = max(0, min(m.first, len(m.board.jobs)-1))
	return m, nil
}

func (m screen) View() tea.View {
	v := tea.NewView("")
	if m.width > 0 {
		v.SetContent(m.board.lines(now(), m.width, m.height, m.first, m.coloured))
	}
	v.AltScreen = true
	return v
}

// runTop shows the board until the user has seen enough.
func runTop(cmd *cobra.Command, c *api.Client, f api.Filter, b *board) error {
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	out := cmd.OutOrStdout()
	program := tea.NewProgram(screen{board: b, filter: f, coloured: cli.Coloured(out)}, tea.WithContext(ctx), tea.WithOutput(out), tea.WithInput(cmd.InOrStdin()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err := feedBoard(ctx, c, f, program.Send)
		if ctx.Err() == nil {
			program.Send(feedEnded{err})
		}
	}()
	last, err := program.Run()
	cancel()
	<-ended
	if m, ok := last.(screen); ok && m.failed != nil {
		return m.failed
	}
	if errors.Is(err, tea.ErrInterrupted) || cmd.Context().Err() != nil {
		return nil
	}
	return err
}

// feedBoard lists the jobs when the feed begins, and wherever it has lost some, and tells each change.
func feedBoard(ctx context.Context, c *api.Client, f api.Filter, send func(tea.Msg)) error {
	listed := false
	return c.Follow(ctx, api.Position{}, patience, func(e api.FeedEvent) error {
		if e.Name == api.EventReset || e.Name == api.EventHere && !listed {
			listed = true
			b := newBoard()
			if err := b.fill(ctx, c, f); err != nil {
				return err
			}
			send(jobsListed{b})
			return nil
		}
		if e.Name != api.EventHere {
			send(jobChanged{e})
		}
		return nil
	}, nil)
}
