package standin

import (
	"context"
	"fmt"
	"time"
)

// family is the running parts: children, and those that run in this process.
type family struct {
	directory string
	inside    context.Context // of the parts in this process; it outlives the one that a signal ends
	cancel    context.CancelFunc
	parts     []*part
	children  []*process
	ended     chan error
}

// part runs in this process.
type part struct {
	name string
	done chan struct{}
}

// newFamily has as many ends to tell as there are parts; none may block.
func newFamily(directory string) *family {
	inside, cancel := context.WithCancel(context.Background())
	return &family{directory: directory, inside: inside, cancel: cancel, ended: make(chan error, 8)}
}

func (running *family) start(name, program string, args []string) error {
	child, err := start(name, program, running.directory, args, running.ended)
	if err == nil {
		running.children = append(running.children, child)
	}
	return err
}

// run starts a part in this process. It is to last until its context ends.
func (running *family) run(name string, work func(context.Context) error) {
	begun := &part{name, make(chan struct{})}
	running.parts = append(running.parts, begun)
	go func() {
		defer close(begun.done)
		err := work(running.inside)
		if running.inside.Err() == nil {
			running.ended <- fmt.Errorf("%s ended: %w", name, err)
		}
	}()
}

// until runs work; a part that ends meanwhile ends it, because the others would only fail in less clear ways.
func (running *family) until(ctx context.Context, work func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	result := make(chan error, 1)
	go func() { result <- work(ctx) }()
	select {
	case err := <-result:
		return err
	case err := <-running.ended:
		return err
	}
}

// childShare is the part of the patience that is the children's: those that they serve may have used the rest.
const childShare = 0.2

// stop ends the parts in this process together, then the children, on which they depend. Whatever has not ended when the
// patience is over is killed, or dies with this process.
func (running *family) stop(patience time.Duration) {
	reserved := time.Duration(childShare * float64(patience))
	deadline := time.Now().Add(patience - reserved)
	running.cancel()
	for _, each := range running.parts {
		select {
		case <-each.done:
		case <-time.After(time.Until(deadline)):
			logf("%s did not end within %s", each.name, patience-reserved)
		}
	}
	for _, child := range running.children {
		child.stop(max(time.Until(deadline), 0) + reserved)
	}
}
