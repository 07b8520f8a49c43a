package standin

import (
	"context"
	"time"
)

// K3s spends time on parts that are not here. Without these waits the stand-in would be the faster of the two, and so would
// everything measured with it. Both come from the same measurement of a K3s server.
const (
	// startPause comes before the listener: K3s answers 0.3 to 1.2 s after its start, and is ready 3.6 to 3.8 s after it.
	startPause = 400 * time.Millisecond
	// stopLeast is the least time from the order to stop to the exit: K3s needs 2.7 to 3.2 s.
	stopLeast = 2700 * time.Millisecond
)

func pause(ctx context.Context, length time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(length):
	}
}
