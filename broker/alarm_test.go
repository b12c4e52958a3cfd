package broker

import (
	"testing"

	"gbroker/broker/core"
)

// An alarm stands until it is said to be over, whatever its text.
func TestAnAlarmStandsUntilItIsOver(t *testing.T) {
	t.Parallel()
	b, ctx := newHands().b, t.Context()
	if _, stands := b.Alarm(); stands {
		t.Fatal("an alarm stands, and none was raised")
	}
	for _, text := range []string{"look", ""} {
		b.dispatch(ctx, core.Alarm{Text: text}, 0)
		if got, stands := b.Alarm(); !stands || got != text {
			t.Errorf("the alarm is %q, and stands: %t", got, stands)
		}
	}
	b.dispatch(ctx, core.AlarmOver{}, 0)
	if got, stands := b.Alarm(); stands {
		t.Errorf("the alarm that is over is %q", got)
	}
}
